"""Turns without values: nothing of them is left, and signs and sizes are still those of the values."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from tests.views.making import started, typed
from workbench.recordings import Recording
from workbench.runtime.errors import InstanceWaiting
from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn
from workbench.views import changes, stepper, turn, words
from workbench.views.look import Look
from workbench.views.masked import Masked
from workbench.views.redaction import redacted

SECRET = "s3cr3t"  # noqa: S105 (it opens nothing)
CODE = """\
def flow(ctx, given):
    told = given
    ctx.set_kv_value("token", told)
    ctx.set_custom_status(told)
    ctx.get_kv_value("token")
    ctx.get_kv_all_values()
    ctx.schedule_activity("Lost", told)
    yield ctx.schedule_activity("Work", told)
    ctx.set_kv_value("token", told[::-1])
    yield ctx.schedule_timer(50)
    yield ctx.race(ctx.schedule_activity("Work2", told), ctx.wait_for_event("proceed"))
    heard = yield ctx.wait_for_event("again")
    got = yield ctx.dequeue_event("inbox")
    ctx.start_orchestration("Nobody", "child-" + told, told)
    raise ValueError(told + heard + got)
"""
Turns = tuple[Turn, ...]


@pytest.fixture(scope="module")
def recording() -> Recording:
    """A history with the secret in every place that a history has."""
    run = started(CODE, given=SECRET, instance_id=f"for-{SECRET}")
    moves: list[Callable[[], None]] = [
        lambda: run.raise_event("again", SECRET),
        lambda: run.enqueue_event("inbox", SECRET),
        lambda: run.cancel(SECRET),
    ]
    for move in moves:
        try:
            run.finish()
        except InstanceWaiting:
            move()
    run.finish()
    return run.recording()


VARIANTS: dict[str, Callable[[Recording], Turns]] = {
    "as recorded": lambda recording: recording.replay(typed(CODE), keep_locals=True).turns,
    "without code": lambda recording: recording.replay().turns,
    "the first design": lambda recording: recording.replay(typed(CODE), kv_model="per-turn", keep_locals=True).turns,
    "another value": lambda recording: changed(recording, '"token", told[::-1]', '"token", told + told'),
    "another activity": lambda recording: changed(recording, '"Work", told', '"Work", told + told'),
    "another key": lambda recording: changed(recording, '"token", told[::-1]', '"other", told[::-1]'),
    "removed": lambda recording: changed(recording, '    ctx.set_kv_value("token", told[::-1])\n', ""),
    "ended early": lambda recording: changed(recording, "    yield ctx.schedule_timer(50)\n", "    return told\n"),
    "strict": lambda recording: changed(recording, "set_custom_status(told)", "set_custom_status(told + told)"),
    "outcome": lambda recording: changed(recording, "raise ValueError(told", "raise KeyError(told"),
}


def changed(recording: Recording, old: str, new: str) -> Turns:
    assert old in CODE
    return recording.replay(typed(CODE.replace(old, new), "<now>"), keep_locals=True).turns


def everything(turns: list[Turn]) -> str:
    """All that any view shows of them."""
    shown = []
    for each in turns:
        shown += [turn.text(each), turn.html(each), repr(each), turn.frame(each).to_string()]
        shown += stepper.picture(turns, each, Look(each.address, key="token", every_key=True))
    return "\n".join(shown)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_value_is_left_in_anything_that_is_shown(recording: Recording, variant: str) -> None:
    turns = VARIANTS[variant](recording)
    assert SECRET in everything(list(turns))
    shown = everything(redacted(turns, "values"))
    assert SECRET not in shown
    assert SECRET[::-1] not in shown


def test_names_keys_and_code_stay(recording: Recording) -> None:
    shown = everything(redacted(VARIANTS["as recorded"](recording), "values"))
    for name in (
        "Flow",
        "token",
        "Work2",
        "proceed",
        "again",
        "inbox",
        "Nobody",
        "told",
        "schedule_timer",
        "timer of 50 ms",
    ):
        assert name in shown


def test_every_sign_and_size_is_that_of_the_values(recording: Recording) -> None:
    for variant in ("as recorded", "the first design"):
        turns = VARIANTS[variant](recording)
        for before, after in zip(turns, redacted(turns, "values"), strict=True):
            rows = zip(changes.key_changes(before), changes.key_changes(after), strict=True)
            assert [(one.sign, one.byte_count) for one, _ in rows] == [
                (other.sign, other.byte_count) for other in changes.key_changes(after)
            ]
            assert changes.badge(before) == changes.badge(after)
            assert changes.largest_value_bytes(before) == changes.largest_value_bytes(after)


def test_a_callable_decides_and_what_it_gives_back_is_shown() -> None:
    asked: dict[str, str] = {}

    def redact(name: str, value: str) -> str | None:
        asked[name] = value
        return value if name == "public" else None if name == "token" else "<hidden>"

    source = (
        "def flow(ctx, given):\n"
        '    ctx.set_kv_value("public", "seen")\n'
        '    ctx.set_kv_value("token", given)\n'
        '    yield ctx.schedule_activity("Work", given)\n'
    )
    run = started(source, given=SECRET)
    [made] = redacted([run.turn()], redact)
    text = turn.text(made)
    assert 'set public = "seen"' in text
    assert 'set token = "‹6 B›"' in text
    assert "activity Work(<hidden>)" in text
    assert asked["public"] == "seen"
    assert asked["token"] == SECRET
    assert asked["input"] == f'"{SECRET}"'
    assert asked["instance_id"] == "flow-1"


def test_what_is_shared_is_replaced_once(recording: Recording) -> None:
    turns = redacted(VARIANTS["as recorded"](recording), "values")
    assert turns[0].after is turns[1].before
    assert turns[-1].replayed.made is turns[1].replayed.made  # type: ignore[attr-defined]


def test_a_refused_turn_says_nothing_of_the_value_that_was_too_large() -> None:
    source = (
        'def flow(ctx, given):\n    ctx.set_kv_value("token", given)\n    yield ctx.schedule_activity("Work", given)\n'
    )
    run = started(source, given=SECRET, limits=Limits(kv_value_bytes=3))
    run.finish()
    assert SECRET not in everything(redacted(run.turns, "values"))
    assert redacted(run.turns, "values")[0].refused is not None


def test_a_masked_value_equals_only_what_hides_the_same() -> None:
    one, same, other = Masked("‹1 B›", "1"), Masked("x", "1"), Masked("‹1 B›", "2")
    assert one == same
    assert one != other
    assert one == "‹1 B›"
    assert len({one, same, other}) == 2
    assert words.byte_count(Masked("‹5 B›", "ä")) == 2


def test_a_value_does_not_leave_with_a_copy_of_what_hides_it() -> None:
    masked = Masked("‹6 B›", SECRET)
    for copied in (copy.copy(masked), copy.deepcopy(masked), pickle.loads(pickle.dumps(masked))):  # noqa: S301
        assert type(copied) is str
        assert SECRET not in repr(vars(copied) if hasattr(copied, "__dict__") else copied)
    assert SECRET not in repr(masked)
