"""Metrics and log lines (spec 001, "Observability", "Enforcement" and "Metrics"), read with OpenTelemetry's own reader.

Every turn here is replayed from the top each time the next one is made, and nothing is counted or logged by a replay.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, InMemoryMetricReader, Sum

from tests.specification.running import INSTANCE, output, register, run, settle, start
from workbench import Limits, Workbench
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.dispatcher import LOCK_MS
from workbench.runtime.errors import LockLost
from workbench.runtime.provider import Claim

COUNTERS = {
    f"duroxide.kv.{name}"
    for name in (
        "set",
        "clear_value",
        "clear_all",
        "get",
        "get_remote",
        "limit_exceeded.key_count",
        "limit_exceeded.value_size",
    )
}
GAUGES = {"duroxide.kv.key_count", "duroxide.kv.largest_value_bytes"}
MOST = Limits()


class Point(NamedTuple):
    """One figure of a metric, with its attributes."""

    value: int | float
    attributes: dict[str, Any]


class Measured:
    """What was measured since the last look."""

    def __init__(self, reader: InMemoryMetricReader) -> None:
        self._reader = reader

    def look(self) -> dict[str, list[Point]]:
        """The figures by metric; counters since the last look, gauges as they are."""
        data = self._reader.get_metrics_data()
        found: dict[str, list[Point]] = {}
        for resource in data.resource_metrics if data is not None else ():
            for metric in (each for scope in resource.scope_metrics for each in scope.metrics):
                assert isinstance(metric.data, Sum | Gauge)
                assert isinstance(metric.data, Gauge) == (metric.name in GAUGES)
                points = [Point(each.value, dict(each.attributes or {})) for each in metric.data.data_points]
                found.setdefault(metric.name, []).extend(points)
        return found

    def counts(self) -> dict[str, int | float]:
        """Counter by counter, how often since the last look."""
        return {name: sum(each.value for each in points) for name, points in self.look().items() if name in COUNTERS}


@pytest.fixture(scope="session")
def reader() -> InMemoryMetricReader:
    """The process's one meter provider (it cannot be set again), read in memory; counters are given as differences."""
    made = InMemoryMetricReader(preferred_temporality={Counter: AggregationTemporality.DELTA})
    metrics.set_meter_provider(MeterProvider([made], shutdown_on_exit=False))
    return made


@pytest.fixture
def measured(reader: InMemoryMetricReader) -> Measured:
    """Nothing of what was measured before this test."""
    made = Measured(reader)
    made.look()
    return made


def uses_everything(ctx: Context, _: None) -> Any:
    """Two sets, four reads, one clear, one clear-all and one read of another instance, over five turns."""
    ctx.set_kv_value("a", "12345")
    ctx.get_kv_value("a")
    yield ctx.schedule_activity("Noop")
    ctx.set_kv_value_typed("b", [1])
    ctx.get_kv_value_typed("b")
    yield ctx.schedule_timer(1_000)
    ctx.clear_kv_value("a")
    ctx.get_kv_value("a")
    yield ctx.get_kv_value_from_instance("nobody", "k")
    ctx.clear_all_kv_values()
    ctx.get_kv_value("b")
    yield ctx.schedule_activity("Noop")


EVERYTHING = {
    "duroxide.kv.set": 2,
    "duroxide.kv.get": 4,
    "duroxide.kv.clear_value": 1,
    "duroxide.kv.clear_all": 1,
    "duroxide.kv.get_remote": 1,
}


def test_operations_are_counted_once_however_often_they_are_replayed(wb: Workbench, measured: Measured) -> None:
    assert run(wb, uses_everything).status == "Completed"
    assert wb.provider.executions(INSTANCE)[0].turn_count == 5
    assert measured.counts() == EVERYTHING


def test_looking_at_a_run_counts_nothing(delta: Workbench, measured: Measured) -> None:
    """Nor does a stepper, whose traces are made by running the code again."""
    start(delta, uses_everything)
    instance = delta.run(INSTANCE)
    instance.finish()
    assert measured.counts() == EVERYTHING
    assert len(instance.turns) == 5
    assert instance.recording().replay(uses_everything).verdict == "same"
    assert measured.counts() == {}


