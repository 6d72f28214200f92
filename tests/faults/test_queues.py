"""The queues and locks of the store against a plain list, over random claims, renewals, expiries and commits."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.faults.conftest import Tell, sized
from tests.faults.test_models import run
from tests.store.turns import nudge, start, turn_of
from workbench import DuckDBProvider
from workbench.runtime.errors import LockLost
from workbench.runtime.messages import ActivityCompleted, ActivityExecute, Message
from workbench.runtime.provider import ActivityClaim, Claim

IDS = ("a", "b", "c")


class Row:
    """A message, or an activity, in a queue."""

    def __init__(self, number: int, target: str, item: Message, visible_ms: int) -> None:
        self.number, self.target, self.item, self.visible_ms = number, target, item, visible_ms
        self.attempts = 0
        self.token: str | None = None
        self.until_ms = 0


class QueueMachine(RuleBasedStateMachine):
    """One store in memory and a clock that is moved by hand."""

    sequences = 0
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).sequences += 1
        self.provider = DuckDBProvider()
        self.now_ms = 0
        self.count = 0
        self.messages: list[Row] = []
        self.activities: list[Row] = []
        self.stored: set[str] = set()
        self.locks: dict[str, tuple[str, int, int]] = {}
        self.claims: list[Claim] = []
        self.activity_claims: list[ActivityClaim] = []

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.provider.close()

    @rule(ms=st.integers(1, 60))
    def time_passes(self, ms: int) -> None:
        """Locks of 50 ms expire, delayed messages become visible."""
        self.now_ms += ms

    @rule(name=st.sampled_from(IDS), begins=st.booleans(), delay_ms=st.sampled_from([0, 0, 30]))
    def send(self, name: str, begins: bool, delay_ms: int) -> None:
        """A message for an instance that may not be there."""
        item: Message = start(name) if begins else nudge(name, str(self.count))
        self.provider.enqueue([item], self.now_ms, self.now_ms + delay_ms)
        self.add(name, item, self.now_ms + delay_ms)

    def add(self, target: str, item: Message, visible_ms: int) -> None:
        """The same in the model."""
        self.count += 1
        rows = self.activities if isinstance(item, ActivityExecute) else self.messages
        rows.append(Row(self.count, target, item, visible_ms))

    @rule(limit=st.integers(1, 3), only=st.sampled_from([None, None, *IDS]))
    def claim(self, limit: int, only: str | None) -> None:
        """Ready instances, the one with the oldest message first, with all that is visible for them."""
        type(self).steps += 1
        ready: dict[str, list[Row]] = {}
        for row in self.messages:
            if row.visible_ms <= self.now_ms and only in (None, row.target):
                ready.setdefault(row.target, []).append(row)
        wanted = [
            (name, rows)
            for name, rows in ready.items()
            if self.locks.get(name, ("", 0, 0))[2] <= self.now_ms
            and (name in self.stored or any(type(row.item).__name__ == "StartOrchestration" for row in rows))
        ][:limit]
        claims = self.provider.claim(limit, self.now_ms, 50, only)
        assert [claim.instance_id for claim in claims] == [name for name, _ in wanted]
        for claim, (name, rows) in zip(claims, wanted, strict=True):
            assert claim.messages == tuple(row.item for row in rows)
            assert claim.attempt_count == 1 + max(row.attempts for row in rows)
            self.locks[name] = (claim.lock_token, self.now_ms, self.now_ms + 50)
            for row in rows:
                row.token, row.attempts = claim.lock_token, row.attempts + 1
        self.claims += claims

    def holds(self, claim: Claim) -> bool:
        """Whether its lock is in the table, expired or not."""
        return self.locks.get(claim.instance_id, ("", 0, 0))[0] == claim.lock_token

    def is_held(self, claim: Claim) -> bool:
        """Whether its lock is there and has not expired."""
        return self.holds(claim) and self.now_ms < self.locks[claim.instance_id][2]

    @rule(which=st.integers(0, 9))
    def renew(self, which: int) -> None:
        """Any claim that was ever made."""
        if not self.claims:
            return
        claim = self.claims[which % len(self.claims)]
        if not self.is_held(claim):
            with pytest.raises(LockLost):
                self.provider.renew(claim, self.now_ms, 50)
            return
        self.provider.renew(claim, self.now_ms, 50)
        self.locks[claim.instance_id] = (claim.lock_token, self.now_ms, self.now_ms + 50)

    @rule(which=st.integers(0, 9), delay_ms=st.sampled_from([0, 20]), keep=st.booleans())
    def abandon(self, which: int, delay_ms: int, keep: bool) -> None:
        """Any claim that was ever made."""
        if not self.claims:
            return
        claim = self.claims[which % len(self.claims)]
        if not self.holds(claim):
            with pytest.raises(LockLost):
                self.provider.abandon(claim, delay_ms, keep_attempt=keep)
            return
        self.provider.abandon(claim, delay_ms, keep_attempt=keep)
        _, locked_ms, _ = self.locks.pop(claim.instance_id)
        for row in self.messages:
            if row.token == claim.lock_token:
                row.token = None
                row.attempts -= not keep
                if delay_ms:
                    row.visible_ms = locked_ms + delay_ms

    @rule(sends=st.sampled_from([None, *IDS]), works=st.booleans())
    def commit(self, sends: str | None, works: bool) -> None:
        """The latest claim of each instance, in one batch; those whose lock was lost are refused."""
        type(self).steps += 1
        latest = {claim.instance_id: claim for claim in self.claims}
        made = []
        for name, claim in latest.items():
            work = [ActivityExecute(name, claim.execution_id or 1, 10 * self.count + 1, "Echo", "")] if works else []
            sent = [nudge(sends, str(self.count))] if sends else []
            made.append(turn_of(claim, now_ms=self.now_ms, messages=sent, activities=work))
        refused = self.provider.commit(made)
        assert refused == [turn for turn in made if not self.is_held(turn.claim)]
        written = [turn for turn in made if turn not in refused]
        for turn in written:
            del self.locks[turn.claim.instance_id]
            self.stored.add(turn.claim.instance_id)
            self.messages = [row for row in self.messages if row.token != turn.claim.lock_token]
        for turn in written:
            for item in (*turn.activities, *turn.messages):
                self.add(item.target if item in turn.messages else turn.claim.instance_id, item, self.now_ms)

    @rule(limit=st.integers(1, 3))
    def claim_activities(self, limit: int) -> None:
        """Visible activities that nobody holds, oldest first."""
        free = [row for row in self.activities if row.visible_ms <= self.now_ms and row.until_ms <= self.now_ms][:limit]
        claims = self.provider.claim_activities(limit, self.now_ms, 50)
        assert [claim.work for claim in claims] == [row.item for row in free]
        for claim, row in zip(claims, free, strict=True):
            row.token, row.until_ms, row.attempts = claim.lock_token, self.now_ms + 50, row.attempts + 1
            assert claim.attempt_count == row.attempts
        self.activity_claims += claims

    @rule(which=st.integers(0, 9))
    def complete(self, which: int) -> None:
        """Any activity that was ever claimed, and the one claimed last, in one call."""
        if not self.activity_claims:
            return
        claims = self.activity_claims
        chosen = {each.lock_token: each for each in (claims[which % len(claims)], claims[-1])}
        done = [(each, ActivityCompleted(each.work.instance, 1, each.work.id, "1")) for each in chosen.values()]
        held = {row.token for row in self.activities if self.now_ms < row.until_ms}
        lost = self.provider.complete_activities(done, self.now_ms)
        assert lost == [each for each, _ in done if each.lock_token not in held]
        for each, outcome in done:
            if each.lock_token in held:
                self.activities = [row for row in self.activities if row.token != each.lock_token]
                self.add(each.work.instance, outcome, self.now_ms)

    @rule(which=st.integers(0, 9), keep=st.booleans())
    def give_activity_back(self, which: int, keep: bool) -> None:
        """Any activity that was ever claimed; nothing happens if it is no longer ours."""
        if not self.activity_claims:
            return
        claim = self.activity_claims[which % len(self.activity_claims)]
        self.provider.abandon_activity(claim, self.now_ms + 10, keep_attempt=keep)
        for row in self.activities:
            if row.token == claim.lock_token:
                row.token, row.until_ms, row.visible_ms = None, 0, self.now_ms + 10
                row.attempts -= not keep

    @invariant()
    def what_waits_is_what_the_lists_hold(self) -> None:
        """Both queues, in order, and the time at which something can next be claimed."""
        for name in IDS:
            assert self.provider.pending_messages(name) == [row.item for row in self.messages if row.target == name]
            assert self.provider.pending_activities(name) == [row.item for row in self.activities if row.target == name]
        due = [
            max(min(row.visible_ms for row in rows), self.locks.get(name, ("", 0, 0))[2] if name in self.locks else 0)
            for name in IDS
            if (rows := self.can_begin(name))
        ]
        assert self.provider.next_visible_ms() == min(due, default=None)

    def can_begin(self, name: str) -> list[Row]:
        """The messages that can make an instance ready."""
        rows = [row for row in self.messages if row.target == name]
        return rows if name in self.stored else [row for row in rows if type(row.item).__name__ == "StartOrchestration"]


@sized(6, 1_000)
def test_queues_and_locks_are_those_of_a_list(count: int, tell: Tell, request: pytest.FixtureRequest) -> None:
    QueueMachine.sequences = QueueMachine.steps = 0
    run(QueueMachine, count, bool(request.config.getoption("--long")))
    machine = QueueMachine
    tell("queues and locks", machine.sequences, machine.sequences, f"{machine.steps:,} claims and commits")
    assert QueueMachine.steps > count
