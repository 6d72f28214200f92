"""The SQL of each KV model equals the pure functions in `workbench.runtime.kv`, over random sequences of turns.

Many instances live their own sequence at once: each step is one commit of some of their turns, with any mix of sets,
clears and clear-alls and any kind of boundary, or a pruning, a deletion. After each step both tables are compared
whole, and what is read of some instances; at the end what is read of all.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.store.turns import LOCK_MS, Operation, clears, clears_all, nudge, sets, start, turn_of
from workbench.runtime import kv
from workbench.runtime.messages import ContinueAsNew, Message
from workbench.store import DuckDBProvider

SEQUENCES = 25
STEPS = 12
KEYS = ("", "k", "K", "é", "e\u0301", "x\0y", "x\0z", "😀")
VALUES = ("", "1", "2", "null", "\0", "é😀")


class Model:
    """What the store must hold: tables by instance, made by the pure functions, and each instance's status."""

    def __init__(self, kv_model: kv.KVModel) -> None:
        self.kv_model = kv_model
        self.tables: dict[str, kv.Tables] = {}
        self.status: dict[str, str] = {}

    def rows(self, in_delta: bool) -> list[tuple[str, str, str | None, int, int]]:
        """All rows of one table, as the store's SQL would list them."""
        return sorted(
            (instance_id, key, entry.value, entry.last_updated_at_ms, entry.execution_id)
            for instance_id, tables in self.tables.items()
            for key, entry in (tables.delta if in_delta else tables.store).items()
        )


@pytest.mark.damages("instances that have ended get more turns, which no dispatcher makes")
@pytest.mark.parametrize("seed", range(8))
def test_sql_equals_the_pure_functions(provider: DuckDBProvider, seed: int) -> None:
    random = Random(seed)
    model = Model(provider.kv_model)
    instance_ids = [f"{number}\0{number % 7}" for number in range(SEQUENCES)]
    for now_ms in range(1, STEPS + 1):
        commit(provider, model, random.sample(instance_ids, random.randint(1, SEQUENCES)), random, now_ms)
        if random.random() < 0.3:
            prune(provider, model, random.choice(sorted(model.tables)))
        if random.random() < 0.2:
            delete(provider, model, random.choice(sorted(model.tables)))
        assert_tables(provider, model)
        for instance_id in random.sample(instance_ids, 2):
            assert_reads(provider, instance_id, model)
    for instance_id in instance_ids:
        assert_reads(provider, instance_id, model)


def commit(provider: DuckDBProvider, model: Model, instance_ids: list[str], random: Random, now_ms: int) -> None:
    """Make a turn of each instance in one batch, in the store and in the model."""
    provider.enqueue([waking(model, instance_id) for instance_id in instance_ids], now_ms)
    made = []
    for claim in provider.claim(SEQUENCES, now_ms, LOCK_MS):
        operations = [operation(random) for _ in range(random.randint(0, 8))]
        status = random.choice(["Running"] * 5 + ["ContinuedAsNew"] * 2 + ["Completed", "Failed"])
        made.append(turn_of(claim, *operations, now_ms=now_ms, status=status))
    assert [turn.claim.instance_id for turn in made] == instance_ids
    assert provider.commit(made) == []
    for turn in made:
        name = turn.claim.instance_id
        before = model.tables.get(name, kv.Tables())
        model.tables[name] = kv.apply_turn(model.kv_model, before, turn.events, turn.status != "Running")
        if model.status.get(name) not in ("Completed", "Failed"):
            model.status[name] = turn.status


def waking(model: Model, instance_id: str) -> Message:
    """The message that gives an instance its next turn."""
    if instance_id not in model.status:
        return start(instance_id)
    continued = model.status[instance_id] == "ContinuedAsNew"
    return ContinueAsNew(instance_id, "Flow", '""') if continued else nudge(instance_id)


def operation(random: Random) -> Operation:
    """A KV operation; keys are few, so that they meet again and again."""
    kind = random.random()
    if kind < 0.65:
        return sets(random.choice(KEYS), random.choice(VALUES), random.randint(0, 2**45))
    return clears(random.choice(KEYS)) if kind < 0.9 else clears_all()


def prune(provider: DuckDBProvider, model: Model, instance_id: str) -> None:
    """Prune all but the current execution, in the store and in the model."""
    pruned = provider.prune_executions(instance_id)
    if model.kv_model == kv.PER_TURN:
        model.tables[instance_id] = kv.prune_per_turn(model.tables[instance_id], pruned)


def delete(provider: DuckDBProvider, model: Model, instance_id: str) -> None:
    """Delete an instance, in the store and in the model; it may begin anew later."""
    provider.delete_instance(instance_id, force=True)
    del model.tables[instance_id], model.status[instance_id]


def assert_tables(provider: DuckDBProvider, model: Model) -> None:
    """Both tables whole."""
    if model.kv_model == kv.PER_TURN:
        _, store = provider.query("SELECT instance_id, key, value, last_updated_at_ms, execution_id FROM kv_store")
    else:
        _, store = provider.query("SELECT instance_id, key, value, last_updated_at_ms, 0 FROM kv_store")
        _, delta = provider.query("SELECT instance_id, key, value, last_updated_at_ms, 0 FROM kv_delta")
        assert sorted(delta) == model.rows(in_delta=True)
    assert sorted(store) == model.rows(in_delta=False)


def assert_reads(provider: DuckDBProvider, instance_id: str, model: Model) -> None:
    """Tables, snapshot and client reads of one instance, in order where order is promised."""
    tables = model.tables.get(instance_id, kv.Tables())
    assert provider.get_kv_tables(instance_id) == tables
    assert list(provider.get_kv_snapshot(instance_id).items()) == list(kv.snapshot(tables).items())
    view = kv.client_view(tables)
    assert list(provider.get_all_kv_values(instance_id).items()) == [(key, view[key].value) for key in view]
    for key in KEYS[::3]:
        assert provider.get_kv_value(instance_id, key) == (view[key].value if key in view else None)
