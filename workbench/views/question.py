"""A prediction question: the choices, and the answer where it is not seen before it is asked for."""

from __future__ import annotations

import string
from collections.abc import Iterator

import msgspec

from workbench.views import layout, page
from workbench.views.markup import Html, element, join

LETTERS = string.ascii_uppercase
RIGHT, WRONG = "Yes.", "Not that one: take another, or run the next cell and see."


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """`answer` is the position of the right choice; texts may have code between backticks."""

    text: str
    choices: tuple[str, ...]
    answer: int
    because: str


def line(question: Question, chosen: int | None = None) -> str:
    """The question, and how it was answered."""
    asked = f"Question: {_plain(question.text)}"
    if chosen is None:
        return f"{asked} ({len(question.choices)} choices)"
    mark = "✓" if chosen == question.answer else "✗"
    return f"{asked} {mark} {LETTERS[chosen]} {_plain(question.choices[chosen])}"


def text(question: Question, chosen: int | None = None) -> str:
    """The question with its choices; what was chosen is marked, and the answer is told once it was found."""
    rows = [
        (_mark(question, chosen, position), LETTERS[position], _plain(choice))
        for position, choice in enumerate(question.choices)
    ]
    lines = [f"Question: {_plain(question.text)}", *(f"  {each}" for each in layout.table(rows))]
    if chosen is not None:
        lines += layout.labelled("", _plain(said(question, chosen)))
    return "\n".join(lines)


def said(question: Question, chosen: int) -> str:
    """What is said to a choice."""
    return f"{RIGHT} {question.because}" if chosen == question.answer else WRONG


def answer_in_words(question: Question) -> str:
    """The right choice and why."""
    return f"{LETTERS[question.answer]}, {question.choices[question.answer]}. {question.because}"


def html(question: Question, chosen: int | None = None) -> str:
    """The question as it is without a kernel: choices to read, the answer folded away."""
    told = [] if chosen is None else [result(question, chosen)]
    return page.rendering(body(question, chosen, live=False), *told, folded(question), more_css=css())


def body(question: Question, chosen: int | None = None, live: bool = True) -> Html:
    """The question and its choices; in a live panel each is a button that reports `choice:0`."""
    choices = [
        element("li", _choice(question, chosen, position, live), css="choice-line")
        for position in range(len(question.choices))
    ]
    name = _plain(question.text)
    return element(
        "div",
        element("p", _with_code(question.text), css="question"),
        element("ul", *choices, css="choices", role="group", aria_label=name),
        css="part",
    )


def result(question: Question, chosen: int) -> Html:
    """What is said to a choice; screen readers announce it."""
    right = chosen == question.answer
    words = join((element("strong", "✓" if right else "✗"), " ", _with_code(said(question, chosen))))
    return element("div", words, css=f"result {'right' if right else 'wrong'}", role="alert")


def folded(question: Question) -> Html:
    """The answer, folded away."""
    unfold = element("summary", "Show the answer")
    return element("details", unfold, element("p", _with_code(answer_in_words(question))), css="answer")


def css() -> str:
    """What a question needs beyond the style sheet of every rendering."""
    return _RULES


def _choice(question: Question, chosen: int | None, position: int, live: bool) -> Html:
    mark = _mark(question, chosen, position)
    tint = {"✓": " added", "✗": " removed"}.get(mark, "")
    content = join(
        (
            element("span", f"{mark} {LETTERS[position]}".strip(), css="letter"),
            " ",
            element("span", _with_code(question.choices[position])),
        )
    )
    if not live:
        return element("span", content, css=f"choice{tint}")
    return element(
        "span",
        content,
        css=f"choice link{tint}",
        role="button",
        tabindex="0",
        data_focus=f"choice:{position}",
        aria_pressed="true" if position == chosen else "false",
    )


def _mark(question: Question, chosen: int | None, position: int) -> str:
    if position != chosen:
        return ""
    return "✓" if chosen == question.answer else "✗"


def _with_code(text: str) -> Html:
    return join(element("code", part, css="mono") if is_code else part for part, is_code in _parts(text))


def _plain(text: str) -> str:
    return text.replace("`", "")


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    for position, part in enumerate(text.split("`")):
        yield part, position % 2 == 1


_RULES = """\
.workbench .workbench-question{font-size:15px;font-weight:600;margin:0 0 8px}
.workbench .workbench-choices{list-style:none;margin:0;padding:0;display:flex;flex-direction:column;gap:6px}
.workbench.workbench .workbench-choice-line{margin:0;padding:0}
.workbench .workbench-choice{display:flex;gap:10px;align-items:baseline;padding:4px 12px 4px 8px;
border:1px solid var(--workbench-line);border-radius:4px;background:var(--workbench-raised);overflow-wrap:anywhere}
.workbench .workbench-choice.workbench-added{border-color:var(--workbench-added);
background:var(--workbench-added-tint)}
.workbench .workbench-choice.workbench-removed{border-color:var(--workbench-removed);
background:var(--workbench-removed-tint)}
.workbench-live .workbench-choice:hover{border-color:var(--workbench-added);text-decoration:none}
.workbench .workbench-letter{font-weight:700;min-width:1.1em;text-align:center}
.workbench.workbench code.workbench-mono{font-size:13px;padding:0;background:none;color:inherit;border:0}
.workbench .workbench-result{margin:0 14px 10px;padding:6px 12px;border:1px solid var(--workbench-line);
border-left-width:4px;border-radius:4px;overflow-wrap:anywhere}
.workbench .workbench-right{border-color:var(--workbench-added);background:var(--workbench-added-tint)}
.workbench .workbench-wrong{border-color:var(--workbench-removed);background:var(--workbench-removed-tint)}
.workbench .workbench-answer{margin:0 14px 10px}
.workbench.workbench .workbench-answer p{margin:6px 0 0}
"""
