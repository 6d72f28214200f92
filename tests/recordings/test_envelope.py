"""The JSON form of a recording: its whole text, what it keeps, and what is wrong with a bad one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recordings.files import RECORDED, event_text, recorded, started, state_of
from workbench.recordings import Recording, open_source
from workbench.recordings.integrity import Row
from workbench.recordings.stored import StoredExecution, StoredInstance, recording_of
from workbench.runtime import events as ev
from workbench.runtime.errors import BadRecording, NoSuchFile, NotStorable, UnreadableFile
from workbench.runtime.kv import DELTA, Entry, Tables
from workbench.runtime.limits import Limits

TURNS = (1, 1, 1, 2)
TEXTS = (
    started(),
    event_text(2, ev.KV_SET, key="n", value="1", last_updated_at_ms=1000),
    event_text(3, ev.EVENT_SUBSCRIBED, name="go"),
    event_text(4, ev.EVENT_RECEIVED, name="go", data="ü"),
)


def recording(*texts: str, turns: tuple[int, ...] | None = None, refused: frozenset[int] = frozenset()) -> Recording:
    """A running instance with this history; a text that is no event of its own gets a row that says otherwise."""
    rows = []
    for place, text in enumerate(texts or TEXTS, start=1):
        try:
            event = ev.decode_event(text)
            rows.append(Row(event.event_id, event.type, text))
        except msgspec.DecodeError:
            rows.append(Row(place, ev.KV_SET, text))
    stored = StoredInstance(
        instance_id="a",
        orchestration="O",
        version="1.0.0",
        executions=[StoredExecution(1, "Running", None, tuple(rows), turns, refused)],
        kv_model=DELTA,
        kv_tables=Tables({"n": Entry("0", 900)}, {"n": Entry("1", 1000), "gone": Entry(None, 1000)}),
        limits=Limits(kv_keys=3),
        custom_status="half",
        custom_status_version=2,
        parent_instance="parent",
    )
    return recording_of(stored)


WHOLE = """\
{
  "format": "workbench-recording",
  "version": 1,
  "writer": "duroxide-0.1.32",
  "instance_id": "a",
  "orchestration": "O",
  "orchestration_version": "1.0.0",
  "parent_instance": "parent",
  "custom_status": "half",
  "custom_status_version": 2,
  "limits": LIMITS,
  "kv_model": "delta",
  "kv_store": [
    {"key":"n","value":"0","last_updated_at_ms":900,"execution_id":0}
  ],
  "kv_delta": [
    {"key":"n","value":"1","last_updated_at_ms":1000,"execution_id":0},
    {"key":"gone","value":null,"last_updated_at_ms":1000,"execution_id":0}
  ],
  "executions": [
    {
      "execution_id": 1,
      "status": "Running",
      "output": null,
      "turns_inferred": false,
      "first_events": [1,4],
      "refused_turns": [2],
      "damage": [
        {"row":"event 3","reason":"no JSON (JSON is malformed: object keys must be strings (byte 1))"}
      ],
      "events": [
        EVENT 1,
        EVENT 2,
        {"row":3,"type":"KeyValueSet","text":"{not json"},
        EVENT 4
      ]
    }
  ]
}
"""


def test_the_whole_text() -> None:
    limits = {"kv_keys": 3, "kv_value_bytes": 16384, "custom_status_bytes": 262144, "tag_name_bytes": 256}
    compact = json.dumps({**limits, "carried_messages": 20}, separators=(",", ":"))
    expected = WHOLE.replace("LIMITS", compact)
    for place in (1, 2, 4):
        expected = expected.replace(f"EVENT {place}", TEXTS[place - 1])
    odd = recording(*TEXTS[:2], "{not json", TEXTS[3], turns=TURNS, refused=frozenset({2}))
    assert odd.to_json() == expected
    assert json.loads(expected)["executions"][0]["events"][3]["data"] == "ü"


def test_every_recording_comes_back_as_it_was(tmp_path: Path) -> None:
    seen = 0
    for path in RECORDED:
        with open_source(path) as source:
            for original in source.recordings():
                text = original.to_json(tmp_path / "run.json")
                assert (tmp_path / "run.json").read_text(encoding="utf-8") == text
                assert Recording.from_json(text) == original
                assert Recording.from_json(tmp_path / "run.json") == original
                assert Recording.from_json(text).to_json() == text
                seen += 1
    assert seen > 70


def test_stored_turn_numbers_and_refused_turns_come_back() -> None:
    original = recording(turns=TURNS, refused=frozenset({2}))
    again = Recording.from_json(original.to_json())
    assert again == original
    assert again.executions[0].history.turns == TURNS
    assert again.executions[0].history.refused == {2}
    assert not again.executions[0].turns_inferred


ODD_TEXTS = [
    "",
    "null",
    "{not json",
    '"text"',
    " " + TEXTS[1],
    TEXTS[1] + "\n",
    TEXTS[1].replace(",", " ,\n\t"),
    TEXTS[1].replace('"key":"n"', r'"key":"\u006e"'),
    event_text(2, "Later", row=7, text="of its own", type_="x"),
    event_text(2, "Later", big=10**400, deep=[[[{}]]]),
    '{"row":9,"type":"x","text":"y"}',
    '{"event_id":2}',
    event_text(2, ev.KV_SET, key="n", value="1").replace('"a"', '"b"'),
    event_text(7, ev.KV_SET, key="n", value="1"),
]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_rows_come_back_byte_for_byte(text: str) -> None:
    original = recording(TEXTS[0], text, *TEXTS[2:])
    again = Recording.from_json(original.to_json())
    assert again == original
    assert again.executions[0].history.texts[1] == text


def test_the_events_stand_in_the_file_as_json() -> None:
    events = json.loads(recording().to_json())["executions"][0]["events"]
    assert events == [json.loads(text) for text in TEXTS]


def test_fields_that_this_version_does_not_know_are_ignored() -> None:
    envelope = json.loads(recording().to_json())
    envelope["note"] = "by hand"
    envelope["executions"][0]["lines"] = {"2": 14}
    assert Recording.from_json(json.dumps(envelope)).instance_id == "a"


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    recording().to_json(tmp_path / "run.json")
    before = state_of(tmp_path)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(OSError, match="folder"):
        recording().to_json(tmp_path / "folder.json")
    (tmp_path / "folder.json").rmdir()
    assert state_of(tmp_path) == before


def test_a_written_file_may_be_read_by_whom_the_umask_allows(tmp_path: Path) -> None:
    recording().to_json(tmp_path / "run.json")
    (tmp_path / "plain").touch()
    assert (tmp_path / "run.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_half_a_character_cannot_be_written() -> None:
    odd = msgspec.structs.replace(recording(), custom_status="\ud800")
    with pytest.raises(NotStorable, match="U\\+D800"):
        odd.to_json()


# Bad ones.


def changed(**fields: Any) -> str:
    """The envelope with these fields replaced."""
    return json.dumps({**json.loads(recording(turns=TURNS).to_json()), **fields})


def changed_execution(**fields: Any) -> str:
    """The envelope with these fields of its execution replaced."""
    (execution,) = json.loads(recording(turns=TURNS).to_json())["executions"]
    return changed(executions=[{**execution, **fields}])


FORM = "the text does not have the form of a workbench recording: "
BAD = {
    "no JSON at all": ("{oops", "the text is no JSON: JSON is malformed: object keys must be strings (byte 1)"),
    "cut short": (recording().to_json()[:900], "the text is no JSON: Input data was truncated"),
    "half a character": ('{"\ud800"}', "the text is no JSON: character 2 is half a character"),
    "another kind of file": ('{"nbformat": 4}', FORM + "Object missing required field `format`"),
    "another format": (
        changed(format="tape"),
        "the text is no workbench recording: its format is 'tape', not 'workbench-recording'",
    ),
    "another version": (changed(version=2), "the text is a recording of version 2; this workbench reads version 1"),
    "another KV model": (changed(kv_model="global"), FORM + "Invalid enum value 'global' - at `$.kv_model`"),
    "a limit that is no number": (
        changed(limits={"kv_keys": "many"}),
        FORM + "Expected `int`, got `str` - at `$.limits.kv_keys`",
    ),
    "events that are no list": (
        changed_execution(events={}),
        FORM + "Expected `array`, got `object` - at `$.executions[0].events`",
    ),
    "a KV row without a key": (
        changed(kv_store=[{"value": "1", "last_updated_at_ms": 1}]),
        FORM + "Object missing required field `key` - at `$.kv_store[0]`",
    ),
    "no execution": (changed(executions=[]), "the text, executions: ids must count upwards from 1 or more, and are []"),
    "executions out of order": (
        changed(executions=json.loads(changed())["executions"] * 2),
        "the text, executions: ids must count upwards from 1 or more, and are [1, 1]",
    ),
    "a turn that begins nowhere": (
        changed_execution(first_events=[1, 9]),
        "the text, executions[0]: turn 2 begins with event 9, which is not there or too early",
    ),
    "turns out of order": (
        changed_execution(first_events=[1, 4, 2]),
        "the text, executions[0]: turn 3 begins with event 2, which is not there or too early",
    ),
    "events before the first turn": (
        changed_execution(first_events=[4]),
        "the text, executions[0]: first_events must begin with event 1, the first one",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_recording_is_refused_with_what_is_wrong_and_where(name: str) -> None:
    text, reason = BAD[name]
    with pytest.raises(BadRecording) as caught:
        Recording.from_json(text)
    assert str(caught.value) == reason


def test_a_bad_file_is_named_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(BAD["another version"][0], encoding="utf-8")
    with pytest.raises(BadRecording) as caught:
        Recording.from_json(tmp_path / "run.json")
    assert str(caught.value) == "run.json is a recording of version 2; this workbench reads version 1"


def test_a_file_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFile) as caught:
        Recording.from_json(str(tmp_path / "run.json"))
    assert str(caught.value) == f"there is no file {str(tmp_path / 'run.json')!r}"
    with pytest.raises(UnreadableFile) as caught_folder:
        Recording.from_json(tmp_path)
    assert str(caught_folder.value) == f"{tmp_path.name} cannot be read: Is a directory"


with open_source(recorded("P-11")) as _source:
    CORPUS = _source.recording("x").to_json().encode()


@given(st.data())
def test_a_mangled_file_is_refused_or_read_and_never_ends_otherwise(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(CORPUS)))
    cut = data.draw(st.integers(0, 40))
    inserted = data.draw(st.binary(max_size=6) | st.sampled_from([b"-", b"9" * 30, b"{", b"null", b'"', b"[" * 3000]))
    mangled = CORPUS[:start] + inserted + CORPUS[start + cut :]
    try:
        read = Recording.from_json(mangled.decode(errors="surrogateescape"))
    except (BadRecording, NoSuchFile, UnreadableFile):
        return
    assert Recording.from_json(read.to_json()) == read
