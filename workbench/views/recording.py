"""A recording: who recorded it, its executions, and what cannot be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.recordings.integrity import Damage
from workbench.recordings.recording import RecordedExecution, Recording
from workbench.views import history, layout, page, words

if TYPE_CHECKING:
    import pandas as pd


def line(recording: Recording) -> str:
    """`O · a · recording by duroxide-0.1.32: 1 execution, 4 turns, 11 events, completed with "3"`."""
    counts = [
        words.counted(len(recording.executions), "execution"),
        words.counted(recording.turn_count, "turn"),
        words.counted(recording.event_count, "event"),
    ]
    status = words.outcome_in_words(recording.status, recording.last.output)
    damaged = [f"damaged in {words.counted(len(recording.damage), 'place')}"] if recording.damage else []
    return f"{title(recording)}: {', '.join([*counts, status, *damaged])}"


def title(recording: Recording) -> str:
    """Of what, and who recorded it."""
    name = f"{words.shown(recording.orchestration)} {words.shown(recording.version)}".strip()
    return f"{name} · {words.shown(recording.instance_id)} · recording by {words.shown(recording.writer)}"


def text(recording: Recording) -> str:
    """The recording in a few lines."""
    lines = [line(recording)]
    head = ("execution", "turns", "events", "status", "")
    rows = [head, *(execution_row(each) for each in recording.executions)]
    lines += layout.labelled_lines("history", layout.table(rows, right=(1, 2)))
    lines += layout.sentences(remarks(recording))
    return "\n".join(lines)


def html(recording: Recording) -> str:
    """The recording: its executions and its events."""
    columns = (
        page.Column("execution", "right fit", is_head=True),
        page.Column("turns", "right fit"),
        page.Column("events", "right fit"),
        page.Column("status", "mono"),
        page.Column("", "quiet fit"),
    )
    rows = [page.TableRow(execution_row(each)) for each in recording.executions]
    name, _, what = title(recording).partition(" · ")
    status = words.outcome_in_words(recording.status, recording.last.output)
    badge = (
        (f"damaged in {words.counted(len(recording.damage), 'place')}", "badge-bad") if recording.damage else (status,)
    )
    return page.rendering(
        page.head(name, what, *badge),
        page.row(page.part(page.table("Executions", columns, rows))),
        page.row(history.history_part(recording)),
        page.remarks(remarks(recording)),
    )


def execution_row(execution: RecordedExecution) -> tuple[str, str, str, str, str]:
    """An execution in words: number, turns, events, how it ended, whether its turns were inferred."""
    return (
        str(execution.execution_id),
        f"{execution.turn_count:,}",
        f"{execution.event_count:,}",
        words.outcome_in_words(execution.status, execution.output),
        "turns inferred" if execution.turns_inferred else "",
    )


def remarks(recording: Recording) -> list[tuple[str, list[str]]]:
    """Labelled sentences below the executions."""
    found: list[tuple[str, list[str]]] = [("model", [recording.kv_model])]
    if recording.custom_status is not None:
        found.append(("status", [f'custom status "{words.shown(recording.custom_status)}"']))
    if recording.parent_instance is not None:
        found.append(("parent", [words.shown(recording.parent_instance)]))
    if recording.damage:
        found.append(("damage", [damage_in_words(each) for each in recording.damage]))
    return found


def damage_in_words(damage: Damage) -> str:
    """Where a history cannot be trusted, and why."""
    return f"execution {damage.execution_id}, {words.sentence(damage.row)}: {words.sentence(damage.reason)}"


def frame(recording: Recording) -> pd.DataFrame:
    """A row an event."""
    return history.frame(recording)
