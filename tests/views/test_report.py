"""A check report in words, as a table, as a data frame, and as files that other programs read."""

from __future__ import annotations

import contextlib
import json
from xml.etree import ElementTree as ET

import msgspec
import pytest

from tests.views.making import FLOW, recorded, recorded_once, typed
from workbench import DuckDBProvider, Recording, Runtime, Workbench, check
from workbench.recordings import CheckReport
from workbench.views.report_files import junit_xml, report_json

NEXT = FLOW.replace("    ctx.set_kv_value", '    yield ctx.schedule_activity("Extra", 1)\n    ctx.set_kv_value', 1)
HOSTILE = "a\0\x1b[31m<script>\"'&]]>\ud800\uffff\u202eb\n"


@pytest.fixture(scope="module")
def flows() -> list[Recording]:
    return [recorded_once(FLOW), *(recorded(FLOW, events=(), instance_id=f"order-{n}") for n in (1, 2))]


@pytest.fixture(scope="module")
def failing(flows: list[Recording]) -> CheckReport:
    return check(flows, {"Flow": typed(NEXT.replace("def flow", "def flow_next"))})


def test_a_check_that_passes_is_three_lines(flows: list[Recording]) -> None:
    report = check(flows, typed(FLOW))
    assert repr(report) == "check of 3 recordings: all pass; 2 of 2 instances in flight can take the new code"
    assert report.text() == (
        f"{report!r}\n  in flight 2 of 2 replays as recorded\n  finished  1 of 1 replay as recorded"
    )
    assert report.pin == ""


def test_what_differs_is_told_once_with_its_line_and_whom_it_concerns(failing: CheckReport) -> None:
    assert failing.text() == (
        "check of 3 recordings: 0 pass, 3 fail; 0 of 2 instances in flight can take the new code, "
        "2 must stay on 1.0.0\n"
        "  in flight 0 of 2 replays as recorded\n"
        "  ✗ Flow 1.0.0 · diverged: an operation is made now that was not recorded\n"
        '      flow_next, line 2: yield ctx.schedule_activity("Extra", 1)\n'
        "      order-1, order-2 (turn 1.1, event 2)\n"
        "  finished  0 of 1 replay as recorded\n"
        "  ✗ Flow 1.0.0 · diverged: an operation is made now that was not recorded\n"
        '      flow_next, line 2: yield ctx.schedule_activity("Extra", 1)\n'
        "      flow-1 (turn 1.1, event 2)\n"
        "  versions  a continue-as-new goes on with the newest version that is registered\n"
        "  to do     # an instance stays on the version that it began with; new ones get the highest\n"
        '            wb.orchestration("Flow", version="1.0.0")(flow_next_1_0_0)\n'
        '            wb.orchestration("Flow", version="1.1.0")(flow_next)\n'
        "            # the same for workbench.Runtime and for duroxide\n"
        '            runtime.register_orchestration_versioned("Flow", "1.0.0", flow_next_1_0_0)\n'
        '            runtime.register_orchestration_versioned("Flow", "1.1.0", flow_next)'
    )


def test_the_pin_takes_the_functions_that_were_given(flows: list[Recording]) -> None:
    old, new = typed(FLOW), typed(NEXT.replace("def flow", "def flow_next"))
    pin = check(flows, {"Flow": {"1.0.0": old, "2.0.0": new}}).pin
    assert 'wb.orchestration("Flow", version="1.0.0")(flow)' in pin
    assert 'runtime.register_orchestration_versioned("Flow", "2.0.0", flow_next)' in pin


def test_instances_that_part_in_different_places_have_a_line_for_each_place() -> None:
    first = 'def flow(ctx, twice):\n    if twice:\n        ctx.set_kv_value("twice", "1")\n'
    then = '    ctx.set_kv_value("once", "1")\n    yield ctx.wait_for_event("go")\n'
    added = then.replace("    yield", '    ctx.set_kv_value("more", "1")\n    yield')
    recordings = []
    with Workbench() as wb:
        wb.orchestration("Flow")(typed(first + then))
        for number, twice in enumerate([True, False, True]):
            run = wb.start("Flow", twice, instance_id=f"order-{number}")
            run.turn()
            recordings.append(run.recording())
    lines = check(recordings, typed(first + added)).text().splitlines()
    assert lines[4:6] == ["      order-0, order-2 (turn 1.1, event 4)", "      order-1 (turn 1.1, event 3)"]


def test_the_pin_tells_functions_of_one_name_apart(flows: list[Recording]) -> None:
    pin = check(flows, {"Flow": {"1.0.0": typed(FLOW), "2.0.0": typed(NEXT)}}).pin
    assert 'wb.orchestration("Flow", version="1.0.0")(flow_1_0_0)' in pin
    assert 'wb.orchestration("Flow", version="2.0.0")(flow)' in pin


def test_the_pin_runs(failing: CheckReport) -> None:
    """What it prints registers both versions, on both of our faces."""
    names = {"flow_next_1_0_0": typed(FLOW), "flow_next": typed(NEXT)}
    with Workbench() as wb, contextlib.closing(DuckDBProvider(":memory:")) as provider:
        runtime = Runtime(provider)
        exec(failing.pin, {"wb": wb, "runtime": runtime, **names})  # noqa: S102 - it is there to be copied
        for registry in (wb.registry, runtime.registry):
            assert registry.orchestration("Flow").version == "1.1.0"
            assert registry.orchestration("Flow", "1.0.0").function is names["flow_next_1_0_0"]


