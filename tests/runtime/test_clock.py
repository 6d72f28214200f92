"""Clocks say what time it is, in ms since 1970."""

from __future__ import annotations

import threading
import time

import pytest

from workbench.runtime.clock import MANUAL_START_MS, ManualClock, SystemClock


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock()
    assert clock.now_ms() == MANUAL_START_MS == clock.now_ms()
    clock.advance(1_500)
    assert clock.now_ms() == MANUAL_START_MS + 1_500
    assert repr(clock) == f"ManualClock({MANUAL_START_MS + 1_500})"


def test_a_manual_clock_never_goes_back() -> None:
    clock = ManualClock(1_000)
    clock.advance_to(900)
    assert clock.now_ms() == 1_000
    clock.advance_to(1_001)
    assert clock.now_ms() == 1_001
    with pytest.raises(ValueError, match="a clock only goes forward, not by -1 ms"):
        clock.advance(-1)


def test_a_manual_clock_loses_no_step_of_several_threads() -> None:
    clock = ManualClock(0)

    def thousand() -> None:
        for _ in range(1_000):
            clock.advance(1)

    threads = [threading.Thread(target=thousand) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clock.now_ms() == 4_000


def test_the_system_clock_is_the_machines() -> None:
    before = int(time.time() * 1000)
    now = SystemClock().now_ms()
    assert before - 1 <= now <= before + 60_000
    assert repr(SystemClock()) == "SystemClock()"
