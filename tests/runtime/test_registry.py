"""Names and versions of code, and whether it has changed."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from workbench.runtime.errors import RegistrationConflict, UnknownActivity, UnknownOrchestration
from workbench.runtime.fingerprint import fingerprint
from workbench.runtime.registry import Registry, version_order


def define(source: str, name: str = "flow", file: str = "<cell>", **names: Any) -> Callable[..., Any]:
    """A function from source, as a notebook cell makes it."""
    scope: dict[str, Any] = {"__name__": "__main__", **names}
    exec(compile(textwrap.dedent(source), file, "exec"), scope)  # noqa: S102
    function: Callable[..., Any] = scope[name]
    return function


FLOW = """
def flow(ctx, n):
    for name in ("a", "b"):
        yield ctx.schedule_activity(name, n + 1)
    return [x for x in (1, 2) if x in {1, 2, 3}]
"""


def test_a_fingerprint_stays_when_a_cell_is_run_again() -> None:
    assert fingerprint(define(FLOW)) == fingerprint(define(FLOW))


def test_a_fingerprint_knows_no_file_no_line_and_no_comment() -> None:
    moved = define("\n\n# a comment\n" + FLOW.replace("return", "# why\n    return"), file="/somewhere/flow.py")
    assert fingerprint(moved) == fingerprint(define(FLOW))


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    source = f"""
        import sys
        from workbench.runtime.fingerprint import fingerprint
        scope = {{}}
        exec(compile({FLOW!r}, "<cell>", "exec"), scope)
        print(fingerprint(scope["flow"]))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, check=True, env=None
    )
    assert run.stdout.strip() == fingerprint(define(FLOW))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"a"', '"c"'),
        ("n + 1", "n + 2"),
        ("n + 1", "n - 1"),
        ("{1, 2, 3}", "{1, 2, 4}"),
        ("schedule_activity", "schedule_timer"),
        ("(1, 2) if x", "(1, 2) if not x"),
        ("n + 1", "n + 1.0"),
        ("n + 1", "n + True"),
        ("yield ctx", "ctx"),
    ],
)
def test_a_fingerprint_changes_with_what_the_code_does(old: str, new: str) -> None:
    assert old in FLOW
    assert fingerprint(define(FLOW.replace(old, new))) != fingerprint(define(FLOW))


def test_a_fingerprint_changes_with_nested_code() -> None:
    nested = "def flow(ctx):\n    def inner():\n        return {0}\n    return inner()\n"
    assert fingerprint(define(nested.format(1))) != fingerprint(define(nested.format(2)))


def test_a_fingerprint_looks_through_decorators() -> None:
    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*arguments: Any) -> Any:
            return function(*arguments)

        return wrapper

    first, second = decorated(define(FLOW)), decorated(define(FLOW.replace("n + 1", "n + 2")))
    assert fingerprint(first) != fingerprint(second)
    assert fingerprint(first) == fingerprint(decorated(define(FLOW)))


def test_a_fingerprint_of_an_object_is_that_of_its_call() -> None:
    source = "class Flow:\n    def __call__(self, ctx, n):\n        return {0}\n"
    one, two = define(source.format(1), "Flow")(), define(source.format(2), "Flow")()
    assert fingerprint(one) != fingerprint(two)


def test_a_fingerprint_of_a_partial_is_that_of_its_function_and_arguments() -> None:
    one, two = define(FLOW), define(FLOW.replace("n + 1", "n + 2"))
    assert fingerprint(functools.partial(one, n=1)) == fingerprint(functools.partial(define(FLOW), n=1))
    assert fingerprint(functools.partial(one, n=1)) != fingerprint(functools.partial(two, n=1))
    assert fingerprint(functools.partial(one, n=1)) != fingerprint(functools.partial(one, n=2))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n=5", "n=6"),
        ("n=5", "n=5.0"),
        ("'a'", "'b'"),
        ("[1, 2]", "[2, 1]"),
        ("{'k': 1}", "{'k': 2}"),
        ("{'k': 1}", "{'l': 1}"),
        ("{3, 4}", "{3, 5}"),
        ("lambda x: x", "lambda x: x + 1"),
        ("[1, 2]", "[1, [2]]"),
    ],
)
def test_a_fingerprint_changes_with_a_default_argument(old: str, new: str) -> None:
    source = "def flow(ctx, n=5, *, s='a', many=[1, 2], names={'k': 1}, some={3, 4}, f=lambda x: x):\n    yield n\n"
    assert old in source
    assert fingerprint(define(source.replace(old, new))) != fingerprint(define(source))
    assert fingerprint(define(source)) == fingerprint(define(source))


CLOSURE = """
def make(rounds, step):
    def flow(ctx, _):
        for _ in range(rounds):
            yield ctx.schedule_activity(step(1))
        if rounds:
            yield from flow(ctx, _)
    return flow
flow = make(ROUNDS, lambda n: STEP)
"""


def closure(rounds: str, step: str) -> str:
    return fingerprint(define(CLOSURE.replace("ROUNDS", rounds).replace("STEP", step)))


def test_a_fingerprint_changes_with_what_the_code_closes_over() -> None:
    assert closure("5", "n") == closure("5", "n")
    assert closure("5", "n") != closure("6", "n")
    assert closure("5", "n") != closure("5", "n + 1")


