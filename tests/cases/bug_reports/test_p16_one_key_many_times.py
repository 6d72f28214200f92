"""P-16: the same keys set, cleared and set again inside one transaction, beside a reader of an older snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cases.bug_reports.living import Host, living
from tests.specification.running import values
from tests.store.turns import LOCK_MS, Operation, claim_one, clears, clears_all, run_turn, sets, turn_of, wake
from workbench import DuckDBProvider, Limits
from workbench.runtime import kv
from workbench.runtime.errors import CommitFailed
from workbench.runtime.kv import DELTA, PER_TURN, KVModel

MANY = [f"key-{number:02}" for number in range(50)]
ROOMY = Limits(kv_keys=len(MANY))
TOO_LARGE_FOR_A_COLUMN = 2**70


@pytest.fixture(params=[DELTA, PER_TURN])
def kv_model(request: pytest.FixtureRequest) -> KVModel:
    """Both models, one after the other."""
    model: KVModel = request.param
    return model


@contextmanager
def older_snapshot(provider: DuckDBProvider) -> Iterator[None]:
    """A read transaction that stays open, and sees at its end what it saw at its beginning."""
    tables = "SELECT 'store', instance_id, key, value FROM kv_store ORDER BY ALL"
    with provider._store.reading() as cursor:
        before = cursor.execute(tables).fetchall()
        yield
        assert cursor.execute(tables).fetchall() == before


def many_times(ctx: Any, execution: int) -> Any:
    """Execution 1 leaves all keys; 2 rewrites them in its first turn; each ends in a turn that changes them again."""
    for round_ in ("first", "second"):
        ctx.clear_all_kv_values()
        for key in MANY:
            ctx.set_kv_value(key, f"{round_} of {execution}")
    ctx.set_kv_value(MANY[0], "set")
    ctx.clear_kv_value(MANY[0])
    ctx.set_kv_value(MANY[0], f"set again in {execution}")
    if execution == 2:
        yield ctx.wait_for_event("go")
        ctx.clear_kv_value(MANY[1])
        ctx.set_kv_value(MANY[1], "in the last turn")
        ctx.set_kv_value(MANY[2], "gone in the last turn")
        ctx.clear_kv_value(MANY[2])
        return len(ctx.get_kv_all_values())
    yield ctx.continue_as_new(execution + 1)


def after(execution: int) -> dict[str, str]:
    """What the keys hold then."""
    return dict.fromkeys(MANY, f"second of {execution}") | {MANY[0]: f"set again in {execution}"}


@pytest.mark.parametrize("way", ["cold", "restarted"])
def test_set_clear_and_set_in_one_turn_over_executions_and_at_the_end(
    way: Any, tmp_path: Path, kv_model: KVModel
) -> None:
    with living(way, tmp_path, kv_model, ROOMY) as host:
        host.start(many_times, 1)
        for execution in (1, 2):
            turn_beside_a_reader(host)
            assert host.client.get_kv_all_values("i") == after(execution)
        host.client.raise_event("i", "go")
        turn_beside_a_reader(host)
        last = after(2) | {MANY[1]: "in the last turn"}
        del last[MANY[2]]
        assert host.output() == len(MANY) - 1
        assert host.client.get_kv_all_values("i") == last
        tables = host.provider.get_kv_tables("i")
        assert (values(tables.store), values(tables.delta)) == (last, {})


def turn_beside_a_reader(host: Host) -> None:
    """One turn while somebody reads; a store that is opened again has no readers."""
    if host.way == "restarted":
        host.turn()
        return
    with older_snapshot(host.provider):
        host.turn()


@pytest.fixture
def provider(kv_model: KVModel) -> Iterator[DuckDBProvider]:
    """A store in memory."""
    made = DuckDBProvider(kv_model=kv_model)
    yield made
    made.close()


@pytest.mark.parametrize("status", ["Running", "Completed", "Failed", "ContinuedAsNew"])
@pytest.mark.parametrize(
    ("operations", "left"),
    [
        ((sets("k", "1"), clears("k"), sets("k", "2")), {"k": "2"}),
        ((clears("k"), sets("k", "1"), clears("k")), {}),
        ((sets("k", "1"), sets("k", "2"), sets("k", "3")), {"k": "3"}),
        ((clears_all(), *(sets(key, "2") for key in MANY)), dict.fromkeys(MANY, "2")),
        ((sets("k", "1"), clears_all(), sets("k", "2"), clears_all()), {}),
        ((), {"k": "0", **dict.fromkeys(MANY, "0")}),
    ],
    ids=["set, clear, set", "clear, set, clear", "three sets", "clear all, set fifty", "cleared twice", "nothing"],
)
def test_one_turn_over_what_an_earlier_execution_left(
    provider: DuckDBProvider, operations: tuple[Operation, ...], left: dict[str, str], status: str
) -> None:
    earlier = [sets("k", "0"), *(sets(key, "0") for key in MANY)]
    run_turn(provider, "i", *earlier, status="ContinuedAsNew", now_ms=1)
    untouched = {} if any(kind == "KeyValuesCleared" for kind, _ in operations) else dict.fromkeys(MANY, "0")
    with older_snapshot(provider):
        run_turn(provider, "i", *operations, status=status, now_ms=2)
    assert provider.get_all_kv_values("i") == {**untouched, **left}


def test_a_batch_with_one_bad_turn_writes_all_the_others_whole(provider: DuckDBProvider) -> None:
    """The batch is rolled back and its turns are written one by one, each with its keys changed several times."""
    names = ["a", "b", "bad", "c"]
    for name in names:
        run_turn(provider, name, sets("k", "0"), sets("left", "0"), status="ContinuedAsNew", now_ms=1)
        wake(provider, name, 2)
    operations = (
        sets("k", "1"),
        clears("k"),
        sets("k", "2"),
        clears("left"),
        sets("new", "1"),
        clears_all(),
        sets("k", "3"),
    )
    turns = []
    for name in names:
        bad = (sets("huge", "1", TOO_LARGE_FOR_A_COLUMN),) if name == "bad" else ()
        turns.append(turn_of(claim_one(provider, name, 2), *operations, *bad, now_ms=2))
    with older_snapshot(provider), pytest.raises(CommitFailed) as failed:
        provider.commit(turns)
    assert list(failed.value.reasons) == ["bad"]
    for name in names:
        wanted = {"k": "0", "left": "0"} if name == "bad" else {"k": "3"}
        assert provider.get_all_kv_values(name) == wanted
        info = provider.instance(name)
        assert info is not None
        assert info.execution_id == (1 if name == "bad" else 2)


def random_flow(ctx: Any, turns: list[list[list[str]]]) -> Any:
    """What it is told, turn by turn; the last turn ends the instance."""
    for number, operations in enumerate(turns):
        if number:
            yield ctx.wait_for_event("go")
        for kind, key, value in operations:
            if kind == "set":
                ctx.set_kv_value(key, value)
            elif kind == "clear":
                ctx.clear_kv_value(key)
            else:
                ctx.clear_all_kv_values()
    return ctx.get_kv_all_values()


def test_thousands_of_random_operations_are_what_a_dict_holds_after_them(tmp_path: Path) -> None:
    """Through code, engine and store; the SQL alone is held to the pure functions in tests/store."""
    random = Random(16)
    plans = {f"i-{number}": plan(random) for number in range(60)}
    with living("warm", tmp_path, limits=ROOMY) as host:
        held: dict[str, dict[str, str]] = {name: {} for name in plans}
        for name, turns in plans.items():
            host.start(random_flow, turns, name)
        for number in range(5):
            with older_snapshot(host.provider):
                while host.work():
                    pass
            for name, turns in plans.items():
                applied(held[name], turns[number])
                assert host.client.get_kv_all_values(name) == held[name]
                if number < 4:
                    host.client.raise_event(name, "go")
        for name, state in held.items():
            assert host.output(name) == state
            tables = host.provider.get_kv_tables(name)
            assert (values(tables.store), values(tables.delta)) == (state, {})
    assert sum(len(operations) for turns in plans.values() for operations in turns) > 2_000


def plan(random: Random) -> list[list[list[str]]]:
    """Five turns of operations on few keys, so that they meet again and again."""
    kinds = ["set"] * 6 + ["clear"] * 3 + ["clear all"]
    return [
        [[random.choice(kinds), random.choice("abcé"), str(random.random())] for _ in range(random.randint(0, 16))]
        for _ in range(5)
    ]


def applied(held: dict[str, str], operations: list[list[str]]) -> None:
    """The same on a dict."""
    for kind, key, value in operations:
        if kind == "set":
            held[key] = value
        elif kind == "clear":
            held.pop(key, None)
        else:
            held.clear()


def test_the_tables_are_those_of_the_pure_functions_over_the_same_turns(provider: DuckDBProvider) -> None:
    turns = [
        ((sets("k", "1"), sets("k", "2"), clears("k")), "ContinuedAsNew"),
        ((sets("k", "3"), clears_all(), sets("j", "1"), sets("j", "2")), "Running"),
        ((clears("j"), sets("j", "3"), sets("k", "4")), "Completed"),
    ]
    tables = kv.Tables()
    for now_ms, (operations, status) in enumerate(turns, 1):
        wake(provider, "i", now_ms)
        turn = turn_of(claim_one(provider, "i", now_ms, LOCK_MS), *operations, now_ms=now_ms, status=status)
        assert provider.commit([turn]) == []
        tables = kv.apply_turn(provider.kv_model, tables, turn.events, status != "Running")
        assert provider.get_kv_tables("i") == tables