def test_warm_executions_count_the_same(delta: Workbench, measured: Measured) -> None:
    def flow(ctx: Context, _: None) -> Any:
        for _round in range(3):
            ctx.set_kv_value("n", str(int(ctx.get_kv_value("n") or "0") + 1))
            yield ctx.schedule_activity("Noop")

    register(delta, flow)
    with delta.runtime:
        delta.client.start_orchestration(INSTANCE, "flow")
        delta.client.wait_for_orchestration(INSTANCE)
    assert measured.counts() == {"duroxide.kv.set": 3, "duroxide.kv.get": 3}


def test_metrics_have_exactly_the_names_of_the_specification(delta: Workbench, measured: Measured) -> None:
    run(delta, uses_everything, instance_id="everything")
    run(delta, sets(MOST.kv_keys + 1), instance_id="too many")
    run(delta, sets(1, size=MOST.kv_value_bytes + 1), instance_id="too large")
    assert set(measured.look()) == COUNTERS | GAUGES


def test_operation_counters_carry_no_attributes(delta: Workbench, measured: Measured) -> None:
    """Keys are no attributes: a counter per key would never stop growing."""
    run(delta, uses_everything)
    points = [point for name, found in measured.look().items() if name in COUNTERS for point in found]
    assert [point.attributes for point in points] == [{}] * len(EVERYTHING)


def test_gauges_are_tagged_with_their_instance(wb: Workbench, measured: Measured) -> None:
    """After every turn: the keys alive, and the UTF-8 bytes of the largest value."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("a", "é")
        yield ctx.wait_for_event("go")
        ctx.set_kv_value("b", "12345")
        yield ctx.wait_for_event("go")
        ctx.clear_all_kv_values()
        yield ctx.wait_for_event("never")

    def gauges(instance_id: str) -> list[int | float]:
        found = measured.look()
        return [
            point.value
            for name in sorted(GAUGES)
            for point in found[name]
            if point.attributes == {"instance_id": instance_id}
        ]

    name = f"gauged by the {wb.kv_model} model"
    start(wb, flow, instance_id=name)
    settle(wb)
    seen = [gauges(name)]
    for _round in range(2):
        wb.client.raise_event(name, "go")
        settle(wb)
        seen.append(gauges(name))
    assert seen == [[1, 2], [2, 5], [0, 0]]


def sets(count: int, size: int = 1) -> Any:
    """An orchestration that sets so many keys to values of so many bytes."""

    def flow(ctx: Context, _: None) -> Any:
        for i in range(count):
            ctx.set_kv_value(f"key-{i}", "x" * size)
        yield ctx.schedule_activity("Noop")

    return flow


def test_too_many_keys_are_counted_with_the_instance(delta: Workbench, measured: Measured) -> None:
    run(delta, sets(MOST.kv_keys + 1), instance_id="many")
    assert measured.look()["duroxide.kv.limit_exceeded.key_count"] == [Point(1, {"instance_id": "many"})]


def test_a_value_that_is_too_large_is_counted_with_the_instance_and_the_key(
    delta: Workbench, measured: Measured
) -> None:
    run(delta, sets(1, size=MOST.kv_value_bytes + 1), instance_id="large")
    attributes = {"instance_id": "large", "key": "key-0"}
    assert measured.look()["duroxide.kv.limit_exceeded.value_size"] == [Point(1, attributes)]


def test_writes_that_a_limit_discarded_are_not_counted(delta: Workbench, measured: Measured) -> None:
    run(delta, sets(1, size=MOST.kv_value_bytes + 1), instance_id="large")
    assert measured.counts() == {"duroxide.kv.limit_exceeded.value_size": 1}


def test_a_turn_that_was_not_committed_is_not_counted(delta: Workbench, measured: Measured) -> None:
    """Somebody else has the lock by the time it is made, so it is made again: it counts once."""
    others: list[Claim] = []

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        if not others:
            later = delta.clock.now_ms() + LOCK_MS
            with ThreadPoolExecutor(1) as somebody_else:
                others.extend(somebody_else.submit(delta.provider.claim, 1, later, LOCK_MS, INSTANCE).result(30))
        yield ctx.schedule_activity("Noop")

    start(delta, flow)
    with pytest.raises(LockLost):
        delta.run(INSTANCE).turn()
    assert measured.counts() == {}
    delta.provider.abandon(others[0])
    settle(delta)
    assert measured.counts() == {"duroxide.kv.set": 1}


# Log lines.


class Line(NamedTuple):
    """A log line: its logger, level, what it says before its fields, and the fields."""

    logger: str
    level: str
    says: str
    fields: dict[str, Any]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    """What was logged, line by line."""
    caplog.set_level(logging.DEBUG, "workbench")

    def logged() -> list[Line]:
        found = []
        for record in caplog.records:
            fields = getattr(record, "fields", {})
            says = record.getMessage().removesuffix("".join(f" {name}={value}" for name, value in fields.items()))
            found.append(Line(record.name, record.levelname, says, fields))
        return found

    return logged


WHERE = {"instance_id": INSTANCE, "execution_id": 1}


def runtime_line(level: str, says: str, **fields: Any) -> Line:
    """A line of the runtime about instance `i`, execution 1."""
    return Line("workbench.runtime", level, says, {**fields, **WHERE})


def test_kv_operations_are_logged_once_with_their_fields(wb: Workbench, lines: Any) -> None:
    """`kv.set` at INFO with the length in bytes, `kv.clear` at INFO, `kv.get` at DEBUG with whether it was found."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.get_kv_value("k")
        ctx.set_kv_value("k", "é")
        ctx.get_kv_value("k")
        yield ctx.schedule_activity("Noop")
        ctx.clear_kv_value("k")
        ctx.clear_all_kv_values()
        yield ctx.schedule_activity("Noop")

    assert output(wb, flow) is None
    assert lines() == [
        runtime_line("DEBUG", "kv.get", key="k", found=False),
        runtime_line("INFO", "kv.set", key="k", value_len=2),
        runtime_line("DEBUG", "kv.get", key="k", found=True),
        runtime_line("INFO", "kv.clear", key="k"),
        runtime_line("INFO", "kv.clear"),
    ]


