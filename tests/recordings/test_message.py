"""The divergence message: its elements, in the order that the design fixes, in one text."""

from __future__ import annotations

from typing import Any

from tests.cases.edited import edited
from tests.cases.programs import before_the_change
from tests.cases.recorded import instances
from workbench import Workbench, check


def counter(ctx: Any, _: object) -> Any:
    for _round in range(3):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop", "")
    return ctx.get_kv_value("counter")


def labels(text: str) -> list[str]:
    return [line[:12].strip() for line in text.splitlines()[1:] if line[:12].strip() and line[2] != " "]


def test_every_element_stands_in_its_place() -> None:
    with Workbench() as wb:
        wb.activity("Noop")(lambda _, given: given)
        wb.orchestration(counter)
        run = wb.start(counter)
        run.finish()
        recording = run.recording()
    changed = edited(counter, 'int(ctx.get_kv_value("counter") or "0")', 'int(ctx.get_kv_value("counter") or 0)')
    divergence = recording.replay(changed, kv_model="per-turn").divergence
    assert divergence is not None
    text = divergence.text()
    first = text.splitlines()[0]
    assert first.startswith("counter · counter-1 · diverged in turn 2")
    assert labels(text) == ["where", "recorded", "now", "then", "because", "after", "to do", "engine"]
    assert "turn 2, replaying turn 1 · event 2 · operation 1 · counter, line 4" in text
    assert '> 4 |         ctx.set_kv_value("counter", str(n + 1))' in text
    assert "  3 |" in text
    assert "  5 |" in text
    assert "the snapshot is poisoned" in text
    assert text.splitlines()[-1].startswith(("  engine", "            "))
    assert "expected" not in text
    assert "actual" not in text


def test_p_15_has_a_row_for_each_instance_with_its_reason_and_others_are_compared_as_if_alone() -> None:
    damaged, healthy = instances("P-15"), instances("P-14")
    report = check([*damaged, *healthy], before_the_change)
    rows = report.frame()
    assert len(rows) == len(damaged) + len(healthy)
    spoilt = rows[rows["verdict"] == "damaged history"]
    assert set(spoilt["instance"]) == {each.instance_id for each in damaged}
    alone = check(healthy, before_the_change).frame()
    together = rows[rows["verdict"] != "damaged history"]
    assert sorted(zip(together["instance"], together["verdict"], strict=True)) == sorted(
        zip(alone["instance"], alone["verdict"], strict=True)
    )
    assert "no JSON" in report.text()
    assert "FutureEventKind" in report.text()
    assert "missing" in report.text()
