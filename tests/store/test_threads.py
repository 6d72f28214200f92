"""Any thread may call: nobody gets another's rows, no turn runs twice, nobody sees what is not committed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.store.turns import LOCK_MS, nudge, run_turn, sets, start, turn_of
from workbench.runtime.errors import StatementRefused, StoreClosed
from workbench.store import DuckDBProvider

THREADS = 4
PASSES = 25


def in_threads(work: Callable[[int], None], count: int = THREADS) -> None:
    """Run `work(number)` in that many threads at once; an error in one is raised here."""
    together = threading.Barrier(count)

    def one(number: int) -> None:
        together.wait(30)
        work(number)

    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(one, number) for number in range(count)]:
            done.result()


def test_no_thread_gets_another_threads_rows(provider: DuckDBProvider) -> None:
    def live(number: int) -> None:
        name = f"thread-{number}"
        for turn in range(1, PASSES + 1):
            run_turn(provider, name, sets("who", name), sets("turn", str(turn)), number=turn)
            assert provider.get_all_kv_values(name) == {"turn": str(turn), "who": name}
            stored = provider.instance(name)
            assert stored is not None
            assert stored.instance_id == name
            assert provider.query("SELECT ?, count(*) FROM history WHERE instance_id = ?", [turn, name])[1] == [
                (turn, 3 * turn)
            ]

    in_threads(live)
    assert sorted(info.instance_id for info in provider.instances()) == [f"thread-{n}" for n in range(THREADS)]


def test_no_turn_is_claimed_twice(provider: DuckDBProvider) -> None:
    names = [f"i{number}" for number in range(60)]
    provider.enqueue([start(name) for name in names], 0)
    claimed: list[str] = []

    def work(_: int) -> None:
        while claims := provider.claim(3, 0, LOCK_MS):
            assert provider.commit([turn_of(claim, sets("k", claim.instance_id)) for claim in claims]) == []
            claimed.extend(claim.instance_id for claim in claims)

    in_threads(work)
    assert sorted(claimed) == sorted(names)


def test_a_reader_sees_a_turn_whole_or_not_at_all(delta: DuckDBProvider) -> None:
    """One thread moves keys over boundaries, where both tables change; the others must never miss one."""
    run_turn(delta, "a", sets("k", "0"), sets("l", "0"))
    done = threading.Event()

    def work(number: int) -> None:
        if number > 0:
            while not done.is_set():
                values = delta.get_all_kv_values("a")
                assert set(values) == {"k", "l"}
                assert values["k"] == values["l"]
                assert delta.get_kv_value("a", "k") is not None
            return
        try:
            for turn in range(PASSES):
                ending = ("Running", "ContinuedAsNew")[turn % 2]
                run_turn(delta, "a", sets("k", str(turn)), sets("l", str(turn)), status=ending)
        finally:
            done.set()

    in_threads(work, 3)


def test_a_reader_does_not_wait_for_a_writer_and_sees_nothing_of_its_work(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    before = provider.instances()
    with ThreadPoolExecutor(1) as pool, provider._store.writing() as cursor:
        cursor.execute("DELETE FROM instances")
        assert pool.submit(provider.instances).result(30) == before
    assert provider.instances() == []


def test_a_call_inside_a_call_does_not_disturb_it(provider: DuckDBProvider) -> None:
    """As when a signal handler or a finaliser reads the store in the middle of a commit."""
    run_turn(provider, "a")
    with provider._store.writing() as cursor:
        cursor.execute("UPDATE instances SET custom_status = 'half'")
        result = cursor.execute("SELECT instance_id FROM instances")
        stored = provider.instance("a")
        assert stored is not None
        assert stored.custom_status is None
        provider.enqueue([nudge("a")], 0)
        assert result.fetchall() == [("a",)]
    stored = provider.instance("a")
    assert stored is not None
    assert stored.custom_status == "half"
    assert provider.pending_messages("a") == [nudge("a")]


def test_an_interrupted_transaction_is_rolled_back_and_the_store_goes_on(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    with pytest.raises(KeyboardInterrupt), provider._store.writing() as cursor:
        interrupt_after(cursor.execute("DELETE FROM history"))
    assert len(provider.read_history("a", 1).events) == 1
    run_turn(provider, "a", number=2)
    assert len(provider.read_history("a", 1).events) == 2


def interrupt_after(_: object) -> None:
    """What Ctrl-C does between two statements."""
    raise KeyboardInterrupt


def test_closing_ends_a_long_read_in_another_thread() -> None:
    provider = DuckDBProvider()
    reading = threading.Event()

    def read() -> None:
        reading.set()
        provider.query("SELECT sum(a.range * b.range % 7) FROM range(1000000) AS a, range(1000000) AS b")

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(read)
        assert reading.wait(30)
        provider.close()
        with pytest.raises((StatementRefused, StoreClosed)):
            result.result(30)


def test_threads_that_ended_leave_nothing_open(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")

    def read(_: int) -> None:
        assert [info.instance_id for info in provider.instances()] == ["a"]

    for _ in range(3):
        in_threads(read)
    assert not provider._store._busy
