"""The reference engine's verdict on histories that duroxide wrote while its code was changed under way (P-14).

What it did then is stored with them; `tests/oracle` holds the same emulation to the real package.
"""

from __future__ import annotations

import pytest

from tests.cases import programs
from tests.cases.edited import typed
from tests.cases.recorded import recording
from tests.cases.test_changed_while_running import CHANGED
from tests.views.making import FLOW, recorded_once
from workbench import Recording
from workbench.recordings.reference import ReferenceVerdict
from workbench.recordings.stored import StoredExecution, StoredInstance, recording_of, stored_rows
from workbench.runtime.reference_text import without_times

BEFORE_THE_CHANGE = 6
"""So many events of each instance come from the original code."""


def cut(case: str, instance_id: str, events: int) -> Recording:
    """The recording as it was when so many events were written."""
    whole = recording(case, instance_id)
    rows = stored_rows(whole.last)[:events]
    return recording_of(
        StoredInstance(
            instance_id=whole.instance_id,
            orchestration=whole.orchestration,
            version=whole.version,
            executions=(StoredExecution(1, "Running", None, rows, whole.last.history.turns[:events]),),
            kv_model=whole.kv_model,
            kv_tables=type(whole.kv_tables)(),
            limits=whole.limits,
        )
    )


@pytest.mark.parametrize("row", CHANGED, ids=[row[0] for row in CHANGED])
def test_p_14_it_says_of_each_changed_code_what_duroxide_did(row: tuple[object, ...]) -> None:
    name, code, _kind, event, *_ = row
    whole = recording("P-14", f"i_{name}")
    replay = cut("P-14", f"i_{name}", BEFORE_THE_CHANGE).replay(code)  # type: ignore[arg-type]
    said = replay.reference_verdict
    assert said is not None
    assert replay.verdict == "diverged"
    if whole.status == "Completed":
        assert (said.accepted, said.status, said.output) == (True, "Completed", whole.output)
    else:
        assert without_times(f"nondeterministic: {said.message}") == without_times(str(whole.error))
        assert not said.accepted
        assert said.event_id is not None
        assert said.event_id >= event  # type: ignore[operator]


def test_p_14_the_original_code_goes_on() -> None:
    said = cut("P-14", "i_fewer", BEFORE_THE_CHANGE).replay(programs.before_the_change).reference_verdict
    assert said == ReferenceVerdict(accepted=True, execution_id=1)
    assert repr(said) == "duroxide accepts: the instance goes on"


def test_a_finished_history_is_taken_up_as_if_it_had_not_ended() -> None:
    said = recorded_once(FLOW).replay(typed(FLOW)).reference_verdict
    assert said == ReferenceVerdict(accepted=True, execution_id=1, status="Completed", output='"done"')
    assert repr(said) == 'duroxide accepts: completed with "done"'


def test_an_event_of_unknown_type_makes_the_whole_history_unreadable_to_it() -> None:
    said = recording("P-15", "b").replay(programs.before_the_change).reference_verdict
    assert said is not None
    assert (said.accepted, said.event_id) == (False, 2)
    assert "FutureEventKind" in str(said.message)


def test_without_code_and_over_damage_it_says_nothing() -> None:
    assert recording("P-01").replay().reference_verdict is None
    awaited = typed(FLOW.replace("def flow", "async def flow").replace("yield", "await"))
    assert recorded_once(FLOW).replay(awaited).is_same
    assert recorded_once(FLOW).replay(awaited).reference_verdict is None  # its SDK runs generators
    assert recording("P-15", "a").replay(programs.before_the_change).reference_verdict is None


def test_code_that_asks_without_end_is_given_up() -> None:
    code = typed("""
        def program(ctx, given):
            while True:
                ctx.set_custom_status("again")
    """)
    said = cut("P-14", "i_fewer", BEFORE_THE_CHANGE).replay(code).reference_verdict
    assert said is not None
    assert (said.accepted, said.status) == (True, "Failed")
    assert "without end" in str(said.output)


def test_code_that_does_not_come_back_gets_no_verdict() -> None:
    code = typed("""
        def program(ctx, given):
            while True:
                pass
    """)
    replay = cut("P-14", "i_fewer", BEFORE_THE_CHANGE).replay(code, deadline_ms=50)
    assert replay.verdict == "did not come back"
    assert replay.reference_verdict is None
