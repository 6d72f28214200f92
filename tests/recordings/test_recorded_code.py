"""A recording made here remembers its code, so that a replay tells the line then and whether the source has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cases.edited import edited, fresh
from workbench import Recording, Workbench, check
from workbench.recordings.recorded_code import RecordedCode
from workbench.runtime.divergence import Divergence
from workbench.runtime.fingerprint import fingerprint


def flow(ctx: Any, given: Any) -> Any:
    ctx.set_kv_value("step", "1")
    first = yield ctx.schedule_activity("Work", given)
    yield ctx.schedule_activity("Send", first)
    return first


def recorded(code: Any, given: Any = "secret") -> Recording:
    with Workbench() as wb:
        wb.activity("Work")(lambda _, value: {"of": value})
        wb.activity("Send")(lambda _, value: None)
        wb.orchestration(code)
        run = wb.start(code, given)
        run.finish()
        return run.recording()


def divergence_of(recording: Recording, code: Any) -> Divergence:
    found = recording.replay(code).divergence
    assert found is not None
    return found


def test_a_check_tells_the_fingerprint_then_beside_that_of_today() -> None:
    code = fresh(flow)
    [row] = check(recorded(code), code).rows
    assert row.recorded_fingerprint == row.fingerprint == fingerprint(code)


def test_it_remembers_function_source_fingerprint_and_the_line_of_each_operation() -> None:
    code = fresh(flow)
    remembered = recorded(code).code
    assert remembered is not None
    assert (remembered.function, remembered.file, remembered.fingerprint) == ("flow", None, fingerprint(code))
    assert remembered.source is not None
    assert remembered.source.startswith("def flow(ctx")
    assert [(each.event_id, each.line.number, each.line.text) for each in remembered.lines] == [
        (2, 2, 'ctx.set_kv_value("step", "1")'),
        (3, 3, 'first = yield ctx.schedule_activity("Work", given)'),
        (5, 4, 'yield ctx.schedule_activity("Send", first)'),
    ]


def test_code_in_a_file_is_remembered_with_the_name_of_the_file_only() -> None:
    remembered = recorded(flow).code
    assert remembered is not None
    assert remembered.file == "test_recorded_code.py"
    assert remembered.lines[0].line.file_line == flow.__code__.co_firstlineno + 1


def test_the_message_tells_the_line_then_and_that_the_source_has_changed() -> None:
    recording = Recording.from_json(recorded(fresh(flow)).to_json())
    before = 'ctx.set_kv_value("step", "1")'
    found = divergence_of(recording, edited(flow, before, f'ctx.set_custom_status("new")\n{before}'))
    assert found.source_changed
    assert found.line_then is not None
    assert (found.line_then.function, found.line_then.number, found.line_then.text) == ("flow", 2, before)
    assert (
        f"then      recorded at flow, line 2: `{before}`\n            the source of the orchestration has changed since"
    ) in found.text()
    assert f"recorded at flow, line 2: `{before}`" in found._repr_html_().replace("&quot;", '"').replace("&#34;", '"')


def test_the_same_source_says_nothing_of_it() -> None:
    first = recorded(fresh(flow))
    assert first.replay(fresh(flow)).verdict == "same"
    other = divergence_of(recorded(impure), impure)
    assert other.source_changed is False
    assert "then" not in [line.split()[0] for line in other.text().splitlines()]


SEEN: list[int] = []


def impure(ctx: Any, _: object) -> Any:
    SEEN.append(1)
    yield ctx.schedule_activity("Work", len(SEEN))
    return None


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


def test_it_goes_through_json_and_back_and_older_and_newer_files_are_read() -> None:
    recording = recorded(flow)
    text = recording.to_json()
    again = Recording.from_json(text)
    assert again == recording
    assert again.code is not None
    assert recording.code is not None
    assert again.code.lines == recording.code.lines
    assert again.to_json() == text
    older = msgspec.structs.replace(recording, code=None).to_json()
    assert '"code"' not in older
    assert Recording.from_json(older) == recording
    assert Recording.from_json(older).code is None
    newer = text.replace('"code": {', '"unheard": 1,\n  "code": {\n    "unheard": [2],')
    assert Recording.from_json(newer).code is not None


def test_of_an_instance_opened_again_the_lines_are_found_by_its_registered_code(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with Workbench(path) as wb:
        wb.activity("Work")(lambda _, value: value)
        wb.orchestration(flow)
        run = wb.start(flow, 1, instance_id="a")
        run.turn()
        lines = [each.line.number for each in _code_of(run.recording()).lines]
    assert lines == [2, 3]
    with Workbench(path) as wb:
        assert wb.run("a").recording().code is None
        wb.orchestration(flow)
        assert [each.line.number for each in _code_of(wb.run("a").recording()).lines] == lines
    with Workbench(path) as wb:
        wb.orchestration("flow")(edited(flow, '"step", "1"', '"step", "2"'))
        assert wb.run("a").recording().code is None


def _code_of(recording: Recording) -> RecordedCode:
    assert recording.code is not None
    return recording.code


def test_a_recording_redacted_consistently_still_lines_up_where_values_are_only_passed_on() -> None:
    recording = recorded(flow)
    text = recording.to_json(redact=_masked)
    assert "secret" not in text
    redacted = Recording.from_json(text)
    assert redacted.damage == ()
    assert redacted.replay(flow).verdict == "same"


def test_what_is_formatted_from_a_redacted_value_can_no_longer_be_compared() -> None:
    formatted = edited(flow, '"Send", first', '"Send", first["of"].upper()')
    redacted = Recording.from_json(recorded(formatted).to_json(redact=_masked))
    assert redacted.replay(formatted).verdict != "same"


def test_the_function_is_told_what_each_value_is() -> None:
    told: dict[str, set[str]] = {}

    def note(what: str, value: str) -> str:
        told.setdefault(what, set()).add(value)
        return value

    recording = recorded(flow)
    assert Recording.from_json(recording.to_json(redact=note)) == recording
    assert set(told) == {"input", "output", "result", "value", "source"}
    assert told["value"] == {"1"}
    assert '"secret"' in told["input"]


def _masked(what: str, value: str) -> str:
    """Equal texts become equal texts; the value of the key stays, since the code writes it itself."""
    if what == "value":
        return value
    return json.dumps(f"masked {abs(hash(value))}")
