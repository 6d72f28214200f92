"""Commits: a turn is written whole or not at all, and one bad turn in a batch takes no other with it."""

from __future__ import annotations

import pytest

from tests.store.turns import LOCK_MS, claim_one, nudge, run_turn, schedules, sets, start, status, turn_of
from workbench.runtime import events as ev
from workbench.runtime.errors import CommitFailed, DamagedHistory
from workbench.runtime.messages import ActivityExecute, ContinueAsNew, TimerFired
from workbench.runtime.provider import Claim, ExecutionInfo, History, InstanceInfo, TurnCommit
from workbench.store import DuckDBProvider


def claims_of(provider: DuckDBProvider, *instance_ids: str) -> list[Claim]:
    """Start these instances and claim them for their first turn."""
    provider.enqueue([start(instance_id) for instance_id in instance_ids], 0)
    return provider.claim(len(instance_ids), 0, LOCK_MS)


def counts(provider: DuckDBProvider) -> dict[str, int]:
    """Rows of every table that a commit writes to."""
    tables = ("instances", "executions", "history", "orchestrator_queue", "worker_queue", "instance_locks", "kv_store")
    return {table: len(provider.query(f"SELECT 1 FROM {table}")[1]) for table in tables}


def test_a_turn_is_written_with_everything_it_made(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a", parent="p")], 1_000)
    claim = claim_one(provider, "a", 1_000)
    turn = turn_of(
        claim,
        sets("k", "1"),
        status("working"),
        schedules(),
        now_ms=1_000,
        parent="p",
        activities=[ActivityExecute("a", 1, 4, "Noop", "")],
        messages=[TimerFired("a", 1, 5, 9_000), nudge("b")],
    )
    assert provider.commit([turn]) == []
    assert provider.instance("a") == InstanceInfo(
        instance_id="a",
        orchestration="Flow",
        version="1.0.0",
        execution_id=1,
        status="Running",
        output=None,
        custom_status="working",
        custom_status_version=1,
        parent_instance="p",
        created_at_ms=1_000,
        updated_at_ms=1_000,
    )
    assert provider.executions("a") == [ExecutionInfo(1, "Running", None, 1_000, None, 4, 1)]
    assert provider.read_history("a", 1).events == turn.events
    assert provider.pending_activities("a") == [ActivityExecute("a", 1, 4, "Noop", "")]
    assert provider.pending_messages("a") == [TimerFired("a", 1, 5, 9_000)]
    assert provider.pending_messages("b") == [nudge("b")]
    assert provider.next_visible_ms("a") == 9_000
    assert provider.get_kv_value("a", "k") == "1"


def test_a_commit_takes_only_the_claimed_messages_and_frees_the_instance(provider: DuckDBProvider) -> None:
    [claim] = claims_of(provider, "a")
    provider.enqueue([nudge("a", "later")], 0)
    provider.commit([turn_of(claim)])
    assert claim_one(provider, "a").messages == (nudge("a", "later"),)


def test_the_stored_text_is_the_events_own_json(provider: DuckDBProvider) -> None:
    [claim] = claims_of(provider, "a")
    turn = turn_of(claim, sets("é", 'a"\n😀'))
    provider.commit([turn])
    assert provider.read_history("a", 1).texts == tuple(ev.encode_event(event) for event in turn.events)


def test_load_brings_the_current_history_with_its_turns(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), number=1)
    run_turn(provider, "a", number=2)
    run_turn(provider, "a", number=3, status="Failed", refused=True)
    provider.enqueue([nudge("a"), start("b")], 0)
    claims = provider.claim(2, 0, LOCK_MS)
    loaded = provider.load(claims)
    assert loaded[0].history.turns == (1, 1, 2, 3, 3)
    assert loaded[0].history.refused == {3}
    assert [event.event_id for event in loaded[0].history.events] == [1, 2, 3, 4, 5]
    assert loaded[1].history == History()
    assert provider.load([]) == []
    assert provider.load(list(reversed(claims))) == list(reversed(loaded))


def test_load_brings_no_history_when_the_messages_begin_the_next_execution(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), status="ContinuedAsNew")
    provider.enqueue([ContinueAsNew("a", "Flow", "2")], 0)
    [loaded] = provider.load([claim_one(provider, "a")])
    assert loaded.history == History()
    assert loaded.kv_snapshot["k"].value == "1"


@pytest.mark.damages("a history row is overwritten")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Input data was truncated"),
        ('{"event_id":2}', "missing required field `source_event_id`"),
        ("(another event's)", "its text says it is event 1"),
    ],
)
def test_a_history_row_that_cannot_be_read_is_named(provider: DuckDBProvider, text: str, reason: str) -> None:
    run_turn(provider, "a", sets("k", "1"))
    if text.startswith("("):
        text = provider.read_history("a", 1).texts[0]
    with provider._store.writing() as cursor:
        cursor.execute("UPDATE history SET event_data = ? WHERE event_id = 2", [text])
    with pytest.raises(DamagedHistory, match="'a', execution 1, is damaged at event 2: ") as caught:
        provider.read_history("a", 1)
    assert reason in caught.value.reason
    provider.enqueue([nudge("a")], 0)
    with pytest.raises(DamagedHistory):
        provider.load([claim_one(provider, "a")])


