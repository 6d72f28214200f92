"""How an instance stands, in one line; a divergence is told whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from workbench.views import page, words
from workbench.views.markup import Html, element, join

if TYPE_CHECKING:
    import pandas as pd


class OutcomeLike(Protocol):
    """What is looked at: `workbench.session.Outcome` has it."""

    @property
    def instance_id(self) -> str:
        """Whose."""

    @property
    def status(self) -> str:
        """Pending, Running, Completed or Failed."""

    @property
    def output(self) -> object:
        """The decoded result."""

    @property
    def error(self) -> str | None:
        """The error text, None unless it failed."""

    @property
    def turns(self) -> int:
        """How many turns were made."""

    @property
    def divergence(self) -> str | None:
        """The whole explanation if it diverged."""


def line(outcome: OutcomeLike) -> str:
    """`counter-1 completed with "5" after 6 turns`."""
    return f"{words.shown(outcome.instance_id)} {_how(outcome)} after {words.counted(outcome.turns, 'turn')}"


def text(outcome: OutcomeLike) -> str:
    """The line, and the divergence if there was one."""
    return line(outcome) if outcome.divergence is None else f"{line(outcome)}\n{outcome.divergence}"


def html(outcome: OutcomeLike) -> str:
    """The same words in a frame; of a divergence its text as it is."""
    good = outcome.divergence is None and outcome.status != "Failed"
    badge = (
        (f"✓ {outcome.status.lower()}", "badge-good") if good else (f"✗ {_how(outcome).partition(':')[0]}", "badge-bad")
    )
    pieces = [page.head(words.shown(outcome.instance_id), line(outcome).partition(" ")[2], *badge)]
    if outcome.divergence is not None:
        lines = join(element("span", each, Html("\n")) for each in outcome.divergence.splitlines())
        pieces.append(element("div", element("pre", lines, css="code"), css="card"))
    return page.rendering(*pieces)


def frame(outcome: OutcomeLike) -> pd.DataFrame:
    """One row."""
    import pandas as pd

    columns = ["instance", "status", "output", "error", "turns"]
    values = [outcome.instance_id, outcome.status, outcome.output, outcome.error, outcome.turns]
    return pd.DataFrame([dict(zip(columns, values, strict=True))])


def _how(outcome: OutcomeLike) -> str:
    if outcome.divergence is not None:
        return "diverged"
    if outcome.status == "Completed":
        return words.outcome_in_words("Completed", json.dumps(outcome.output, ensure_ascii=False, default=repr))
    return words.outcome_in_words(outcome.status, outcome.error)