def test_a_fingerprint_takes_another_object_by_its_type() -> None:
    """Its address is another in every process, and so may be its text."""
    assert closure("object()", "n") == closure("object()", "n")
    assert closure("object()", "n") != closure("Exception()", "n")


def test_a_fingerprint_comes_to_an_end_where_a_value_holds_itself() -> None:
    source = "held = []\nheld.append(held)\ndef flow(ctx, many=held):\n    yield many\n"
    assert fingerprint(define(source)) == fingerprint(define(source))


def test_a_name_that_is_bound_later_is_no_value_yet() -> None:
    source = "def make():\n    def flow(ctx):\n        yield later\n    return flow\n    later = 1\nflow = make()\n"
    assert fingerprint(define(source)) == fingerprint(define(source))


def test_registering_the_same_code_with_another_default_is_a_change() -> None:
    registry = Registry()
    source = "def flow(ctx, n=5):\n    yield n\n"
    assert registry.add_orchestration("Flow", define(source)) == "new"
    assert registry.add_orchestration("Flow", define(source)) == "same"
    assert registry.add_orchestration("Flow", define(source.replace("5", "6"))) == "changed"


# Registering.


def test_registering_says_whether_the_code_is_new_the_same_or_changed() -> None:
    registry = Registry()
    assert registry.add_orchestration("Flow", define(FLOW)) == "new"
    assert registry.add_orchestration("Flow", define(FLOW)) == "same"
    changed = define(FLOW.replace("n + 1", "n + 2"))
    assert registry.add_orchestration("Flow", changed) == "changed"
    assert registry.orchestration("Flow").function is changed
    assert registry.add_activity("Flow", define(FLOW)) == "new"
    assert registry.add_activity("Flow", changed) == "changed"


def test_another_module_may_not_take_a_name() -> None:
    registry = Registry()
    registry.add_orchestration("Flow", define(FLOW))
    other = define(FLOW, __name__="other")
    with pytest.raises(RegistrationConflict) as caught:
        registry.add_orchestration("Flow", other)
    assert str(caught.value) == (
        "orchestration 'Flow' version 1.0.0 is registered by module '__main__'; module 'other' must take another name"
    )
    registry.add_activity("Pay", define(FLOW))
    with pytest.raises(RegistrationConflict, match="activity 'Pay' is registered by module '__main__'"):
        registry.add_activity("Pay", other)
    assert registry.orchestration("Flow").function is not other


def test_without_a_version_the_highest_is_meant() -> None:
    registry = Registry()
    for version in ("1.9.0", "1.10.0", "1.2.0"):
        registry.add_orchestration("Flow", define(FLOW), version)
    assert registry.orchestration("Flow").version == "1.10.0"
    assert registry.orchestration("Flow", "1.2.0").version == "1.2.0"
    assert sorted(["1.10.0", "1.9.0"], key=version_order) == ["1.9.0", "1.10.0"]


def test_a_plain_registration_is_version_one() -> None:
    registry = Registry()
    registry.add_orchestration("Flow", define(FLOW))
    assert registry.orchestration("Flow").version == "1.0.0"


@pytest.mark.parametrize("version", ["", "1", "1.0", "1.0.0.0", "1.0.x", "v1.0.0", "1.0.-1", "1..0", "1.0.²", " 1.0.0"])
def test_a_version_is_three_numbers(version: str) -> None:
    with pytest.raises(RegistrationConflict) as caught:
        Registry().add_orchestration("Flow", define(FLOW), version)
    assert str(caught.value) == f"a version is three numbers such as '1.0.0', not {version!r}"


def test_names_of_system_activities_are_reserved() -> None:
    with pytest.raises(RegistrationConflict) as caught:
        Registry().add_activity("__duroxide_syscall:new_guid", define(FLOW))
    assert str(caught.value) == (
        "activity name '__duroxide_syscall:new_guid' uses reserved prefix '__duroxide_syscall:'"
    )


def test_what_is_not_registered_is_named_with_what_is() -> None:
    registry = Registry()
    registry.add_orchestration("Flow", define(FLOW), "1.2.0")
    registry.add_orchestration("Flow", define(FLOW), "1.10.0")
    registry.add_activity("Pay", define(FLOW))
    with pytest.raises(UnknownOrchestration, match="no orchestration 'Flwo' is registered; registered: 'Flow'"):
        registry.orchestration("Flwo")
    with pytest.raises(UnknownOrchestration, match=r"version 3.0.0 .*registered: 'Flow 1.2.0', 'Flow 1.10.0'"):
        registry.orchestration("Flow", "3.0.0")
    with pytest.raises(UnknownActivity, match="no activity 'Pya' is registered; registered: 'Pay'"):
        registry.activity("Pya")
    assert registry.activity_names() == ("Pay",)


def test_a_function_knows_the_name_it_was_registered_under() -> None:
    registry = Registry()
    first, second = define(FLOW), define(FLOW)
    registry.add_orchestration("Flow", first, "1.0.0")
    registry.add_orchestration("Flow", first, "2.0.0")
    assert (registry.name_of(first).name, registry.name_of(first).version) == ("Flow", "2.0.0")
    with pytest.raises(UnknownOrchestration, match="no orchestration 'flow' is registered; registered: 'Flow'"):
        registry.name_of(second)
