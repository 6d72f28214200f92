"""Calls that cannot be: an error of its own class for each, its whole text, and a store that is as it was before."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.session.contents import contents
from workbench import Run, Workbench, check
from workbench.runtime.errors import (
    ActivityNotWaiting,
    InstanceExists,
    InstanceFinished,
    InstanceWaiting,
    NotAFunction,
    NotText,
    NoTurnYet,
    RegistrationConflict,
    RuntimeIsRunning,
    UnknownActivity,
    UnknownInstance,
    UnknownOrchestration,
    WorkbenchError,
)

BYTES: Any = b"x"
TWO: Any = 2
FIVE: Any = 5
NAME: Any = "flow"
NO_MODEL: Any = "per_turn"


def flow(ctx: Any, value: object) -> Generator[Any, Any, object]:
    ctx.set_kv_value("k", "v")
    return (yield ctx.schedule_activity("Echo", value))


def refused(wb: Workbench, kind: type[WorkbenchError], text: str, call: Callable[[], object]) -> None:
    before = contents(wb)
    with pytest.raises(kind) as raised:
        call()
    assert type(raised.value) is kind
    assert str(raised.value) == text
    assert repr(contents(wb)) == repr(before)


def test_an_unknown_instance_names_those_there_are_begun_or_not(wb: Workbench) -> None:
    wb.orchestration(flow)
    text = "there is no instance 'nobody'; instances here: none"
    refused(wb, UnknownInstance, text, lambda: wb.run("nobody"))
    refused(wb, UnknownInstance, text, lambda: wb.client.raise_event("nobody", "go"))
    wb.start(flow, 1, instance_id="one").turn()
    wb.start(flow, 1, instance_id="two")
    refused(
        wb,
        UnknownInstance,
        "there is no instance 'nobody'; instances here: 'one', 'two'",
        lambda: wb.run("nobody"),
    )


def test_an_unknown_orchestration_names_what_is_registered(wb: Workbench) -> None:
    wb.orchestration(flow)
    refused(
        wb,
        UnknownOrchestration,
        "no orchestration 'Flow' is registered; registered: 'flow'. Register it with @wb.orchestration",
        lambda: wb.start("Flow", 1),
    )
    refused(
        wb,
        UnknownOrchestration,
        "no orchestration 'flow' version 2.0.0 is registered; registered: 'flow 1.0.0'. "
        "Register it with @wb.orchestration",
        lambda: wb.start("flow", 1, version="2.0.0"),
    )

    def other(ctx: object, value: object) -> None: ...

    refused(
        wb,
        UnknownOrchestration,
        "no orchestration 'other' is registered; registered: 'flow'. Register it with @wb.orchestration",
        lambda: wb.start(other, 1),
    )


def test_an_instance_whose_orchestration_is_not_registered_keeps_its_messages(wb: Workbench) -> None:
    wb.client.start_orchestration("one", "Gone", 1)
    refused(
        wb,
        UnknownOrchestration,
        "no orchestration 'Gone' is registered; registered: none. Register it with @wb.orchestration",
        lambda: wb.run("one").turn(),
    )
    wb.orchestration("Gone")(flow)
    assert wb.run("one").finish().output == 1


def test_an_unknown_activity_says_how_to_go_on_without_it(wb: Workbench) -> None:
    @wb.orchestration
    def order(ctx: Any, value: object) -> Generator[Any, Any, object]:
        return (yield ctx.schedule_activity("Pay", {"amount": value}))

    run = wb.start(order, 3)
    run.turn()
    refused(
        wb,
        UnknownActivity,
        "no activity 'Pay' is registered; registered: 'Echo', 'Fail'. Register it with @wb.activity, "
        "or give its result with run.complete(2, result)",
        run.turn,
    )
    refused(
        wb,
        ActivityNotWaiting,
        "instance 'order-1' waits for no activity with event id 7; "
        'activities it waits for: Pay({"amount": 3}) (event 2)',
        lambda: run.complete(7, "paid"),
    )
    run.complete(2, "paid")
    assert run.finish().output == "paid"


def test_an_existing_instance_is_kept_unless_it_is_to_be_replaced(wb: Workbench) -> None:
    wb.orchestration(flow)
    text = "instance 'one' exists; choose another instance_id, or pass replace=True to delete it first"
    run = wb.start(flow, 1, instance_id="one")
    refused(wb, InstanceExists, text, lambda: wb.start(flow, 2, instance_id="one"))
    run.finish()
    refused(wb, InstanceExists, text, lambda: wb.start(flow, 2, instance_id="one"))
    refused(wb, InstanceExists, text, lambda: wb.client.start_orchestration("one", "flow", 2))


@pytest.mark.parametrize("turns", [0, 1, 2], ids=["not begun", "running", "finished"])
def test_replace_deletes_the_old_instance_with_everything_it_has(wb: Workbench, turns: int) -> None:
    wb.orchestration(flow)
    old = wb.start(flow, "old", instance_id="one")
    for _ in range(turns):
        old.turn()
    new = wb.start(flow, "new", instance_id="one", replace=True)
    assert (old.status, old.kv, old.turns) == ("Pending", {}, ())
    assert len(contents(wb)["orchestrator_queue"]) == 1
    assert new.finish().output == "new"
    assert len(new.turns) == 2


def test_replace_refuses_a_bad_input_before_it_deletes_anything(wb: Workbench) -> None:
    wb.orchestration(flow)
    run = wb.start(flow, 1, instance_id="one")
    run.finish()
    before = contents(wb)
    with pytest.raises(TypeError, match="set at \\$ has no JSON form"):
        wb.start(flow, {1}, instance_id="one", replace=True)
    assert repr(contents(wb)) == repr(before)


def test_a_finished_instance_says_so_to_every_call(wb: Workbench) -> None:
    wb.orchestration(flow)
    run = wb.start(flow, 1)
    run.finish()
    calls: list[Callable[[], object]] = [
        run.turn,
        lambda: run.raise_event("go"),
        lambda: run.enqueue_event("q", 1),
        lambda: run.cancel("enough"),
        lambda: run.complete(3, 1),
        lambda: run.fail(3, "no"),
    ]
    for call in calls:
        refused(wb, InstanceFinished, "instance 'flow-1' is finished (Completed); there is no further turn", call)
    assert run.finish().output == 1


def waiting(wb: Workbench, tasks: Callable[[Any], list[Any]]) -> Run:
    @wb.orchestration("Waiting")
    def wait(ctx: Any, _: object) -> Generator[Any, Any, None]:
        yield ctx.all(tasks(ctx))

    run = wb.start("Waiting")
    run.turn()
    return run


def test_a_waiting_instance_says_for_what_and_which_call_gives_it(wb: Workbench) -> None:
    run = waiting(wb, lambda ctx: [ctx.wait_for_event("go")])
    text = "instance 'waiting-1' waits for event 'go' (event 2); to move it: run.raise_event('go', data)"
    refused(wb, InstanceWaiting, text, run.turn)
    refused(wb, InstanceWaiting, text, run.finish)


def test_one_that_waits_for_many_things_lists_them_all_with_their_calls(wb: Workbench) -> None:
    @wb.orchestration("Child")
    def child(ctx: Any, _: object) -> Generator[Any, Any, None]:
        yield ctx.wait_for_event("inner")

    run = waiting(
        wb,
        lambda ctx: [
            ctx.wait_for_event("go"),
            ctx.dequeue_event("mail"),
            ctx.schedule_activity("Pay", 5),
            ctx.schedule_sub_orchestration("Child"),
        ],
    )
    with pytest.raises(InstanceWaiting) as raised:
        run.turn()
    assert str(raised.value) == (
        "instance 'waiting-1' waits for event 'go' (event 2), a message in queue 'mail' (event 3), "
        "activity Pay(5) (event 4, no function is registered for it) "
        "and event 'inner' (event 2) of its child 'waiting-1::sub::5'; to move it: run.raise_event('go', data), "
        "run.enqueue_event('mail', data), run.complete(4, result) "
        "or wb.run('waiting-1::sub::5').raise_event('inner', data)"
    )
    assert raised.value.calls[0] == "run.raise_event('go', data)"
    run.raise_event("go")
    run.turn()
    run.enqueue_event("mail")
    run.turn()
    run.complete(4)
    run.turn()
    wb.run("waiting-1::sub::5").raise_event("inner")
    assert run.finish().status == "Completed"


def test_a_child_without_code_stops_its_parent_with_the_name_that_is_missing(wb: Workbench) -> None:
    run = waiting(wb, lambda ctx: [ctx.schedule_sub_orchestration("Missing")])
    refused(
        wb,
        UnknownOrchestration,
        "no orchestration 'Missing' is registered; registered: 'Waiting'. Register it with @wb.orchestration",
        run.turn,
    )


def test_turns_are_not_made_by_hand_while_workers_make_them(wb: Workbench) -> None:
    run = waiting(wb, lambda ctx: [ctx.wait_for_event("go")])
    wb.runtime.start()
    try:
        refused(
            wb,
            RuntimeIsRunning,
            "wb.runtime is running and makes the turns; call wb.runtime.shutdown() to step by hand",
            run.turn,
        )
    finally:
        wb.runtime.shutdown()


def test_a_name_taken_by_another_module_and_a_reserved_one_are_refused(wb: Workbench) -> None:
    def other(ctx: object, value: object) -> None: ...

    other.__module__ = "elsewhere"
    wb.orchestration("flow")(flow)
    refused(
        wb,
        RegistrationConflict,
        f"orchestration 'flow' version 1.0.0 is registered by module {__name__!r}; "
        "module 'elsewhere' must take another name",
        lambda: wb.orchestration("flow")(other),
    )
    refused(
        wb,
        RegistrationConflict,
        "activity name '__duroxide_syscall:new_guid' uses reserved prefix '__duroxide_syscall:'",
        lambda: wb.activity("__duroxide_syscall:new_guid")(other),
    )
    refused(
        wb,
        RegistrationConflict,
        "a version is three numbers such as '1.0.0', not 'two'",
        lambda: wb.orchestration("flow", version="two")(flow),
    )


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("an instance id", lambda wb: wb.start(flow, 1, instance_id=7)),
        ("an instance id", lambda wb: wb.run(7)),
        ("an instance id", lambda wb: wb.client.cancel_instance(7)),
        ("an instance id", lambda wb: wb.client.start_orchestration(7, "flow")),
        ("the name of an orchestration", lambda wb: wb.client.start_orchestration("a", 7)),
        ("a version", lambda wb: wb.client.start_orchestration_versioned("a", "flow", 1, 7)),
        ("an event name", lambda wb: wb.client.raise_event("one", 7)),
        ("a queue name", lambda wb: wb.client.enqueue_event("one", 7)),
        ("a reason", lambda wb: wb.client.cancel_instance("one", 7)),
        ("the message", lambda wb: wb.run("one").fail(3, 7)),
        ("the name of an activity", lambda wb: wb.activity(7)(flow)),
        ("the name of an orchestration", lambda wb: wb.orchestration(7)(flow)),
    ],
)
def test_what_is_to_be_a_text_is_one(wb: Workbench, what: str, call: Callable[[Workbench], object]) -> None:
    wb.orchestration(flow)
    wb.start(flow, 1, instance_id="one").turn()
    refused(wb, NotText, f"{what} is a text, not int 7", lambda: call(wb))


def test_bytes_are_no_text(wb: Workbench) -> None:
    wb.orchestration(flow)
    wb.start(flow, 1, instance_id="one")
    refused(wb, NotText, "a reason is a text, not bytes b'x'", lambda: wb.client.cancel_instance("one", BYTES))


def test_a_version_is_a_text(wb: Workbench) -> None:
    text = "a version is three numbers such as '1.0.0', not 2"
    refused(wb, RegistrationConflict, text, lambda: wb.orchestration("Flow", version=TWO)(flow))


def test_only_functions_are_registered(wb: Workbench) -> None:
    text = "orchestration 'Flow' version 1.0.0 is registered with a function such as `def flow(ctx, input)`, not int 5"
    refused(wb, NotAFunction, text, lambda: wb.orchestration("Flow")(FIVE))
    text = "activity 'Work' is registered with a function such as `def flow(ctx, input)`, not the class <class 'dict'>"
    refused(wb, NotAFunction, text, lambda: wb.activity("Work")(dict))


def test_an_instance_without_a_turn_has_no_history(wb: Workbench) -> None:
    wb.orchestration(flow)
    run = wb.start(flow, 1, instance_id="one")
    text = "instance 'one' has made no turn yet, so there is no history; make one with run.turn(), or start the runtime"
    refused(wb, NoTurnYet, text, lambda: run.history)
    refused(wb, NoTurnYet, text, run.recording)


def test_replay_takes_functions_and_the_two_models(wb: Workbench) -> None:
    wb.orchestration(flow)
    run = wb.start(flow, 1, instance_id="one")
    run.turn()
    recording = run.recording()
    text = "the code to replay is an orchestration function such as `def flow(ctx, input)`, not str 'flow'"
    refused(wb, NotAFunction, text, lambda: recording.replay(NAME))
    for call in (recording.replay, lambda code, kv_model: check(recording, code, kv_model=kv_model)):
        with pytest.raises(ValueError, match=r"^kv_model is 'delta' or 'per-turn', not 'per_turn'$"):
            call(flow, kv_model=NO_MODEL)


@pytest.mark.parametrize("address", [None, 1.4, True])
def test_an_address_is_a_text_or_a_number(wb: Workbench, address: Any) -> None:
    wb.orchestration(flow)
    run = wb.start(flow, 1, instance_id="one")
    run.turn()
    with run.stepper() as stepper:
        stepper.goto(1)
        with pytest.raises(TypeError, match=r"^an address is a text such as '2', '1.2' or 'order-42@1.2.3', not "):
            stepper.goto(address)
        assert stepper.focus.address == "1.1"
