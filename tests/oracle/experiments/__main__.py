"""Run experiments and print what was stored: `python -m tests.oracle.experiments [NAME…]`."""

from __future__ import annotations

import sys

import msgspec

from tests.oracle.experiments.all_of_them import APART, TOGETHER
from tests.oracle.record import RecordedInstance, record

_ENVELOPE = ("event_id", "source_event_id", "instance_id", "execution_id", "timestamp_ms", "duroxide_version", "type")


def describe(instance: RecordedInstance) -> str:
    """The instance's histories, one line an event, a rule between turns, then status and tables."""
    lines = [f"=== {instance.instance_id} · {instance.orchestration} · parent {instance.parent}"]
    for execution in instance.executions:
        lines.append(f"--- execution {execution.execution_id}: {execution.status}, output {execution.output!r}")
        boundaries = set()
        total = 0
        for count in execution.turns:
            boundaries.add(total)
            total += count
        for position, text in enumerate(execution.events):
            event = msgspec.json.decode(text)
            mark = "|" if position in boundaries else " "
            source = "" if event["source_event_id"] is None else f" <{event['source_event_id']}>"
            fields = {key: value for key, value in event.items() if key not in _ENVELOPE}
            if "fire_at_ms" in fields:
                fields["fire_at_ms"] = f"{fields['fire_at_ms'] - event['timestamp_ms']:+}"
            lines.append(f"  {mark} {event['event_id']:3} {event['type']}{source} {fields or ''}")
    if instance.custom_status_version:
        lines.append(f"  status {instance.custom_status!r} version {instance.custom_status_version}")
    lines += [f"  store {row[0]!r} = {row[1]!r}" for row in instance.kv_store]
    lines += [f"  delta {row[0]!r} = {row[1]!r}" for row in instance.kv_delta]
    return "\n".join(lines)


def main() -> None:
    """Run the experiments whose names begin with an argument, or all, and print what was stored."""
    wanted = tuple(sys.argv[1:]) or ("",)
    together = [case for case in TOGETHER if case.name.startswith(wanted)]
    for batch in [together, *([case] for case in APART if case.name.startswith(wanted))]:
        for instance in record(batch, at_once=2):
            print(describe(instance))


if __name__ == "__main__":
    main()
