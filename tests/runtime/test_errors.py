"""Every error is drawn in the tree, derives from `WorkbenchError`, and says what, where and what to do."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from workbench.runtime import errors
from workbench.runtime.errors import StoreError, WorkbenchError

EXAMPLES: list[tuple[WorkbenchError, str]] = [
    (errors.UnknownInstance("i"), "there is no instance 'i'; instances here: none"),
    (
        errors.UnknownInstance("i", tuple(f"n{number}" for number in range(10))),
        "there is no instance 'i'; instances here: 'n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7' and 2 more",
    ),
    (
        errors.UnknownOrchestration("F", None, ("G",)),
        "no orchestration 'F' is registered; registered: 'G'. Register it with @wb.orchestration",
    ),
    (
        errors.UnknownOrchestration("F", "2.0.0", ("F 1.0.0",)),
        "no orchestration 'F' version 2.0.0 is registered; registered: 'F 1.0.0'. Register it with @wb.orchestration",
    ),
    (
        errors.UnknownActivity("A", (), "run.complete(3, result)"),
        (
            "no activity 'A' is registered; registered: none. Register it with @wb.activity, or give its result with "
            "run.complete(3, result)"
        ),
    ),
    (
        errors.InstanceExists("i"),
        "instance 'i' exists; choose another instance_id, or pass replace=True to delete it first",
    ),
    (
        errors.InstanceRunning("i", ("i", "i::sub::2")),
        "instance 'i' is not deleted; still running: 'i', 'i::sub::2'. Cancel it first, or pass force=True",
    ),
    (errors.KVDecodeError("k", "Expected `int`"), "the value of key 'k' cannot be read as asked: Expected `int`"),
    (
        errors.NotJSON("the result", "set", "$.a"),
        "the result is stored as JSON, and set at $.a has no JSON form",
    ),
    (
        errors.NotStorable("a key", "ab\ud800"),
        "a key cannot be stored as UTF-8: its character 3 is the lone surrogate U+D800",
    ),
    (
        errors.DidNotComeBack("i", 3, 10_000, "flow, line 4 (flow.py:12)"),
        (
            "instance 'i', turn 3: the code did not come back within 10000 ms; it was at flow, line 4 (flow.py:12). "
            "Nothing of this turn was recorded. Let every turn end (wait with ctx.schedule_timer, do slow work in an "
            "activity), or switch the watchdog off with deadline_ms=None"
        ),
    ),
    (
        errors.TurnInsideItself("i"),
        (
            "a turn of instance 'i' is being made on this thread, so its own activity cannot make another; return, "
            "and the next turn is made by whoever made this one"
        ),
    ),
    (
        errors.ChangedInsideTurn("flows.duckdb"),
        (
            "the store flows.duckdb cannot be changed from inside an orchestration, as every replay would do it "
            "again; use what the context has (ctx.start_orchestration …), or do it in an activity (ctx.get_client() "
            "there)"
        ),
    ),
    (
        errors.LockLost("i"),
        "the lock on instance 'i' was lost; its turn was not committed and is made again",
    ),
    (
        errors.DamagedHistory("i", 2, "event 5", "no JSON"),
        "the history of 'i', execution 2, is damaged at event 5: no JSON",
    ),
]


@pytest.mark.parametrize(("error", "text"), EXAMPLES, ids=lambda each: type(each).__name__)
def test_an_error_is_told_in_whole_sentences(error: WorkbenchError, text: str) -> None:
    assert str(error) == text


def classes() -> dict[str, type[BaseException]]:
    """Every error class of the module."""
    return {
        name: cls
        for name, cls in vars(errors).items()
        if isinstance(cls, type) and issubclass(cls, BaseException) and cls.__module__ == errors.__name__
    }


def drawn() -> dict[str, tuple[str, str | None]]:
    """The tree in the docstring: name to its parent and the builtin beside it."""
    tree: dict[str, tuple[str, str | None]] = {}
    for line in str(errors.__doc__).splitlines():
        found = re.match(r"    ( *)[├└]── (\w+)(?: +([A-Z]\w+Error))?", line)
        if found:
            parent = "StoreError" if found[1] else "WorkbenchError"
            tree[found[2]] = (parent, found[3])
    return tree


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    found = {}
    for name, cls in classes().items():
        if name in ("WorkbenchError", "ReplayStopped"):
            continue
        parent = "StoreError" if StoreError in cls.__bases__ else "WorkbenchError"
        builtins = [base.__name__ for base in cls.__bases__ if base.__module__ == "builtins"]
        found[name] = (parent, builtins[0] if builtins else None)
    assert drawn() == found


def test_every_error_but_the_stop_is_a_workbench_error() -> None:
    for name, cls in classes().items():
        assert issubclass(cls, WorkbenchError) == (name != "ReplayStopped")
    assert not issubclass(errors.ReplayStopped, Exception)


def built(cls: type[BaseException]) -> BaseException:
    """An error with an argument of the right type for every parameter."""
    values: dict[str, object] = {
        "str": "word",
        "int": 3,
        "bool": True,
        "tuple[str, ...]": ("one", "two"),
        "dict[str, str]": {"i": "why"},
        "str | Path": Path("folder/store.duckdb"),
        "str | None": None,
        "object": 7,
    }
    if "__init__" not in vars(cls):
        return cls("the message")
    parameters = list(inspect.signature(cls).parameters.values())
    given = ["half \ud800" if each.name == "text" else values[str(each.annotation)] for each in parameters]
    return cls(*given)


@pytest.mark.parametrize("name", [name for name in classes() if name != "ReplayStopped"])
def test_every_error_builds_a_readable_message(name: str) -> None:
    text = str(built(classes()[name]))
    assert len(text) > 10 or text == "the message"
    assert text[0].islower() or text[0].isdigit() or text.startswith("wb.") or "'" in text
    assert not text.endswith((".", "\n")) or "made again" in text
    for odd in ("{", "}", " None", "<", "object at", "\\", "  ", "; ;", ": ;"):
        assert odd not in text, odd
    assert "folder" not in text or name == "NoSuchFile"