@pytest.mark.oracle
def test_the_pin_runs_with_duroxide(failing: CheckReport) -> None:
    import duroxide

    runtime = duroxide.Runtime(duroxide.SqliteProvider.in_memory())
    names = {"flow_next_1_0_0": typed(FLOW), "flow_next": typed(NEXT)}
    with Workbench() as wb:
        exec(failing.pin, {"wb": wb, "runtime": runtime, **names})  # noqa: S102 - it is there to be copied


def test_a_function_without_a_name_that_can_be_written_gets_one(flows: list[Recording]) -> None:
    pin = check(flows[1:], lambda _ctx, _given: 1).pin
    assert 'wb.orchestration("Flow", version="1.1.0")(new_code)' in pin


def test_what_duroxide_would_let_pass_is_said_of_instances_in_flight(flows: list[Recording]) -> None:
    early = typed(FLOW.replace('    ctx.set_kv_value("b", "2")', '    return "early"'))
    assert "duroxide  would go on without a word with order-1, order-2\n" in check(flows, early).text()


def test_one_function_for_several_orchestrations_is_pointed_out(flows: list[Recording]) -> None:
    other = msgspec.structs.replace(flows[0], orchestration="Other")
    words = " ".join(check([*flows, other], typed(FLOW)).text().split())
    assert "code one function was replayed against Flow, Other; give each its own: --code Flow=…" in words
    assert "one function was replayed" not in check(flows, typed(FLOW)).text()
    assert "one function was replayed" not in check([*flows, other], {"Flow": typed(FLOW)}).text()


def test_code_that_raises_is_noticed_by_duroxide_too(flows: list[Recording]) -> None:
    raises = typed(FLOW.replace('    ctx.set_kv_value("b", "2")', "    ctx.set_kv_valeu()"))
    assert "without a word" not in check(flows, raises).text()


def test_strict_differences_that_stop_nothing_are_named() -> None:
    status = FLOW.replace("    ctx.set_kv_value", '    ctx.set_custom_status("one")\n    ctx.set_kv_value', 1)
    text = check(recorded_once(status), typed(status.replace('"one"', '"two"'))).text()
    assert "1 recording with strict differences, which stop nothing" in text
    assert "custom status recorded 'one', now 'two'" in " ".join(text.split())


def test_the_frame_has_a_row_each_with_whole_numbers(failing: CheckReport, flows: list[Recording]) -> None:
    frame = failing.frame()
    assert list(frame["instance"]) == ["order-1", "order-2", "flow-1"]
    assert list(frame["event"]) == [2, 2, 2]
    assert list(frame["reference_accepts"]) == [False, False, False]
    assert str(check(flows, typed(FLOW)).frame()["event"].dtype) == "Int64"


def test_the_picture_has_both_tables_and_the_snippet(failing: CheckReport) -> None:
    page = failing._repr_html_()
    assert "✗ 3 failures" in page
    _, _, body = page.partition("</style>")
    assert body.index("In flight") < body.index("Finished") < body.index("register_orchestration_versioned")
    assert "an operation is made now that was not recorded" in body


def hostile(report: CheckReport) -> CheckReport:
    """The report with user texts that try to be something else."""
    rows = [
        msgspec.structs.replace(
            row, instance_id=HOSTILE, orchestration=HOSTILE, recorded_version=HOSTILE, line=HOSTILE, source=HOSTILE
        )
        for row in report.rows
    ]
    return msgspec.structs.replace(report, rows=tuple(rows))


def test_hostile_texts_are_only_texts(failing: CheckReport) -> None:
    odd = hostile(failing)
    assert "<script>" not in odd._repr_html_()
    assert "\x1b" not in odd.text()
    assert "\u202e" not in odd.text()
    compile(odd.pin, "<pin>", "exec")


def suite_in(text: str) -> ET.Element:
    """The one suite of a JUnit file."""
    [suite] = ET.fromstring(text)  # noqa: S314 - our own text
    return suite


def test_junit_has_a_case_for_each_row_with_its_explanation(failing: CheckReport) -> None:
    suite = suite_in(junit_xml(failing))
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "3",
        "errors": "0",
        "skipped": "0",
    }
    case = suite[0]
    assert (case.get("classname"), case.get("name")) == ("Flow", "order-1")
    row = failing.rows[0]
    assert row.divergence is not None
    assert case[0].get("message") == "diverged (turn 1.1, event 2): an operation is made now that was not recorded"
    assert case[0].text == row.divergence.text()


def test_junit_is_valid_whatever_the_texts_are(failing: CheckReport) -> None:
    text = junit_xml(hostile(failing))
    text.encode("utf-8")
    case = suite_in(text)[0]
    assert "<script>" in str(case.get("name"))
    assert "⟨NUL⟩" in str(case.get("name"))


def test_junit_tells_failures_from_what_decides_nothing(flows: list[Recording]) -> None:
    versions = {"Flow": {"1.0.0": typed(FLOW), "1.1.0": typed(NEXT)}}
    suite = suite_in(junit_xml(check(flows, versions)))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "0", "3")
    missing = suite_in(junit_xml(check(flows, {}, missing_code=True)))
    assert (missing.get("failures"), missing.get("skipped")) == ("0", "3")
    required = suite_in(junit_xml(check(flows, {})))
    assert (required.get("failures"), required.get("skipped")) == ("3", "0")


def test_json_has_the_summary_and_the_columns_of_the_frame(failing: CheckReport) -> None:
    content = json.loads(report_json(hostile(failing)))
    assert (content["passed"], content["in_flight"], content["can_take"]) == (False, 2, 0)
    assert content["rows"][0]["instance"] == HOSTILE
    assert list(content["rows"][0]) == list(failing.frame().columns)
