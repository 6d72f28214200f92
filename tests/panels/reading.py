"""Reading a panel as its user would: what it shows, what has the focus, which buttons can be pressed."""

from __future__ import annotations

import ipywidgets as widgets

from tests.views.pages import Page
from workbench.panels.html_view import HtmlView
from workbench.panels.limits import LimitsPart
from workbench.panels.stepper import Stepper
from workbench.panels.turn_panel import TurnPanel
from workbench.views import page
from workbench.views.markup import Html


def shown(panel: TurnPanel) -> str:
    """The HTML that the live widgets show, put together as a saved rendering is."""
    return page.rendering(*_pieces(panel))


def _pieces(panel: TurnPanel) -> list[Html]:
    return [Html(view.html) for view in (panel._head, panel._strip, panel._body)]


def words(panel: TurnPanel) -> str:
    """The words on screen, the style sheet apart."""
    return Page("<div>" + "".join(_pieces(panel)) + "</div>").elements[0].text


def current(panel: TurnPanel) -> list[str]:
    """The addresses that are marked as looked at."""
    everything = Page(shown(panel)).focusable()
    return [str(each.attributes["data-focus"]) for each in everything if "aria-current" in each.attributes]


def marked_line(panel: TurnPanel, css: str) -> str:
    """The line of code that carries a class: `here`, `diverged`, `looked-at`."""
    spans = Page(shown(panel)).all("span")
    [line] = [each for each in spans if f"workbench-{css}" in str(each.attributes.get("class")).split()]
    return line.text.rstrip("\n")


def click(panel: TurnPanel, target: str) -> None:
    """What the front-end sends when something with `data-focus` is clicked."""
    panel._body._receive(panel._body, {"focus": target}, [])


def buttons(panel: TurnPanel) -> dict[str, bool]:
    """The buttons of the bar by their labels, and whether they can be pressed."""
    bar = panel._bar
    turns = (bar.first, bar.previous, bar.next, bar.last)
    every = (*turns, bar.previous_operation, bar.next_operation, bar.previous_change, bar.next_change)
    return {each.description: not each.disabled for each in every}


def switched(panel: Stepper, label: str) -> widgets.Checkbox:
    """The switch of a part below the body."""
    return next(box for box, extra in panel._extras if extra.label == label)


def limits_part(panel: Stepper) -> LimitsPart:
    """The limits below the body."""
    return next(extra for _, extra in panel._extras if isinstance(extra, LimitsPart))


def chart(panel: Stepper) -> HtmlView:
    """What the chart of the limits shows, once they are switched on."""
    return limits_part(panel)._chart
