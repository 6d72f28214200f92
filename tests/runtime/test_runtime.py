"""The background runtime: many instances at once, warm and cold, clean shutdown; what cannot be run is poisoned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from workbench import Client, Runtime, RuntimeOptions, Workbench
from workbench.runtime import events as ev
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.clock import ManualClock
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.errors import RuntimeIsRunning
from workbench.runtime.limits import Limits
from workbench.runtime.registry import Registry
from workbench.runtime.warm import WarmExecutions
from workbench.store import DuckDBProvider

WAIT_MS = 60_000


def counter(ctx: Any, rounds: int) -> Any:
    for _ in range(rounds):
        n = int(ctx.get_kv_value("n") or "0")
        ctx.set_kv_value("n", str(n + 1))
        yield ctx.schedule_activity("Echo", n)
    return ctx.get_kv_value("n")


def parent(ctx: Any, _: object) -> Any:
    results = yield ctx.all([ctx.schedule_sub_orchestration("Counter", n) for n in (1, 2)])
    yield ctx.schedule_timer(1)
    return [each["ok"] for each in results]


def chain(ctx: Any, left: int) -> Any:
    ctx.set_kv_value("n", str(int(ctx.get_kv_value("n") or "0") + 1))
    if left:
        yield ctx.continue_as_new(left - 1)
    return ctx.get_kv_value("n")


def echo(ctx: Any, value: object) -> object:
    return value


ORCHESTRATIONS = {"Counter": counter, "Parent": parent, "Chain": chain}


@pytest.fixture(params=["delta", "delta, cold"])
def runtime(request: pytest.FixtureRequest) -> Iterator[tuple[Runtime, Client]]:
    provider = DuckDBProvider()
    options = RuntimeOptions(warm=0 if "cold" in request.param else 100, dispatcher_poll_interval_ms=20)
    runtime = Runtime(provider, options)
    for name, function in ORCHESTRATIONS.items():
        runtime.register_orchestration(name, function)
    runtime.register_activity("Echo", echo)
    with runtime:
        yield runtime, Client(provider)
    assert provider.verify() == []
    provider.close()


def test_many_instances_run_to_their_end_at_once(runtime: tuple[Runtime, Client]) -> None:
    _, client = runtime
    for number in range(8):
        client.start_orchestration(f"counter-{number}", "Counter", 3)
    client.start_orchestration("chain", "Chain", 3)
    client.start_orchestration("parent", "Parent")
    for number in range(8):
        assert client.wait_for_orchestration(f"counter-{number}", WAIT_MS).output == "3"
        assert client.get_kv_value(f"counter-{number}", "n") == "3"
    assert client.wait_for_orchestration("chain", WAIT_MS).output == "4"
    assert client.wait_for_orchestration("parent", WAIT_MS).output == ["1", "2"]


def test_a_runtime_that_was_shut_down_starts_again_and_goes_on(runtime: tuple[Runtime, Client]) -> None:
    running, client = runtime
    running.shutdown()
    assert not running.is_running
    client.start_orchestration("later", "Counter", 1)
    assert client.get_status("later").status == "NotFound"
    running.start()
    assert client.wait_for_orchestration("later", WAIT_MS).output == "1"


def test_a_client_sees_a_value_while_the_instance_runs(runtime: tuple[Runtime, Client]) -> None:
    running, client = runtime

    def waits(ctx: Any, _: object) -> Any:
        ctx.set_kv_value("state", "asked")
        answer = yield ctx.wait_for_event("answer")
        ctx.set_kv_value("state", answer)

    running.register_orchestration("Waits", waits)
    client.start_orchestration("w", "Waits")
    assert client.wait_for_kv_value("w", "state", WAIT_MS) == "asked"
    client.raise_event("w", "answer", "yes")
    client.wait_for_orchestration("w", WAIT_MS)
    assert client.get_kv_value("w", "state") == "yes"


def test_turns_are_not_made_by_hand_while_the_runtime_makes_them() -> None:
    with Workbench() as wb:
        wb.orchestration("Counter")(counter)
        wb.activity("Echo")(echo)
        run = wb.start("Counter", 2)
        wb.runtime.start()
        try:
            with pytest.raises(RuntimeIsRunning, match=r"call wb\.runtime\.shutdown"):
                run.turn()
            assert wb.client.wait_for_orchestration(run.instance_id, WAIT_MS).output == "2"
        finally:
            wb.runtime.shutdown()
        assert run.outcome.output == "2"


class Bench:
    """A dispatcher and an activity runner with a clock that is moved by hand: what a worker does, step by step."""

    def __init__(self, provider: DuckDBProvider, max_attempts: int = 3, warm: WarmExecutions | None = None) -> None:
        self.provider = provider
        self.clock = ManualClock()
        self.registry = Registry()
        self.client = Client(provider, self.clock)
        self.dispatcher = Dispatcher(
            provider, self.registry, self.clock, Limits(), warm=warm, max_attempts=max_attempts
        )
        self.runner = ActivityRunner(provider, self.registry, self.clock, lambda: self.client)
        self.max_attempts = max_attempts

    def work(self, rounds: int = 60, step_ms: int = 1_000) -> None:
        """Whatever there is to do, with the clock going on in between."""
        for _ in range(rounds):
            while self.dispatcher.make_turns(10) or self.runner.run_batch(self.max_attempts, "w"):
                pass
            self.clock.advance(step_ms)


@pytest.fixture
def provider() -> Iterator[DuckDBProvider]:
    made = DuckDBProvider()
    yield made
    made.close()


def test_an_orchestration_without_code_is_tried_more_and_more_rarely_and_then_fails(provider: DuckDBProvider) -> None:
    bench = Bench(provider)
    bench.client.start_orchestration("lost", "Nobody")
    bench.work(rounds=6)
    assert bench.client.get_status("lost").status == "NotFound"
    bench.work(rounds=10)
    assert bench.client.get_status("lost").error == "poison: orchestration lost exceeded 4 attempts (max 3)"


def test_an_activity_without_code_fails_its_orchestration_which_never_sees_it(provider: DuckDBProvider) -> None:
    bench = Bench(provider)

    def catches(ctx: Any, _: object) -> Any:
        try:
            yield ctx.schedule_activity("Nobody")
        except Exception as error:
            return f"caught {error}"

    bench.registry.add_orchestration("Catches", catches)
    bench.client.start_orchestration("c", "Catches")
    bench.work(rounds=20)
    status = bench.client.get_status("c")
    assert status.status == "Failed"
    assert status.error == "poison: activity Nobody#2 exceeded 4 attempts (max 3)"


@pytest.mark.damages("a history row is overwritten")
def test_a_damaged_history_is_given_up_after_a_bounded_number_of_tries_and_others_go_on(
    provider: DuckDBProvider,
) -> None:
    bench = Bench(provider)
    bench.registry.add_orchestration("Counter", counter)
    bench.registry.add_activity("Echo", echo)
    for name in ("bad", "good"):
        bench.client.start_orchestration(name, "Counter", 2)
    bench.dispatcher.make_turns(10)
    with provider._store.writing() as cursor:
        cursor.execute("UPDATE history SET event_data = '{' WHERE instance_id = 'bad' AND event_id = 2")
    bench.work(rounds=20)
    assert bench.client.get_status("good").output == "2"
    bad = bench.client.get_status("bad")
    assert bad.status == "Failed"
    assert "history deserialization failed after 4 attempts (max 3)" in str(bad.error)
    assert "event 2" in str(bad.error)


def test_an_operation_behind_an_event_of_unknown_type_is_damage_not_nondeterminism(provider: DuckDBProvider) -> None:
    bench = Bench(provider)

    def two(ctx: Any, _: object) -> Any:
        yield ctx.schedule_activity("Echo", 1)
        yield ctx.wait_for_event("go")

    bench.registry.add_orchestration("Two", two)
    bench.client.start_orchestration("i", "Two")
    bench.dispatcher.make_turns(10)
    with provider._store.writing() as cursor:
        text = ev.encode_event(provider.read_history("i", 1).events[1]).replace("ActivityScheduled", "Teleported")
        cursor.execute("UPDATE history SET event_data = ?, event_type = 'Teleported' WHERE event_id = 2", [text])
    bench.client.raise_event("i", "go")
    bench.work(rounds=20)
    error = str(bench.client.get_status("i").error)
    assert error.startswith("poison: ")
    assert "Teleported" in error


def test_warm_and_cold_make_the_same_history() -> None:
    told = []
    for warm in (None, WarmExecutions()):
        provider = DuckDBProvider()
        bench = Bench(provider, warm=warm)
        for name, function in ORCHESTRATIONS.items():
            bench.registry.add_orchestration(name, function)
        bench.registry.add_activity("Echo", echo)
        for name, value in (("Counter", 4), ("Chain", 3), ("Parent", None)):
            bench.client.start_orchestration(name.lower(), name, value)
        bench.work(rounds=10)
        told.append(
            {
                info.instance_id: [
                    ev.encode_event(event) for event in provider.read_history(info.instance_id, 1).events
                ]
                for info in provider.instances()
            }
        )
        assert provider.verify() == []
        provider.close()
    assert told[0] == told[1]


def test_a_warm_execution_is_not_used_when_its_code_was_registered_anew(provider: DuckDBProvider) -> None:
    warm = WarmExecutions()
    bench = Bench(provider, warm=warm)
    bench.registry.add_orchestration("Counter", counter)
    bench.registry.add_activity("Echo", echo)
    bench.client.start_orchestration("c", "Counter", 3)
    bench.dispatcher.make_turns(10)
    assert len(warm) == 1

    def changed(ctx: Any, rounds: int) -> Any:
        yield ctx.schedule_activity("Echo", "changed")
        yield from counter(ctx, rounds)

    bench.registry.add_orchestration("Counter", changed)
    bench.work(rounds=3)
    assert str(bench.client.get_status("c").error).startswith("nondeterministic: ")
    assert len(warm) == 0


def test_the_warm_cache_is_bounded(provider: DuckDBProvider) -> None:
    warm = WarmExecutions(size=2)
    bench = Bench(provider, warm=warm)
    bench.registry.add_orchestration("Counter", counter)
    for number in range(5):
        bench.client.start_orchestration(f"c{number}", "Counter", 1)
    bench.dispatcher.make_turns(10)
    assert len(warm) == 2
    warm.drop()
    assert len(warm) == 0


def test_an_activity_that_exits_is_never_recorded_as_a_result_and_is_poisoned_in_the_end(
    provider: DuckDBProvider,
) -> None:
    bench = Bench(provider)

    def leaves(ctx: Any, _: object) -> None:
        raise SystemExit(3)

    def asks(ctx: Any, _: object) -> Any:
        return (yield ctx.schedule_activity("Leaves"))

    bench.registry.add_activity("Leaves", leaves)
    bench.registry.add_orchestration("Asks", asks)
    bench.client.start_orchestration("a", "Asks")
    bench.dispatcher.make_turns(10)
    for _ in range(3):
        with pytest.raises(SystemExit):
            bench.runner.run_batch(3, "w")
        assert len(provider.read_history("a", 1).events) == 2
        bench.clock.advance(60_000)
    bench.work(rounds=2)
    assert bench.client.get_status("a").error == "poison: activity Leaves#2 exceeded 4 attempts (max 3)"
