"""The client: starting, sending, reading."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.runtime.instances import Instances
from workbench.runtime.client import Client
from workbench.runtime.client_answers import OrchestrationResult
from workbench.runtime.errors import (
    InstanceExists,
    InstanceFinished,
    KVDecodeError,
    NotJSON,
    NotStorable,
    UnknownInstance,
)
from workbench.store import DuckDBProvider
from workbench.store.validation.turns import make_turn, sets

Flow = Generator[Any, Any, Any]


def flow(ctx: Any, value: object) -> Flow:
    ctx.set_custom_status("begun")
    ctx.set_kv_value("k", "1")
    ctx.set_kv_value_typed("typed", {"a": [1]})
    got = yield ctx.wait_for_event("go")
    ctx.set_custom_status("ending")
    if got == "fail":
        raise ValueError("as asked")
    return got


@pytest.fixture
def running(instances: Instances) -> Instances:
    instances.orchestration("Flow", flow)
    instances.start("Flow", {"a": 1})
    instances.turn()
    return instances


def test_the_status_of_an_instance_over_its_life(instances: Instances) -> None:
    client = instances.client
    instances.orchestration("Flow", flow)
    assert client.get_status("i") == OrchestrationResult("NotFound")
    instances.start("Flow")
    assert client.get_status("i").status == "NotFound"
    instances.turn()
    assert client.get_status("i") == OrchestrationResult("Running", None, None, "begun", 1)
    client.raise_event("i", "go", [1, None])
    instances.turn()
    assert client.get_status("i") == OrchestrationResult("Completed", [1, None], None, "ending", 2)


def test_a_failure_is_its_text(running: Instances) -> None:
    running.client.raise_event("i", "go", "fail")
    running.turn()
    assert running.client.get_status("i") == OrchestrationResult("Failed", None, "ValueError: as asked", "ending", 2)


def test_an_id_is_taken_from_the_moment_it_is_started(instances: Instances) -> None:
    instances.start("Flow")
    with pytest.raises(InstanceExists, match="instance 'i' exists"):
        instances.start("Flow")
    assert len(instances.provider.pending_messages("i")) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.raise_event("nobody", "e"),
        lambda client: client.enqueue_event("nobody", "q"),
        lambda client: client.cancel_instance("nobody"),
        lambda client: client.get_instance_info("nobody"),
        lambda client: client.get_execution_info("nobody", 1),
    ],
)
def test_an_unknown_instance_is_named_with_those_there_are(running: Instances, call: Any) -> None:
    with pytest.raises(UnknownInstance, match="there is no instance 'nobody'; instances here: 'i'"):
        call(running.client)
    assert running.provider.pending_messages("nobody") == []


def test_what_is_sent_before_the_first_turn_waits_for_it(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        return (yield ctx.dequeue_event("q"))

    instances.orchestration("Flow", code)
    instances.start("Flow")
    instances.client.enqueue_event("i", "q", "early")
    assert instances.turn().output == '"early"'


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda client: client.raise_event("i", "go", {1}),
            NotJSON,
            "the data of 'go' is stored as JSON, and set at $",
        ),
        (lambda client: client.enqueue_event("i", "q", b""), NotJSON, "a message for 'q' is stored as JSON, and bytes"),
        (lambda client: client.start_orchestration("j", "F", {1}), NotJSON, "the input of 'F' is stored as JSON"),
        (lambda client: client.start_orchestration("\ud800", "F"), NotStorable, "an instance id cannot be stored"),
        (lambda client: client.raise_event("i", "\ud800"), NotStorable, "an event name cannot be stored"),
        (lambda client: client.enqueue_event("i", "\ud800"), NotStorable, "a queue name cannot be stored"),
        (lambda client: client.cancel_instance("i", "\ud800"), NotStorable, "a reason cannot be stored"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_sent(
    running: Instances, call: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        call(running.client)
    assert str(caught.value).startswith(text)
    assert running.provider.pending_messages("i") == []
    assert running.provider.pending_messages("j") == []


# Keys.


def test_keys_are_read_as_they_are_now(running: Instances) -> None:
    client = running.client
    assert client.get_kv_value("i", "k") == "1"
    assert client.get_kv_value("i", "none") is None
    assert client.get_kv_value("nobody", "k") is None
    assert client.get_kv_all_values("i") == {"k": "1", "typed": '{"a": [1]}'}
    assert client.get_kv_value_typed("i", "typed") == {"a": [1]}
    assert client.get_kv_value_typed("i", "typed", dict[str, list[int]]) == {"a": [1]}
    assert client.get_kv_value_typed("i", "none", int) is None
    with pytest.raises(KVDecodeError, match="the value of key 'typed' cannot be read as asked"):
        client.get_kv_value_typed("i", "typed", int)


def test_waiting_for_a_key_that_is_there_is_no_wait(running: Instances) -> None:
    assert running.client.wait_for_kv_value("i", "k", timeout_ms=0) == "1"
    assert running.client.wait_for_kv_value_typed("i", "typed", timeout_ms=0) == {"a": [1]}


def test_waiting_ends_with_what_another_thread_writes(running: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("go")
        ctx.set_kv_value("late", "here")
        yield ctx.wait_for_event("never")

    running.orchestration("Late", code)
    running.start("Late", None, "late")
    running.turn("late")
    found: list[str] = []
    waiter = threading.Thread(target=lambda: found.append(running.client.wait_for_kv_value("late", "late", 20_000)))
    waiter.start()
    running.client.raise_event("late", "go")
    running.turn("late")
    waiter.join()
    assert found == ["here"]


class Racing(DuckDBProvider):
    """A store in which something is written between a look at a key and the wait after it."""

    def __init__(self) -> None:
        super().__init__()
        self.between: Callable[[], None] | None = None
        self.woken: list[bool] = []

    def get_kv_value(self, instance_id: str, key: str) -> str | None:
        value = super().get_kv_value(instance_id, key)
        write, self.between = self.between, None
        if write is not None:
            write()
        return value

    def wait(self, seconds: float) -> bool:
        changed = super().wait(seconds)
        if seconds > 0:
            self.woken.append(changed)
        return changed


def test_what_is_written_between_a_look_and_the_wait_ends_the_wait() -> None:
    provider = Racing()
    client = Client(provider)
    client.start_orchestration("i", "Flow")
    found: list[str] = []

    def write() -> None:
        with ThreadPoolExecutor(1) as writer:  # a thread of its own, as a worker is
            writer.submit(make_turn, provider, "i", sets("k", "here")).result()

    def wait() -> None:
        provider.between = write
        found.append(client.wait_for_kv_value("i", "k", 20_000))

    waiter = threading.Thread(target=wait)
    waiter.start()
    waiter.join()
    provider.close()
    assert (found, provider.woken) == (["here"], [True])


def test_a_typed_wait_is_for_another_value_not_for_another_text(running: Instances) -> None:
    client = running.client
    with pytest.raises(TimeoutError):
        client.wait_for_kv_value_typed("i", "typed", timeout_ms=1, changed_from={"a": [1]})
    assert client.wait_for_kv_value("i", "typed", timeout_ms=0, changed_from='{"a":[1]}') == '{"a": [1]}'
    assert client.wait_for_kv_value_typed("i", "typed", 0, dict[str, list[int]], {"a": [2]}) == {"a": [1]}
    assert client.wait_for_kv_value_typed("i", "k", timeout_ms=0, changed_from=None) == 1
    with pytest.raises(TimeoutError):
        client.wait_for_kv_value_typed("i", "k", timeout_ms=1, changed_from=1)
    with pytest.raises(KVDecodeError):
        client.wait_for_kv_value_typed("i", "k", timeout_ms=0, type=str)
    with pytest.raises(NotJSON, match="changed_from"):
        client.wait_for_kv_value_typed("i", "k", timeout_ms=0, changed_from=object())


def test_waiting_says_for_what_it_waited_in_vain(running: Instances) -> None:
    with pytest.raises(TimeoutError, match="waited 1 ms for value 'none' on instance 'i'"):
        running.client.wait_for_kv_value("i", "none", timeout_ms=1)
    with pytest.raises(TimeoutError, match="waited 1 ms for instance 'i' to end"):
        running.client.wait_for_orchestration("i", timeout_ms=1)
    with pytest.raises(TimeoutError, match="waited 1 ms for a new custom status of instance 'i'"):
        running.client.wait_for_status_change("i", 1, timeout_ms=1)


def test_waiting_for_a_key_of_an_instance_that_has_ended_ends(running: Instances) -> None:
    running.client.raise_event("i", "go")
    running.turn()
    with pytest.raises(InstanceFinished):
        running.client.wait_for_kv_value("i", "none", timeout_ms=20_000)


def test_a_newer_status_and_an_end_end_the_wait_for_a_change(running: Instances) -> None:
    assert running.client.wait_for_status_change("i", 0, timeout_ms=0).custom_status == "begun"
    running.client.raise_event("i", "go", 7)
    running.turn()
    assert running.client.wait_for_status_change("i", 99, timeout_ms=0).output == 7
    assert running.client.wait_for_orchestration("i", timeout_ms=0).output == 7


# Administration.


def test_listing(running: Instances) -> None:
    def again(ctx: Any, n: int) -> Flow:
        if n:
            yield ctx.continue_as_new(n - 1)
        return "done"

    running.orchestration("Again", again)
    running.start("Again", 2, "j")
    running.finish("j")
    client = running.client
    assert client.list_all_instances() == ["i", "j"]
    assert client.list_instances_by_status("Running") == ["i"]
    assert client.list_instances_by_status("Completed") == ["j"]
    assert client.list_executions("j") == [1, 2, 3]
    assert client.list_executions("nobody") == []
    assert client.get_execution_info("j", 2).status == "ContinuedAsNew"
    with pytest.raises(LookupError, match="instance 'j' has no execution 9"):
        client.get_execution_info("j", 9)
    assert client.get_instance_info("j").execution_id == 3


def test_deleting_takes_everything(running: Instances) -> None:
    running.client.delete_instance("i", force=True)
    assert running.client.list_all_instances() == []
    assert running.client.get_kv_all_values("i") == {}
    with pytest.raises(UnknownInstance):
        running.client.delete_instance("i")
