"""Dry runs find what code depends on besides its input: on the recordings of P-05, P-06 and P-07, and each kind."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases import programs
from tests.cases.edited import fresh, typed
from tests.cases.recorded import recording
from tests.recordings.files import recorded
from workbench.recordings.purity import Purity, check_purity
from workbench.runtime.errors import WorkbenchError

FANS_OUT = """
    def fan_out(ctx, _given):
        names = {"zeta", "beta", "eps", "theta", "delta", "alpha", "gamma", "eta"}
        yield ctx.all([ctx.schedule_activity("Echo", name) for name in names])
        yield ctx.wait_for_event("go")
        return sorted(names)
"""
READS_CLOCK = """
    import time

    def clock(ctx, _given):
        return (yield ctx.schedule_activity("Echo", time.time_ns()))
"""
GROWS = """
    delays = []

    def timer(ctx, _given):
        delays.append(100)
        yield ctx.schedule_timer(sum(delays))
        yield ctx.schedule_activity("Echo", 2)
        return 3
"""
CHOOSES = """
    import random

    def choose(ctx, _given):
        yield ctx.schedule_timer(100)
        yield ctx.schedule_activity("Echo" if random.random() < 0.5 else "Other", 2)
        return 3
"""


def proven(purity: Purity) -> list[tuple[str, str, str | None]]:
    return [(each.hazard, each.what, each.place) for each in purity.impurities if each.proven]


def test_p_05_the_order_of_a_set_shows_in_processes_with_other_hash_seeds() -> None:
    purity = recording("P-05").replay(typed(FANS_OUT)).purity()
    assert proven(purity) == [("set order", "the order of a set", "fan_out, line 3")]
    assert (purity.runs_here, purity.fresh_runs, purity.not_fresh) == (2, 2, None)
    assert "sorted(…)" in purity.text()
    assert "impure: the order of a set on fan_out, line 3" in repr(purity)


def test_p_05_a_list_is_pure_in_every_process() -> None:
    purity = check_purity(recording("P-05"), programs.fan_out)
    assert purity.is_pure
    assert purity.findings == ()
    assert purity.text().splitlines()[0].endswith("pure in 4 dry runs")


def test_p_06_a_clock_in_an_input_is_named_with_its_line() -> None:
    purity = check_purity(recording("P-06b"), typed(READS_CLOCK), fresh=False)
    assert proven(purity) == [("clock", "time.time_ns()", "clock, line 2")]


def test_what_somebody_has_the_garbage_collector_call_is_not_the_codes_doing() -> None:
    """Hypothesis, for one, reads a clock whenever the collector runs, which is at any line."""

    def collected(phase: str, _: dict[str, int]) -> None:
        seen.append((phase, os.getpid()))

    def collects(ctx: Any, _given: Any) -> Any:
        gc.collect()
        return (yield ctx.schedule_activity("Echo", 1))

    seen: list[tuple[str, int]] = []
    gc.callbacks.append(collected)
    try:
        purity = check_purity(recording("P-06b"), collects, fresh=False)
    finally:
        gc.callbacks.remove(collected)
    assert len(seen) >= 4
    assert purity.impurities == ()


def test_p_06_the_message_names_the_clock_too() -> None:
    divergence = recording("P-06b").replay(typed(READS_CLOCK)).divergence
    assert divergence is not None
    assert divergence.to_do[0] == "the code is impure: time.time_ns() on clock, line 2"


def test_p_06_a_timer_that_grows_with_every_pass_is_hidden_state_although_timers_match() -> None:
    purity = check_purity(recording("P-06"), typed(GROWS), fresh=False)
    assert proven(purity) == [("state", "the global 'delays'", None)]
    [impurity] = purity.impurities
    assert impurity.values == ("[]", "[100]")
    assert impurity.parting is not None
    assert impurity.parting.other == "timer delay 200 ms"


def test_p_06_chance_that_chooses_an_activity_is_found_however_it_falls_and_is_left_as_it_was() -> None:
    code = typed(CHOOSES)
    for seed in range(4):
        random.seed(seed)
        assert proven(check_purity(recording("P-06"), code, fresh=False)) == [
            ("chance", "random.random()", "choose, line 3")
        ]


@pytest.mark.parametrize(("instance_id", "program"), [("a", programs.mutable_default), ("b", programs.mutable_result)])
def test_p_07_a_default_that_outlives_its_call_is_named(instance_id: str, program: Any) -> None:
    purity = check_purity(recording("P-07", instance_id), fresh(program), fresh=False)
    assert proven(purity) == [("state", f"the default 'seen' of {program.__name__}", None)]


def test_p_07_the_message_names_the_default() -> None:
    code = fresh(programs.mutable_default)
    recording("P-07").replay(code)
    divergence = recording("P-07").replay(code).divergence
    assert divergence is not None
    assert divergence.to_do[0] == "the code is impure: the default 'seen' of mutable_default"


def test_p_07_a_flag_that_was_set_long_ago_shows_in_a_fresh_process() -> None:
    """Both runs here do the same, for the flag stands since the kernel ran the code before."""
    purity = check_purity(recording("P-06"), turned_by_a_flag)
    [(hazard, what, place)] = proven(purity)
    assert (hazard, what) == ("state", "something that is otherwise in a fresh process")
    assert place is not None
    assert place.startswith("turned_by_a_flag, line 4")


FLAG = {"passed": False}


def turned_by_a_flag(ctx: Any, _given: object) -> Any:
    yield ctx.schedule_timer(100)
    if FLAG["passed"]:
        yield ctx.schedule_activity("Echo", "again")
    yield ctx.schedule_activity("Echo", 2)
    return 3


@pytest.fixture(autouse=True)
def a_kernel_in_which_it_has_passed() -> Any:
    FLAG["passed"] = True
    yield
    FLAG["passed"] = False


def test_a_clock_that_goes_nowhere_is_seen_and_not_proven() -> None:
    code = typed("""
        import datetime, os, uuid

        def noted(ctx, _given):
            started = datetime.datetime.now(), os.environ.get("HOME"), uuid.uuid4()
            yield ctx.schedule_timer(100)
            yield ctx.schedule_activity("Echo", 2)
            return 3 if started else 4
    """)
    purity = check_purity(recording("P-06"), code, fresh=False)
    assert purity.is_pure
    seen = [(each.hazard, each.what, each.place) for each in purity.impurities]
    assert seen == [
        ("clock", "datetime.datetime.now()", "noted, line 2"),
        ("environment", "os.environ", "noted, line 2"),
        ("chance", "uuid.uuid4()", "noted, line 2"),
    ]


def test_a_function_that_cannot_be_sent_says_why_and_is_tried_here() -> None:
    handle = Path(os.devnull).open()  # noqa: SIM115 (something that no other process has)
    code = typed("def flow(ctx, _given):\n    return handle.name", {"handle": handle})
    purity = check_purity(recording("P-06"), code)
    handle.close()
    assert purity.fresh_runs == 0
    assert purity.not_fresh == "flow uses 'handle', a TextIOWrapper, which cannot be sent"
    assert "could not be tried in a fresh process" in purity.text()


SCRIPT = """
import sys
from workbench import open_source

def counter(ctx, given):
    ctx.set_kv_value("another", "1")
    yield ctx.schedule_activity("Echo", given)

with open_source(sys.argv[1]) as source:
    recording = source.recording(source.instance_ids[0])
print(recording.replay(counter).verdict, recording.replay(counter).purity().is_pure)
"""


def test_code_of_a_script_that_parts_from_the_record_the_same_way_everywhere_is_pure(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(recorded("P-01"))], check=True, capture_output=True, text=True
    )
    assert done.stdout == "diverged True\n"


def test_a_replay_without_code_has_nothing_to_try() -> None:
    with pytest.raises(WorkbenchError, match="no code to try"):
        recording("P-06").replay().purity()


def test_it_shows_itself_as_a_page_and_a_frame() -> None:
    purity = check_purity(recording("P-06b"), typed(READS_CLOCK), fresh=False)
    assert "time.time_ns() on clock, line 2" in purity._repr_html_()
    assert list(purity.frame()["hazard"]) == ["clock"]
