"""Random lives of instances with keys, against plain dicts.

An orchestration does what messages tell it; the dispatcher makes turns, many in one batch. The model is two dicts an
instance: what its keys hold now, and what they held when its execution began. Beside it the pure functions are applied
to every turn that was committed, and the tables must be theirs, tombstones and times included.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from workbench import Client, DuckDBProvider, Limits, ManualClock
from workbench.runtime import kv, payload
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.messages import Message, QueueMessage, StartOrchestration
from workbench.runtime.provider import TurnCommit
from workbench.runtime.registry import Registry
from workbench.runtime.warm import WarmExecutions

STATUS_AFTER = {"": "Running", "complete": "Completed", "fail": "Failed", "continue": "ContinuedAsNew"}
IDS = ("a", "b", "c\0", "é")
KEYS = ("", "k", "K", "x\0y", "é", "e\u0301", "😀")
LIMITS = Limits(kv_keys=5, kv_value_bytes=8)
Held = dict[str, tuple[str, int]]
"""Keys with value and the time (ms) of the write."""
Operation = tuple[str, str, str]
"""`set`, `clear`, `clear all` or `prune`, with key and value where it has them."""

values = st.sampled_from(["", "1", "2", "null", "\0", "é😀"])
keys = st.sampled_from(KEYS)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("set"), keys, values),
        st.tuples(st.just("set"), keys, values),
        st.tuples(st.just("clear"), keys, st.just("")),
        st.just(("clear all", "", "")),
    ),
    max_size=6,
)
endings = st.sampled_from(["", "", "", "", "continue", "continue", "complete", "fail", "too large", "too many"])
ids = st.sampled_from(IDS)
Told = tuple[list[Operation], str]
"""What a message says: operations, and how to end after them, if at all."""
batches = st.dictionaries(ids, st.lists(st.tuples(operations, endings), min_size=1, max_size=3), min_size=1)


def obeys(ctx: Any, _: object) -> Any:
    """Does what it is told, message by message, and says what it read before and after."""
    while True:
        operations, ending = yield ctx.dequeue_event("do")
        before = ctx.get_kv_all_values()
        for kind, key, value in operations:
            if kind == "set":
                ctx.set_kv_value(key, value)
            elif kind == "clear":
                ctx.clear_kv_value(key)
            elif kind == "clear all":
                ctx.clear_all_kv_values()
            else:
                ctx.prune_kv_values_updated_before(int(value))
        ctx.set_custom_status(json.dumps([before, ctx.get_kv_all_values()]))
        if ending == "too large":
            ctx.set_kv_value("k", "x" * (LIMITS.kv_value_bytes + 1))
        elif ending == "too many":
            for number in range(LIMITS.kv_keys + 1):
                ctx.set_kv_value(f"surplus {number}", "")
        elif ending == "complete":
            return "done"
        elif ending == "fail":
            raise ValueError("told to")
        elif ending == "continue":
            yield ctx.continue_as_new(None)
        if ending:
            yield ctx.wait_for_event("never")


class Instance:
    """One instance in the model."""

    def __init__(self) -> None:
        self.status = "Running"
        self.executions = 0
        self.stored = 0
        self.begins = True
        self.waiting: list[Told] = []
        self.cancelled = False
        self.now: Held = {}
        self.at_start: Held = {}
        self.written_by: dict[str, int] = {}
        self.read: list[dict[str, str]] | None = None


class Recorded(DuckDBProvider):
    """A store that remembers the turns it has written."""

    def __init__(self, path: str | Path, kv_model: kv.KVModel) -> None:
        super().__init__(path, kv_model)
        self.written: list[TurnCommit] = []

    def commit(self, turns: Sequence[TurnCommit]) -> list[TurnCommit]:
        """Commit, and remember what was not refused."""
        refused = super().commit(turns)
        self.written += [turn for turn in turns if turn not in refused]
        return refused


class KVMachine(RuleBasedStateMachine):
    """The life of a store file."""

    kv_model: kv.KVModel = kv.DELTA
    sequences = 0
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).sequences += 1
        self.folder = tempfile.TemporaryDirectory()
        self.path: Path | None = None
        self.clock = ManualClock(1_000)
        self.model: dict[str, Instance] = {}
        self.tables: dict[str, kv.Tables] = {}
        self.warm: WarmExecutions | None = None
        self.touched: set[str] = set()

    @initialize(in_file=st.sampled_from([True, False, False, False]))
    def begin(self, in_file: bool) -> None:
        """A store in memory is one process's; in a file it outlives many."""
        self.path = Path(self.folder.name, "store.duckdb") if in_file else None
        self.open()

    def open(self) -> None:
        """A process begins: nothing but the file is left."""
        self.provider = Recorded(self.path or ":memory:", self.kv_model)
        self.registry = Registry()
        self.registry.add_orchestration("Obeys", obeys)
        self.client = Client(self.provider, self.clock)
        self.warm = WarmExecutions(2) if self.kv_model == kv.DELTA and self.warm is None else None
        self.dispatcher = Dispatcher(self.provider, self.registry, self.clock, LIMITS, warm=self.warm)

    def close(self) -> None:
        """A process ends."""
        if self.warm is not None:
            self.warm.drop()
        self.provider.close()

    # What happens.

    @rule(told=batches)
    def one_batch(self, told: dict[str, list[Told]]) -> None:
        """Messages for several instances, and a turn of each."""
        self.batch(told, set(), len(IDS))

    @rule(told=batches)
    def all_batches(self, told: dict[str, list[Told]]) -> None:
        """Messages for several instances, and turns until nothing is left to do."""
        self.batch(told, set(), len(IDS))
        self.all_turns()

    @rule(told=batches, cancelled=st.sets(ids, max_size=1), limit=st.sampled_from([1, 2, 32]))
    def batch(self, told: dict[str, list[Told]], cancelled: set[str], limit: int) -> None:
        """Messages for several instances, the first of which begins one; then turns of some of them."""
        for instance_id, messages in told.items():
            self.tell(instance_id, messages)
        for instance_id in cancelled & self.model.keys():
            self.client.cancel_instance(instance_id, "enough")
            self.model[instance_id].cancelled = True
        self.turns(limit)

    def tell(self, instance_id: str, messages: list[Told]) -> None:
        """Messages for one instance."""
        sent: list[Message] = []
        if instance_id not in self.model:
            self.model[instance_id] = Instance()
            sent.append(StartOrchestration(instance_id, "Obeys", "null"))
        for told, ending in messages:
            sent.append(QueueMessage(instance_id, "do", payload.dump("what to do", [told, ending])))
        self.provider.enqueue(sent, self.clock.now_ms())
        self.model[instance_id].waiting += messages

    @precondition(lambda self: self.kv_model == kv.DELTA)
    @rule(instance_id=ids, age_ms=st.integers(0, 3))
    def prune_keys(self, instance_id: str, age_ms: int) -> None:
        """Not in the per-turn model, whose replays see other ages than the turn did."""
        self.tell(instance_id, [([("prune", "", str(self.clock.now_ms() - age_ms))], "")])

    def turns(self, limit: int) -> None:
        """One batch."""
        self.clock.advance(1)
        self.provider.written.clear()
        self.dispatcher.make_turns(limit)
        self.look_at_what_was_written()

    def all_turns(self) -> None:
        """Batches until nothing is left to do."""
        self.clock.advance(1)
        self.provider.written.clear()
        while self.dispatcher.make_turns(32):
            pass
        self.look_at_what_was_written()

    @precondition(lambda self: self.model)
    @rule(position=st.integers(0, 3), keep_last=st.one_of(st.none(), st.integers(1, 3)))
    def prune(self, position: int, keep_last: int | None) -> None:
        """Delete executions that have ended."""
        instance_id, instance = self.chosen(position)
        if instance.executions == 0:
            return
        pruned = self.client.prune_executions(instance_id, keep_last)
        assert len(pruned) == max(0, instance.stored - (keep_last or 1))
        instance.stored -= len(pruned)
        if self.kv_model == kv.PER_TURN:
            gone = [key for key, by in instance.written_by.items() if by in pruned]
            for key in gone:
                del instance.now[key], instance.written_by[key]
            self.tables[instance_id] = kv.prune_per_turn(self.tables[instance_id], pruned)

    @precondition(lambda self: self.model)
    @rule(position=st.integers(0, 3))
    def delete(self, position: int) -> None:
        """Delete an instance; it may begin anew."""
        instance_id, _ = self.chosen(position)
        del self.model[instance_id]
        self.client.delete_instance(instance_id, force=True)
        self.tables.pop(instance_id, None)

    @precondition(lambda self: self.model)
    @rule(position=st.integers(0, 3), keep=st.booleans())
    def restart(self, position: int, keep: bool) -> None:
        """Another execution for an instance that failed."""
        failed = [name for name, each in sorted(self.model.items()) if each.status == "Failed" and not each.begins]
        if not failed:
            return
        instance_id = failed[position % len(failed)]
        instance = self.model[instance_id]
        if instance.waiting or instance.cancelled:
            self.all_turns()  # what came after the end is gone by now
        self.touched.add(instance_id)
        self.client.restart_instance(instance_id, "keep" if keep else "clear")
        instance.begins = True
        if not keep:
            instance.now, instance.at_start, instance.written_by = {}, {}, {}
            self.tables[instance_id] = kv.Tables()

    def chosen(self, position: int) -> tuple[str, Instance]:
        """One of the instances that there are."""
        instance_id = sorted(self.model)[position % len(self.model)]
        self.touched.add(instance_id)
        return instance_id, self.model[instance_id]

    @precondition(lambda self: self.path is not None)
    @rule()
    def another_process(self) -> None:
        """Close the file and open it again; executions are kept warm in every other process."""
        self.close()
        self.open()
        self.touched.update(IDS)

    # What must be.

    def look_at_what_was_written(self) -> None:
        """Apply each turn that was committed to the model, and to the pure functions."""
        for turn in self.provider.written:
            name = turn.claim.instance_id
            self.touched.add(name)
            self.model_turn(self.model[name], turn)
            if turn.events:
                before = self.tables.get(name, kv.Tables())
                self.tables[name] = kv.apply_turn(self.kv_model, before, turn.events, turn.status != "Running")

    def model_turn(self, instance: Instance, turn: TurnCommit) -> None:
        """The next turn of an instance."""
        if not instance.begins and instance.status != "Running":
            instance.waiting, instance.cancelled = [], False
            assert turn.events == ()
            return
        type(self).steps += 1
        if instance.begins:
            instance.begins = False
            instance.executions += 1
            instance.stored += 1
            instance.at_start = dict(instance.now)
        before, written_before = dict(instance.now), dict(instance.written_by)
        ending = ""
        while instance.waiting and ending == "":
            told, ending = instance.waiting.pop(0)
            reading = _texts(instance.now)
            for each in told:
                self.model_operation(instance, each, turn.now_ms)
            instance.read = [reading, _texts(instance.now)]
        refused = ending.startswith("too ") or len(instance.now) > LIMITS.kv_keys
        if refused:
            instance.now, instance.written_by, ending = before, written_before, "fail"
            instance.read = None
        if instance.cancelled:
            instance.cancelled, ending = False, "fail"
        instance.status = STATUS_AFTER[ending]
        assert (turn.status, turn.refused, turn.execution_id) == (instance.status, refused, instance.executions)
        if instance.status == "ContinuedAsNew":
            instance.begins = True
        elif instance.status != "Running":
            instance.waiting = []
        if instance.status != "Running":
            instance.at_start = dict(instance.now)

    def model_operation(self, instance: Instance, operation: Operation, now_ms: int) -> None:
        """One KV operation on a dict."""
        kind, key, value = operation
        if kind == "set":
            instance.now[key] = (value, now_ms)
            instance.written_by[key] = instance.executions
            return
        gone = {
            "clear": [key],
            "clear all": list(instance.now),
            "prune": [each for each, (_, at_ms) in instance.now.items() if at_ms < int(value or 0)],
        }[kind]
        for each in gone:
            instance.now.pop(each, None)
            instance.written_by.pop(each, None)

    @invariant()
    def tables_are_those_of_the_pure_functions(self) -> None:
        """Both tables of every instance that something was done to, and what is read of it."""
        touched, self.touched = self.touched, set()
        for name in sorted(touched):
            tables = self.tables.get(name, kv.Tables())
            assert self.provider.get_kv_tables(name) == tables
            self.reads_are_those_of_the_dicts(name, tables)

    def reads_are_those_of_the_dicts(self, name: str, tables: kv.Tables) -> None:
        """Client view and snapshot, in key order, the same in SQL, by the pure functions, and in plain dicts."""
        instance = self.model.get(name) or Instance()
        wanted = sorted(_texts(instance.now).items())
        assert list(self.client.get_kv_all_values(name).items()) == wanted
        assert [(key, row.value) for key, row in kv.client_view(tables).items()] == wanted
        key = KEYS[(self.clock.now_ms()) % len(KEYS)]
        assert self.client.get_kv_value(name, key) == instance.now.get(key, (None, 0))[0]
        seed = instance.now if self.kv_model == kv.PER_TURN else instance.at_start
        assert _held(self.provider.get_kv_snapshot(name)) == _held(kv.snapshot(tables)) == seed
        if instance.read is not None:
            assert json.loads(self.client.get_status(name).custom_status or "") == instance.read

    def teardown(self) -> None:
        """The histories that are stored come to the same."""
        if hasattr(self, "provider"):
            self.touched.update(IDS)
            self.tables_are_those_of_the_pure_functions()
            assert self.provider.verify() == []
            self.close()
        self.folder.cleanup()


class PerTurnMachine(KVMachine):
    """The same with the per-turn model."""

    kv_model = kv.PER_TURN
    sequences = 0
    steps = 0


def _texts(held: Held) -> dict[str, str]:
    return {key: value for key, (value, _) in held.items()}


def _held(snapshot: Mapping[str, kv.Entry]) -> Held:
    return {key: (str(row.value), row.last_updated_at_ms) for key, row in snapshot.items()}
