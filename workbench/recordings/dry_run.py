"""One dry run: what code does otherwise than a record. Nothing is written and no activity runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from workbench.recordings.tracing import exact_turns, trace_execution
from workbench.runtime.dialect import dialect_of
from workbench.runtime.execution import Code
from workbench.runtime.lines import Line, describe_line, user_line
from workbench.runtime.turn import Turn, TurnSetting
from workbench.runtime.watchdog import DEADLINE_MS

if TYPE_CHECKING:
    from workbench.recordings.recording import Recording


class Finding(msgspec.Struct, frozen=True, eq=False):
    """One thing that a run does otherwise than the record: where (`execution.turn.operation`), what, and the line.

    The line in words is left out when two are compared: in a fresh process the code may stand in another file.
    """

    address: str
    now: str
    place: str | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Finding) and (self.address, self.now) == (other.address, other.now)

    def __hash__(self) -> int:
        return hash((self.address, self.now))


Findings = tuple[Finding, ...]


def dry_run(recording: Recording, code: Code, deadline_ms: int | None = DEADLINE_MS) -> Findings:
    """What the code does otherwise than the record, up to the first operation that is another one."""
    found: list[Finding] = []
    dialect = dialect_of(recording.writer)
    for execution in recording.executions:
        if execution.damage or execution.kv_snapshot is None:
            break
        setting = TurnSetting(
            instance_id=recording.instance_id,
            orchestration=recording.orchestration,
            execution_id=execution.execution_id,
            kv_model=recording.kv_model,
            limits=recording.limits,
            start=execution.kv_snapshot,
            inferred=execution.turns_inferred,
        )
        recorded = exact_turns(code, setting, execution.history, execution.soft_boundaries, dialect, deadline_ms)
        turns = trace_execution(code, setting, recorded, dialect, False, deadline_ms)
        found += [each for turn in turns for each in _findings(turn)]
        if turns and (turns[-1].divergence is not None or turns[-1].stopped is not None):
            break
    return tuple(found)


def _findings(turn: Turn) -> Iterator[Finding]:
    for strict in turn.strict_differences:
        yield Finding(turn.address, f"{strict.what} {strict.now}", _place(user_line(strict.chain)))
    divergence = turn.divergence
    if divergence is not None:
        now = divergence.now
        did = divergence.ending or "nothing: the code waits"
        if now is not None:
            values = [str(value) for value in (now.fields() | now.extra).values() if value is not None]
            did = " ".join([now.kind, *values])
        yield Finding(divergence.address, did, _place(user_line(divergence.chain)))
    if turn.outcome_difference is not None:
        ending = turn.outcome_difference
        yield Finding(turn.address, f"{ending.now_status} {ending.now_output}", None)
    if turn.stopped is not None:
        yield Finding(turn.address, "did not come back", None)


def _place(line: Line | None) -> str | None:
    return None if line is None else describe_line(line)