def test_lines_of_the_code_itself_are_logged_once_under_its_own_name(wb: Workbench, lines: Any) -> None:
    """Also one that looks like a line of the runtime."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.trace_info("kv.clear")
        yield ctx.schedule_activity("Noop")
        ctx.trace_warn("second turn")
        yield ctx.schedule_activity("Noop")

    assert output(wb, flow) is None
    assert lines() == [
        Line("workbench.orchestration", "INFO", "kv.clear", WHERE),
        Line("workbench.orchestration", "WARNING", "second turn", WHERE),
    ]


def twice(says: str, **fields: Any) -> list[Line]:
    """Spec 001 logs a broken limit twice."""
    return [
        runtime_line("WARNING", says, **fields),
        runtime_line("ERROR", f"{says}, failing orchestration", **fields),
    ]


def of_limits(logged: list[Line]) -> list[Line]:
    """The lines at WARNING and above."""
    return [line for line in logged if line.level in ("WARNING", "ERROR")]


def test_too_many_keys_are_logged_as_a_warning_and_an_error(wb: Workbench, lines: Any) -> None:
    run(wb, sets(MOST.kv_keys + 1))
    says = "KV key count exceeds limit"
    assert of_limits(lines()) == twice(says, key_count=MOST.kv_keys + 1, max_keys=MOST.kv_keys)


def test_a_value_that_is_too_large_is_logged_as_a_warning_and_an_error(wb: Workbench, lines: Any) -> None:
    size = MOST.kv_value_bytes + 1
    run(wb, sets(1, size=size))
    says = "KV value exceeds size limit"
    assert of_limits(lines()) == twice(says, key="key-0", value_bytes=size, max_bytes=MOST.kv_value_bytes)


def test_other_limits_are_logged_in_the_same_way(delta: Workbench, lines: Any) -> None:
    def flow(ctx: Context, what: str) -> Any:
        if what == "status":
            ctx.set_custom_status("x" * (MOST.custom_status_bytes + 1))
        yield ctx.schedule_activity("Noop").with_tag("x" * (MOST.tag_name_bytes + 1))

    for what in ("status", "tag"):
        run(delta, flow, what, instance_id=what)
    assert [(line.level, line.says) for line in of_limits(lines())] == [
        ("WARNING", "Custom status exceeds size limit"),
        ("ERROR", "Custom status exceeds size limit, failing orchestration"),
        ("WARNING", "Activity tag exceeds size limit"),
        ("ERROR", "Activity tag exceeds size limit, failing orchestration"),
    ]
