"""A prediction question: asked as a widget, as text and as HTML; the answer is never seen before it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ipywidgets.widgets.widget import _instances

from tests.views.pages import Page
from workbench.lesson import question
from workbench.panels.html_view import HtmlView
from workbench.panels.panel import WIDGET_VIEW
from workbench.panels.question import QuestionPanel
from workbench.runtime.errors import InvalidQuestion, UnknownChoice

TEXT = "What does line 3 read in turn 2?"
CHOICES = ["nothing", '`"1"`, which turn 1 wrote', '`"2"`']
BECAUSE = "The engine loads `kv_store` first."


@pytest.fixture
def asked() -> Iterator[QuestionPanel]:
    before = set(_instances)
    with question(TEXT, choices=CHOICES, answer=CHOICES[1], because=BECAUSE) as panel:
        yield panel
    assert set(_instances) == before


def press(panel: QuestionPanel, focus: str) -> None:
    """What the front-end sends when a choice is clicked, or Enter is pressed on it."""
    panel._body._receive(panel._body, {"focus": focus}, [])


def test_the_choices_are_buttons_with_a_name_that_can_be_reached_and_pressed(asked: QuestionPanel) -> None:
    page = Page(asked._body.html)
    [group] = [each for each in page.elements if each.attributes.get("role") == "group"]
    assert group.attributes["aria-label"] == TEXT
    buttons = page.focusable()
    assert [each.text for each in buttons] == ["A nothing", 'B "1", which turn 1 wrote', 'C "2"']
    for number, each in enumerate(buttons):
        assert each.attributes["role"] == "button"
        assert each.attributes["tabindex"] == "0"
        assert each.attributes["data-focus"] == f"choice:{number}"
        assert each.attributes["aria-pressed"] == "false"


def test_a_wrong_choice_may_be_followed_by_another_and_gives_nothing_away(asked: QuestionPanel) -> None:
    press(asked, "choice:0")
    assert (asked.chosen, asked.is_right) == ("nothing", False)
    assert "Not that one" in asked._result.html
    assert "kv_store" not in asked._result.html
    press(asked, "choice:1")
    assert asked.is_right
    [result] = [each for each in Page(asked._result.html).elements if each.attributes.get("role") == "alert"]
    assert result.text == "✓ Yes. The engine loads kv_store first."
    assert [each.attributes["aria-pressed"] for each in Page(asked._body.html).focusable()] == [
        "false",
        "true",
        "false",
    ]


def test_right_and_wrong_are_told_by_a_sign_and_words_not_by_colour_alone(asked: QuestionPanel) -> None:
    for choice, sign, words in (("A", "✗", "Not that one"), ("B", "✓", "Yes.")):
        asked.choose(choice)
        chosen = Page(asked._body.html).focusable()["AB".index(choice)]
        assert chosen.text.startswith(sign)
        assert f"{sign}" in asked._result.html
        assert words in asked._result.html


def test_without_a_kernel_it_is_text_with_the_answer_folded_away(asked: QuestionPanel) -> None:
    html = asked.static_html()
    before, _, folded = html.partition("<details")
    assert TEXT in before
    assert "nothing" in before
    assert "kv_store" not in before
    assert "kv_store" in folded
    assert "<summary>Show the answer</summary>" in folded
    assert Page(html).focusable() == []


def test_as_text_it_does_not_tell_the_answer(asked: QuestionPanel) -> None:
    assert repr(asked) == f"Question: {TEXT} (3 choices)"
    assert asked.text() == f'Question: {TEXT}\n  A  nothing\n  B  "1", which turn 1 wrote\n  C  "2"'
    assert asked.answer == f"B, {CHOICES[1]}. {BECAUSE}"


def test_a_cell_answers_with_a_letter_or_the_words(asked: QuestionPanel) -> None:
    asked.choose("b")
    assert asked.is_right
    assert repr(asked) == f'Question: {TEXT} ✓ B "1", which turn 1 wrote'
    asked.choose("nothing")
    assert asked.text().splitlines()[1:3] == ["  ✗  A  nothing", '     B  "1", which turn 1 wrote']
    with pytest.raises(UnknownChoice, match="'D' is no choice"):
        asked.choose("D")


@pytest.mark.parametrize("sent", ["choice:9", "choice:-1", "", "choice:", "1.2", "<script>"])
def test_what_is_no_choice_is_shown_as_an_error_and_the_question_stays_usable(asked: QuestionPanel, sent: str) -> None:
    press(asked, sent)
    assert asked.error is not None
    assert asked.chosen is None
    press(asked, "choice:1")
    assert asked.error is None
    assert asked.is_right


def test_it_is_shown_live_as_html_and_as_text(asked: QuestionPanel) -> None:
    assert asked._repr_mimebundle_() == {
        WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": asked.root.model_id},
        "text/html": asked.static_html(),
        "text/plain": repr(asked),
    }


def test_it_is_the_same_each_time_it_is_asked() -> None:
    shown = []
    for _ in range(2):
        with question(TEXT, choices=CHOICES, answer=CHOICES[1], because=BECAUSE) as panel:
            shown.append((panel.static_html(), repr(panel)))
    assert shown[0] == shown[1]


def test_texts_are_shown_as_they_are() -> None:
    attack = "<img src=x onerror=alert(1)>"
    with question(attack, choices=[attack, f"`{attack}`"], answer=attack, because=attack) as panel:
        panel.choose("A")
        for html in (panel.static_html(), panel._body.html, panel._result.html, panel._answer.html):
            assert "<img" not in html
    view = HtmlView()
    assert ".workbench-choice" in str(view._css)
    view.close()


@pytest.mark.parametrize(
    ("choices", "answer", "said"),
    [
        (["one"], "one", "needs 2 to 26 different choices"),
        (["one", "one"], "one", "needs 2 to 26 different choices"),
        ([str(number) for number in range(27)], "1", "needs 2 to 26 different choices"),
        (["one", "two"], "three", "the answer of 'Q' must be one of its choices"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(choices: list[str], answer: str, said: str) -> None:
    with pytest.raises(InvalidQuestion, match=said):
        question("Q", choices=choices, answer=answer, because="")
