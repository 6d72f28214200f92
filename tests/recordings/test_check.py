"""Many recordings against changed code: a row each, instances in flight first, and nothing passes for lack of proof."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.cases import programs
from tests.cases.edited import edited, typed
from tests.cases.recorded import FOLDER, instances, recording
from tests.views.making import FLOW, recorded
from workbench import Recording, check, open_source
from workbench.recordings import CheckReport
from workbench.recordings.sources import Source
from workbench.runtime.errors import (
    BadRecording,
    CodeForNothing,
    EmptyCorpus,
    NondeterminismError,
    RegistrationConflict,
)
from workbench.runtime.fingerprint import fingerprint

NEXT = FLOW.replace("    ctx.set_kv_value", '    yield ctx.schedule_activity("Extra", 1)\n    ctx.set_kv_value', 1)
WAITING = FLOW.replace('return "done"', 'return (yield ctx.wait_for_event("more"))')
P_14 = FOLDER / "P-14_code_changed.db"


@pytest.fixture(scope="module")
def flows() -> list[Recording]:
    """Three of one orchestration: one has finished, two wait, for two different events."""
    return [
        recorded(FLOW, instance_id="over"),
        recorded(FLOW, events=(), instance_id="waits"),
        recorded(WAITING, instance_id="waits for more"),
    ]


def test_one_row_each_instances_in_flight_first_and_failures_before_the_rest(flows: list[Recording]) -> None:
    report = check(flows, typed(FLOW))
    assert [(row.instance_id, row.in_flight, row.verdict) for row in report.rows] == [
        ("waits for more", True, "diverged"),
        ("waits", True, "same, still running"),
        ("over", False, "same"),
    ]
    assert [row.number for row in report.rows] == [3, 2, 1]
    assert [row.instance_id for row in report.can_take] == ["waits"]
    assert [row.instance_id for row in report.must_stay] == ["waits for more"]
    assert not report.passed


def test_a_row_has_place_event_line_kind_reference_and_fingerprint(flows: list[Recording]) -> None:
    code = typed(FLOW)
    row = check(flows, code).rows[0]
    assert (row.turn, row.event, row.kind, row.line, row.source) == (
        "1.3",
        8,
        "ended early",
        "flow, line 6",
        'return "done"',
    )
    assert row.reference is not None
    assert (row.reference.accepted, row.reference.status) == (True, "Completed")
    remembered = flows[2].code
    assert remembered is not None
    assert (row.recorded_fingerprint, row.fingerprint) == (remembered.fingerprint, fingerprint(code))
    assert row.recorded_fingerprint != row.fingerprint
    assert row.divergence is not None
    assert (row.operations, row.turns) == (4, 2)


def test_several_versions_make_a_matrix_and_each_recording_is_judged_by_its_own(flows: list[Recording]) -> None:
    report = check(flows, {"Flow": {"1.0.0": typed(WAITING), "1.1.0": typed(NEXT)}})
    assert report.versions == ("1.0.0", "1.1.0")
    cells = {(row.instance_id, row.code_version): row.passed for row in report.rows}
    assert cells == {
        ("waits", "1.0.0"): True,
        ("waits", "1.1.0"): False,
        ("waits for more", "1.0.0"): True,
        ("waits for more", "1.1.0"): False,
        ("over", "1.0.0"): False,
        ("over", "1.1.0"): False,
    }
    assert [row.instance_id for row in report.must_stay] == ["waits", "waits for more"]
    assert [row.instance_id for row in report.failures] == ["over"]


def test_with_its_own_version_among_them_a_check_passes_whatever_the_newest_does(flows: list[Recording]) -> None:
    report = check(flows[:2], {"Flow": {"1.0.0": typed(FLOW), "1.1.0": typed(NEXT)}})
    assert report.passed
    report.raise_for_verdict()
    assert [row.instance_id for row in report.must_stay] == ["waits"]


def test_versions_are_in_the_order_of_their_numbers(flows: list[Recording]) -> None:
    report = check(flows[1:2], {"Flow": {"1.10.0": typed(FLOW), "1.9.0": typed(NEXT)}})
    assert report.versions == ("1.9.0", "1.10.0")
    assert report.passed


def test_of_an_instance_in_flight_only_the_running_execution_is_replayed() -> None:
    again = typed("""
        def again(ctx, count):
            if count == 0:
                ctx.set_kv_value("first", "1")
                yield ctx.continue_as_new(1)
            yield ctx.wait_for_event("go")
    """)
    renewed = recorded(
        'def again(ctx, count):\n    if count == 0:\n        ctx.set_kv_value("before", "1")\n'
        '        yield ctx.continue_as_new(1)\n    yield ctx.wait_for_event("go")\n',
        events=(),
        given=0,
    )
    assert renewed.replay(again).verdict == "diverged"
    [row] = check(renewed, again).rows
    assert (row.verdict, row.executions, row.passed) == ("same, still running", (2,), True)


def test_a_recording_without_code_fails_unless_that_is_allowed(flows: list[Recording]) -> None:
    report = check(flows, {"Other": typed(FLOW)})
    assert {row.verdict for row in report.rows} == {"no code given"}
    assert not report.passed
    assert report.must_stay == ()
    assert len(report.unknown) == 2
    other = msgspec.structs.replace(flows[0], orchestration="Other")
    assert check([*flows, other], {"Other": typed(FLOW)}, missing_code=True).passed


def test_a_check_in_which_no_code_has_the_name_of_a_recording_is_refused(flows: list[Recording]) -> None:
    """A name with a letter missing, and everything that has no code allowed: it would pass and prove nothing."""
    with pytest.raises(CodeForNothing, match=r"^no recording is of 'Flw', so nothing would be compared; "):
        check(flows, {"Flw": typed(FLOW)}, missing_code=True)


def test_an_instance_in_flight_without_code_cannot_be_said_to_take_it(flows: list[Recording]) -> None:
    other = msgspec.structs.replace(flows[1], orchestration="Other")
    report = check([*flows, other], {flows[0].orchestration: typed(FLOW)}, missing_code=True)
    allowed = [row for row in report.rows if row.orchestration == "Other"]
    assert [row.passed for row in allowed] == [True]
    assert not [row for row in report.can_take if row.orchestration == "Other"]
    assert list(report.unknown) == allowed


def test_strict_differences_fail_only_who_asks() -> None:
    recorded_ = recording("P-06")
    code = edited(programs.timer_then_activity, "100", "86_400_000")
    [row] = check(recorded_, code).rows
    assert (row.passed, len(row.strict_differences)) == (True, 1)
    [row] = check(recorded_, code, strict=True).rows
    assert (row.passed, row.verdict) == (False, "diverged (strict)")


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(EmptyCorpus, match="a check of no recordings proves nothing"):
        check([], programs.before_the_change)


def test_code_that_raises_in_every_instance_and_damage_are_rows(flows: list[Recording]) -> None:
    def broken(_ctx: object) -> None:
        """Takes too few arguments."""

    report = check([*flows, *instances("P-15")], broken)
    assert {row.verdict for row in report.rows} == {"diverged", "damaged history"}
    assert not any(row.passed for row in report.rows)


def test_code_that_does_not_come_back_is_a_row(flows: list[Recording]) -> None:
    endless = typed("""
        def endless(ctx, given):
            while True:
                pass
    """)
    [row] = check(flows[0], endless, deadline_ms=50).rows
    assert (row.verdict, row.passed, row.turn) == ("did not come back", False, "1.1")
    assert "endless" in row.detail


class Broken(Source):
    """A source of which one instance cannot be read."""

    def __init__(self, inner: Source) -> None:
        super().__init__(inner.path)
        self.inner = inner

    def listing(self):  # type: ignore[no-untyped-def]
        return self.inner.listing()

    def recording(self, instance_id: str) -> Recording:
        if instance_id == "i_extra":
            raise BadRecording("its pages are gone")
        return self.inner.recording(instance_id)

    def query(self, sql: str):  # type: ignore[no-untyped-def]
        return self.inner.query(sql)


def test_what_cannot_be_read_is_a_row_and_the_others_are_checked() -> None:
    with open_source(P_14) as source:
        report = check(Broken(source), programs.before_the_change)
    assert len(report.rows) == 9
    [row] = [row for row in report.rows if row.verdict == "not read"]
    assert (row.instance_id, row.detail, row.passed) == ("i_extra", "its pages are gone", False)


def test_a_generator_that_breaks_down_is_a_row() -> None:
    def some() -> Iterator[Recording]:
        yield recording("P-01")
        raise BadRecording("no more")

    report = check(some(), programs.read_modify_write)
    assert [(row.verdict, row.passed) for row in report.rows] == [("not read", False), ("same", True)]
    assert not report.passed


def test_files_sources_and_recordings_may_be_mixed(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    recording("P-01").to_json(path)
    report = check([path, recording("P-01")], programs.read_modify_write)
    assert [row.verdict for row in report.rows] == ["same", "same"]
    assert len({row.number for row in report.rows}) == 2
    assert check(str(path), programs.read_modify_write).passed


def test_recordings_are_read_one_at_a_time() -> None:
    def alive() -> int:
        return sum(isinstance(each, Recording) for each in gc.get_objects())

    before = alive()
    held = []

    def some() -> Iterator[Recording]:
        for _ in range(3):
            held.append(alive() - before)
            yield recording("P-01")

    assert len(check(some(), programs.read_modify_write).rows) == 3
    assert max(held) <= 1


def test_p_14_every_changed_code_is_found_and_the_step_behind_the_wait_passes() -> None:
    report = check(P_14, programs.before_the_change)
    assert {row.instance_id for row in report.failures} == {"i_retearly", "i_noyield", "i_tail"}
    kinds = {row.instance_id: (row.verdict, row.kind) for row in report.failures}
    assert kinds["i_tail"] == ("diverged", "ended early")


def test_raising_has_the_report_and_every_explanation(flows: list[Recording]) -> None:
    report = check(flows, typed(NEXT))
    with pytest.raises(NondeterminismError) as raised:
        report.raise_for_verdict()
    text = str(raised.value)
    assert text.startswith(report.text())
    for row in report.failures:
        assert row.divergence is not None
        assert row.divergence.text() in text


def test_of_another_outcome_the_line_that_raised_is_told(flows: list[Recording]) -> None:
    [row] = check(flows[0], typed(FLOW.replace('return "done"', 'raise ValueError("no")'))).rows
    assert (row.verdict, row.line, row.source) == ("different outcome", "flow, line 6", 'raise ValueError("no")')


def test_a_report_is_plain_data(flows: list[Recording]) -> None:
    report = check(flows, typed(FLOW))
    assert isinstance(report, CheckReport)
    assert msgspec.structs.asdict(report)["code_names"] == {"": {"": "flow"}}


def test_versions_that_could_not_be_registered_are_refused(flows: list[Recording]) -> None:
    with pytest.raises(RegistrationConflict, match=r"^a version is three numbers such as '1\.0\.0', not '1\.1'$"):
        check(flows, {"Flow": {"1.1": typed(FLOW)}})
