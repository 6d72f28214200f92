"""What holds for every panel: its errors stay inside it, it is shown three ways, it undoes all it did."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from ipywidgets import DOMWidget

from tests.panels.conftest import Live
from tests.panels.reading import click, shown, switched
from tests.views.pages import Page
from workbench.panels.html_view import HtmlView
from workbench.panels.panel import WIDGET_VIEW, close_tree, tree
from workbench.panels.stepper import Stepper
from workbench.run import Run
from workbench.runtime.errors import WorkbenchError
from workbench.runtime.turn import Turn

Open = Callable[..., Live]


class Failing(Stepper):
    """A stepper whose turns come from somewhere that may break."""

    broken: Exception | None = None

    def _turn(self) -> Turn | None:
        if self.broken is not None:
            raise self.broken
        return super()._turn()


@pytest.fixture
def failing(live: Open) -> Iterator[Failing]:
    turns = live(3).run.turns
    with Failing(lambda: turns) as opened:
        yield opened


# Errors.


def test_an_error_in_a_handler_is_shown_in_the_panel_which_stays_usable(failing: Failing) -> None:
    failing.broken = RuntimeError("the disk is gone")
    failing._bar.previous.click()
    assert failing.error == "RuntimeError: the disk is gone"
    [alert] = Page(failing._alert.html).elements
    assert alert.attributes == {"class": "workbench-alert", "role": "alert"}
    assert alert.text == "RuntimeError: the disk is gone"
    failing.broken = None
    failing._bar.previous.click()
    assert failing.error is None
    assert failing._alert.html == ""
    assert failing.focus.address == "1.1"


def test_an_error_of_ours_is_shown_in_its_own_words(failing: Failing) -> None:
    failing.broken = WorkbenchError("say what, where and what to do")
    failing._bar.previous.click()
    assert failing.error == "say what, where and what to do"


def test_an_error_while_drawing_is_not_hidden_by_the_button_that_led_to_it(failing: Failing) -> None:
    failing.broken = KeyError("counter")
    click(failing, "1.1")
    assert failing.error == "KeyError: 'counter'"


def test_an_error_is_shown_as_text(failing: Failing) -> None:
    failing.broken = RuntimeError("<img src=x onerror=alert(1)>\0")
    failing._bar.previous.click()
    [alert] = Page(failing._alert.html).elements
    assert alert.text == "RuntimeError: <img src=x onerror=alert(1)>⟨NUL⟩"


@pytest.mark.parametrize("sent", ["", "<script>", "1.2.3.4", "1.9", "key:", "key:<b>", "9" * 500])
def test_what_no_view_offers_is_refused_or_ignored(at: Stepper, sent: str) -> None:
    click(at, sent)
    assert at.focus.address == "1.3"
    assert at.focus.key is None
    click(at, "1.2")
    assert at.focus.address == "1.2"


def test_a_message_that_is_none_of_ours_is_ignored() -> None:
    view = HtmlView()
    for content in ({}, {"other": 1}, {"focus": "1.1"}, {"step": 1}, {"dark": True}):
        view._receive(view, content, [])
    close_tree(view)


def test_nothing_goes_to_stderr_and_to_no_log(
    live: Open, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        at = live(2).stepper
        at._bar.next.click()
        click(at, "key:counter")
        switched(at, "limits").value = True
        at._bar.number.set_state({"value": "no number"})
        at.close()
    assert capsys.readouterr() == ("", "")
    assert caplog.records == []


# Shown three ways.


def test_a_panel_is_shown_live_as_html_and_as_text(live: Open) -> None:
    at = live(2).stepper
    bundle = at._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {
        WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": at.root.model_id},
        "text/html": at.static_html(),
        "text/plain": repr(at),
    }
    assert "0x" not in repr(at)


def test_a_closed_panel_is_shown_as_it_was_last(live: Open) -> None:
    at = live(2).stepper
    click(at, "1.1")
    picture = at.static_html()
    at.close()
    assert at._repr_mimebundle_() == {"text/html": picture, "text/plain": repr(at)}


def test_every_control_has_a_name(live: Open) -> None:
    at = live(2).stepper
    bar = [*tree(at._bar.root)]
    controls = [each for each in bar if type(each).__name__ in ("Button", "Checkbox", "Text")]
    assert len(controls) == 11 + len(at._extras)
    assert all(each.description.strip() for each in controls)
    for each in Page(shown(at)).focusable():
        assert each.attributes["role"] == "button"
        assert each.attributes["tabindex"] == "0"
        assert each.text.strip() or str(each.attributes.get("aria-label", "")).strip()


def test_an_error_stays_until_somebody_goes_on_also_when_the_panel_is_shown_again(failing: Failing) -> None:
    failing.broken = RuntimeError("the disk is gone")
    failing._bar.previous.click()
    failing.broken = None
    failing._alert._receive(failing._alert, {"dark": False}, [])
    assert failing.error == "RuntimeError: the disk is gone"
    failing._bar.previous.click()
    assert failing.error is None


def test_a_panel_that_cannot_be_drawn_leaves_no_widget_behind(three_turns: Run) -> None:
    class Broken(Failing):
        broken = RuntimeError("no turn can be drawn")

    with pytest.raises(RuntimeError, match="no turn can be drawn"):
        Broken(lambda: three_turns.turns)


def test_a_view_is_small_in_words(live: Open) -> None:
    at = live(1).stepper
    assert repr(at._strip) == f"HtmlView({len(at._strip.html)} characters)"


def _note(answered: list[str], name: str, key: str) -> None:
    answered.append(f"{name} {key}")


# Undoing.


def test_closing_twice_is_closing_once(live: Open) -> None:
    at = live(2).stepper
    at.close()
    at.close()


def test_a_closed_panel_can_still_be_asked_from_a_cell(at: Stepper) -> None:
    at.close()
    at.previous()
    assert at.focus.address == "1.2"


def test_a_front_end_that_shows_the_panel_is_answered_by_every_widget(live: Open) -> None:
    at = live(2).stepper
    answered: list[str] = []
    for each in tree(at.root):
        if isinstance(each, DOMWidget):
            each.send_state = partial(_note, answered, type(each).__name__)
    at._alert._receive(at._alert, {"dark": False}, [])
    assert {"Button _view_name", "Text _view_name", "Checkbox _view_name", "HtmlView _view_name"} <= set(answered)