def test_an_ended_execution_keeps_output_and_time(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", now_ms=10)
    run_turn(provider, "a", now_ms=20, number=2, status="Completed", output="5")
    assert provider.executions("a") == [ExecutionInfo(1, "Completed", "5", 10, 20, 3, 2)]
    stored = provider.instance("a")
    assert stored is not None
    assert (stored.status, stored.output, stored.created_at_ms, stored.updated_at_ms) == ("Completed", "5", 10, 20)


def test_the_first_ending_of_an_execution_stays(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", status="Completed", output="5", now_ms=10)
    run_turn(provider, "a", status="Failed", output="too late", now_ms=20)
    [execution] = provider.executions("a")
    assert (execution.status, execution.output, execution.completed_at_ms) == ("Completed", "5", 10)


def test_a_batch_that_appends_no_event_only_loses_its_messages(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", status="Completed", output="5", now_ms=10)
    before = (provider.instance("a"), provider.read_history("a", 1))
    provider.enqueue([nudge("a")], 20)
    claim = claim_one(provider, "a", 20)
    nothing = TurnCommit(
        claim=claim, execution_id=1, turn=0, now_ms=20, events=(), status="Completed", orchestration="", version=""
    )
    assert provider.commit([nothing]) == []
    assert (provider.instance("a"), provider.read_history("a", 1)) == before
    assert provider.claim(1, 20, LOCK_MS) == []


def test_the_last_custom_status_of_a_commit_counts_once(provider: DuckDBProvider) -> None:
    def custom_status() -> tuple[str | None, int]:
        stored = provider.instance("a")
        assert stored is not None
        return stored.custom_status, stored.custom_status_version

    run_turn(provider, "a")
    assert custom_status() == (None, 0)
    run_turn(provider, "a", status("one"), status("two"))
    assert custom_status() == ("two", 1)
    run_turn(provider, "a", sets("k", "1"))
    assert custom_status() == ("two", 1)
    run_turn(provider, "a", status("three"), status(None))
    assert custom_status() == (None, 2)
    run_turn(provider, "a", status(""))
    assert custom_status() == ("", 3)
    run_turn(provider, "a", status="ContinuedAsNew")
    run_turn(provider, "a")
    assert custom_status() == ("", 3)


def test_cancelled_activities_leave_the_worker_queue(provider: DuckDBProvider) -> None:
    for instance_id in ("a", "b"):
        work = [ActivityExecute(instance_id, 1, number, "Noop", "") for number in (2, 3)]
        run_turn(provider, instance_id, schedules(), schedules(), activities=work)
    run_turn(provider, "a", cancelled=[2])
    assert [work.id for work in provider.pending_activities("a")] == [3]
    assert [work.id for work in provider.pending_activities("b")] == [2, 3]


def test_many_turns_are_one_transaction(provider: DuckDBProvider) -> None:
    names = [f"i{number}" for number in range(40)]
    claims = claims_of(provider, *names)
    assert provider.commit([turn_of(claim, sets("k", claim.instance_id)) for claim in claims]) == []
    assert [info.instance_id for info in provider.instances()] == names
    assert [provider.get_kv_value(name, "k") for name in names] == names
    assert provider.claim(1, 0, LOCK_MS) == []


def test_the_number_of_statements_does_not_grow_with_the_batch(provider: DuckDBProvider) -> None:
    def statements(batch: int, prefix: str) -> list[str]:
        """What DuckDB ran for one commit, by its own log."""
        names = [f"{prefix}{number}" for number in range(batch)]
        turns = [
            turn_of(claim, sets("k", "1"), status("s"), schedules(), activities=[ActivityExecute("x", 1, 4, "N", "")])
            for claim in claims_of(provider, *names)
        ]
        with provider._store.writing() as cursor:
            cursor.execute("CALL enable_logging('QueryLog')")
        provider.commit(turns)
        with provider._store.writing() as cursor:
            cursor.execute("CALL disable_logging()")
            rows = cursor.execute("SELECT message FROM duckdb_logs WHERE type = 'QueryLog'").fetchall()
            cursor.execute("CALL truncate_duckdb_logs()")
        return [message for (message,) in rows]

    one = statements(1, "a")
    assert len(one) > 8
    assert statements(50, "b") == one


def test_a_turn_whose_lock_expired_is_refused_and_leaves_no_trace(provider: DuckDBProvider) -> None:
    [claim] = claims_of(provider, "a")
    before = counts(provider)
    late = turn_of(claim, sets("k", "1"), now_ms=LOCK_MS, messages=[nudge("b")])
    assert provider.commit([late]) == [late]
    assert counts(provider) == before
    assert claim_one(provider, "a", LOCK_MS).messages == (start("a"),)


def test_a_turn_whose_lock_went_to_somebody_else_is_refused(provider: DuckDBProvider) -> None:
    [lost] = claims_of(provider, "a")
    mine = claim_one(provider, "a", LOCK_MS)
    assert provider.commit([turn_of(lost, sets("k", "lost"), now_ms=1)]) == [turn_of(lost, sets("k", "lost"), now_ms=1)]
    assert provider.commit([turn_of(mine, sets("k", "mine"), now_ms=LOCK_MS)]) == []
    assert provider.get_kv_value("a", "k") == "mine"


def test_a_turn_cannot_be_committed_twice(provider: DuckDBProvider) -> None:
    [claim] = claims_of(provider, "a")
    turn = turn_of(claim, sets("k", "1"))
    assert provider.commit([turn]) == []
    before = counts(provider)
    assert provider.commit([turn]) == [turn]
    assert counts(provider) == before


def test_only_the_turns_with_lost_locks_are_refused(provider: DuckDBProvider) -> None:
    claims = claims_of(provider, "a", "b", "c")
    provider.abandon(claims[1])
    turns = [turn_of(claim, sets("k", "1")) for claim in claims]
    assert provider.commit(turns) == [turns[1]]
    assert [info.instance_id for info in provider.instances()] == ["a", "c"]


def test_a_batch_has_at_most_one_turn_of_an_instance(provider: DuckDBProvider) -> None:
    [claim] = claims_of(provider, "a")
    with pytest.raises(ValueError, match="one turn of an instance"):
        provider.commit([turn_of(claim), turn_of(claim)])


def with_duplicate_event(turn: TurnCommit) -> TurnCommit:
    """The same turn, its last event once more: a real violation of the history's key."""
    return TurnCommit(
        **{name: getattr(turn, name) for name in turn.__struct_fields__ if name != "events"},
        events=(*turn.events, turn.events[-1]),
    )


def test_a_turn_that_the_database_refuses_leaves_no_trace(provider: DuckDBProvider) -> None:
    [claim] = claims_of(provider, "a")
    before = counts(provider)
    bad = with_duplicate_event(turn_of(claim, sets("k", "1"), messages=[nudge("b")]))
    with pytest.raises(CommitFailed, match=r"the turn of 'a' was not written: .*[Dd]uplicate key"):
        provider.commit([bad])
    assert counts(provider) == before
    assert provider.commit([turn_of(claim)]) == []  # the lock is still held


def test_one_bad_turn_takes_no_other_with_it(provider: DuckDBProvider) -> None:
    names = ["a", "bad", "c", "lost", "worse"]
    claims = {claim.instance_id: claim for claim in claims_of(provider, *names)}
    provider.abandon(claims["lost"])
    turns = [
        turn if name in ("a", "c", "lost") else with_duplicate_event(turn)
        for name, turn in ((name, turn_of(claims[name], sets("k", name), status(name))) for name in names)
    ]
    with pytest.raises(CommitFailed) as caught:
        provider.commit(turns)
    assert set(caught.value.reasons) == {"bad", "worse"}
    assert caught.value.refused == ("lost",)
    assert [info.instance_id for info in provider.instances()] == ["a", "c"]
    assert {name: provider.get_kv_value(name, "k") for name in names} == {
        "a": "a", "bad": None, "c": "c", "lost": None, "worse": None,
    }  # fmt: skip
    provider.abandon(claims["bad"])  # its messages are still there
    assert claim_one(provider, "bad").messages == (start("bad"),)


def test_a_text_without_a_utf8_form_is_refused_like_any_other_bad_turn(provider: DuckDBProvider) -> None:
    good, bad = claims_of(provider, "good", "bad")
    with pytest.raises(CommitFailed, match="surrogates not allowed"):
        provider.commit([turn_of(good), turn_of(bad, sets("k", "\ud800"))])
    assert [info.instance_id for info in provider.instances()] == ["good"]


def test_a_number_that_does_not_fit_is_refused_like_any_other_bad_turn(provider: DuckDBProvider) -> None:
    good, bad = claims_of(provider, "good", "bad")
    with pytest.raises(CommitFailed, match="out of range"):
        provider.commit([turn_of(good), turn_of(bad, messages=[TimerFired("bad", 1, 2, 2**63)])])
    assert [info.instance_id for info in provider.instances()] == ["good"]


def test_an_empty_batch_is_nothing(provider: DuckDBProvider) -> None:
    before = counts(provider)
    assert provider.commit([]) == []
    assert counts(provider) == before
