"""A run: an instance of a live store, its turns so far, and what a client reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from workbench.runtime.turn import Turn
from workbench.runtime.turn_result import FINISHED
from workbench.views import divergence as divergence_view
from workbench.views import layout, page, words
from workbench.views.strip import strip
from workbench.views.turns_table import turn_lines, turns_frame, turns_section

if TYPE_CHECKING:
    import pandas as pd


class RunLike(Protocol):
    """What is looked at: `workbench.Run` has it."""

    @property
    def instance_id(self) -> str:
        """Whose."""

    @property
    def orchestration(self) -> str:
        """Of what; empty before the first turn."""

    @property
    def status(self) -> str:
        """Pending, Running, Completed or Failed."""

    @property
    def custom_status(self) -> str | None:
        """The custom status that clients see."""

    @property
    def kv(self) -> Mapping[str, str]:
        """What a client reads."""

    @property
    def turns(self) -> Sequence[Turn]:
        """All its turns so far."""


def line(run: RunLike) -> str:
    """`Counter · counter-1 · running after 2 turns`."""
    return _line(run, run.turns)


def text(run: RunLike) -> str:
    """The run in a few lines: its turns, its keys, and its divergence if it has one."""
    turns = run.turns
    divergence = turns[-1].divergence if turns else None
    lines = [_line(run, turns) if divergence is None else divergence.text()]
    if turns:
        lines += layout.labelled_lines("turns", turn_lines(turns))
    lines += layout.sentences(remarks(run))
    return "\n".join(lines)


def html(run: RunLike) -> str:
    """The run: its strip of turns, their table, its keys, and its divergence if it has one."""
    turns = run.turns
    divergence = turns[-1].divergence if turns else None
    what = words.shown(run.instance_id) + (f" · {turns[-1].kv_model} model" if turns else "")
    cards = [] if divergence is None else [divergence_view.card(divergence)]
    return page.rendering(
        page.head(words.shown(run.orchestration) or words.shown(run.instance_id), what, *_badge(run, turns)),
        strip(turns, turns[-1].address if divergence is not None else None),
        *cards,
        page.row(turns_section(turns)),
        page.remarks(remarks(run)),
    )


def _badge(run: RunLike, turns: Sequence[Turn]) -> tuple[str, str]:
    words_of = standing(run, turns)
    if turns and (turns[-1].divergence is not None or turns[-1].status == "Failed"):
        return f"✗ {words_of}", "badge-bad"
    return (f"✓ {words_of}", "badge-good") if turns and turns[-1].status == "Completed" else (f"● {words_of}", "")


def remarks(run: RunLike) -> list[tuple[str, list[str]]]:
    """Labelled sentences below the turns: keys, custom status, what the code waits for."""
    turns = run.turns
    keys = [f"{words.shown(key)} = {words.bare(value)}" for key, value in run.kv.items()]
    found = [("keys", [words.listed(keys, 10) or "no keys"])]
    if run.custom_status is not None:
        found.append(("status", [f'custom status "{words.shown(run.custom_status)}"']))
    if turns and turns[-1].waiting_for and turns[-1].divergence is None:
        found.append(("waiting", [words.listed(map(words.sentence, turns[-1].waiting_for), 8)]))
    return found


def frame(run: RunLike) -> pd.DataFrame:
    """A row a turn."""
    return turns_frame(run.turns)


def _line(run: RunLike, turns: Sequence[Turn]) -> str:
    who = [words.shown(each) for each in (run.orchestration, run.instance_id) if each]
    return " · ".join([*who, standing(run, turns)])


def standing(run: RunLike, turns: Sequence[Turn]) -> str:
    """How the run stands: its status after how many turns, with what came out."""
    count = words.counted(len(turns), "turn")
    if not turns:
        return "not started: no turn has been made" if run.status == "Pending" else "its history cannot be read"
    last = turns[-1]
    if last.divergence is not None:
        return f"diverged in turn {last.address}"
    if last.status in FINISHED:
        return f"{words.outcome_in_words(last.status, last.output)} after {count}"
    return f"running after {count}" if run.status == "Running" else f"{run.status.lower()} after {count}"
