"""A long history without running it: the counter of the specification, as many turns as asked for."""

from __future__ import annotations

from typing import Any

from workbench.recordings.integrity import Row
from workbench.recordings.recording import Recording
from workbench.recordings.stored import StoredExecution, StoredInstance, recording_of
from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.limits import Limits

START_MS = 1_700_000_000_000


def counter(ctx: Any, rounds: int) -> Any:
    """The code that such a history is of."""
    for _ in range(rounds):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop", "")
    return ctx.get_kv_value("counter")


def counter_recording(turns: int, kv_model: kv.KVModel = kv.DELTA) -> Recording:
    """A running counter that has made so many turns: a set and an activity in each."""
    rows: list[Row] = []
    numbers: list[int] = []

    def write(turn: int, kind: str, source: int | None = None, **fields: Any) -> int:
        event = ev.new_event("long", 1, len(rows) + 1, START_MS + turn, kind, source, **fields)
        rows.append(Row(event.event_id, kind, ev.encode_event(event)))
        numbers.append(turn)
        return event.event_id

    scheduled = 0
    for turn in range(1, turns + 1):
        if turn == 1:
            write(1, ev.STARTED, name="Counter", version="1.0.0", input="1000000")
        else:
            write(turn, ev.ACTIVITY_COMPLETED, scheduled, result='""')
        write(turn, ev.KV_SET, key="counter", value=str(turn), last_updated_at_ms=START_MS + turn)
        scheduled = write(turn, ev.ACTIVITY_SCHEDULED, name="Noop", input='""')
    return recording_of(
        StoredInstance(
            instance_id="long",
            orchestration="Counter",
            version="1.0.0",
            executions=(StoredExecution(1, "Running", None, tuple(rows), tuple(numbers)),),
            kv_model=kv_model,
            kv_tables=kv.Tables({}, {"counter": kv.Entry(str(turns), START_MS + turns, 1)}),
            limits=Limits(),
        )
    )
