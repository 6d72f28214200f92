"""A saved stepper: one file, complete or not there, that nothing in it can break out of."""

from __future__ import annotations

import json
import re
import stat
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.bench.long_history import counter, counter_recording
from tests.panels.test_hostile import CODE, LIMITS
from tests.views.making import COUNTER, ECHO, read_modify_write, started, typed
from tests.views.test_hostile import ATTRIBUTES, HOSTILE, TAGS
from workbench.runtime.errors import NotASavedPage, TooManyTurns
from workbench.runtime.kv import Entry, Tables
from workbench.runtime.turn import Turn
from workbench.views import saved_page
from workbench.views.saved_page import MOST_TURNS, page, save

WORSE = [
    "</script><script>alert(1)</script>",
    "</SCRIPT ><!--<script>",
    "<![CDATA[ x ]]>",
    "line\u2028separator\u2029",
    "half \ud800 of \udfff it",
    "</main></html>",
    "&#60;script&#62;",
    "\ufffe\uffff\x7f\x85",
]
FRAME = {"html", "meta", "title", "main", "button", "input", "output", "script"}
VOID = {"br", "img", "input", "meta"}


class Reader(HTMLParser):
    """What a page is made of, as a browser reads it: scripts and styles are text to their end tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def data_of(text: str) -> dict[str, Any]:
    """The turns that the script reads."""
    [found] = re.findall(r'<script type="application/json" id="turns">(.*?)</script>', text, re.DOTALL)
    read: dict[str, Any] = json.loads(found)
    return read


def put_together(text: str, address: str) -> str:
    """What the script shows for a turn."""
    data = data_of(text)
    [turn] = [each for each in data["turns"] if each["address"] == address]
    return "".join(data["pieces"][piece] for part in turn["parts"] for piece in part)


@pytest.fixture(scope="module")
def turns() -> tuple[Turn, ...]:
    run = started(COUNTER, given=4)
    run.finish()
    return run.turns


@pytest.fixture(scope="module")
def text(turns: tuple[Turn, ...]) -> str:
    return page(turns, "1.3")


def hostile_turns(texts: list[str]) -> tuple[Turn, ...]:
    storable = [each for each in texts if each.isprintable() or not re.search("[\ud800-\udfff]", each)]
    run = started(CODE, given=storable, instance_id="".join(storable).replace("\0", "")[:5000], limits=LIMITS)
    run.finish()
    return run.turns


# What is in it.


def test_every_turn_is_in_it_as_the_stepper_shows_it(text: str, turns: tuple[Turn, ...]) -> None:
    assert [each["address"] for each in data_of(text)["turns"]] == [turn.address for turn in turns]
    shown = put_together(text, "1.2")
    assert "Turn 2 · woken by activity Noop completed (event 4), 2 new operations" in shown
    assert "def" in shown
    assert "what a client reads" in shown


def test_it_shows_the_turn_that_was_looked_at_also_where_no_script_runs(text: str) -> None:
    before_the_data = text.partition('<script type="application/json"')[0]
    assert "Turn 3 · woken by activity Noop completed (event 7)" in before_the_data
    assert 'value="2"' in before_the_data
    assert "Turn 2 · woken" not in before_the_data
    assert "1 of 5" not in before_the_data


def test_pieces_that_turns_share_are_in_it_once() -> None:
    turns = counter_recording(60).replay(counter).turns
    text = page(turns)
    data = data_of(text)
    assert len(set(data["pieces"])) == len(data["pieces"])
    assert sum(map(len, data["pieces"])) < sum(len(put_together(text, turn.address)) for turn in turns) / 4


def test_what_only_a_live_panel_can_do_is_not_offered(text: str) -> None:
    everything = "".join(data_of(text)["pieces"])
    targets = set(re.findall(r'role="button" tabindex="0" data-focus="([^"]*)"', everything))
    assert targets >= {"1.1", "1.5"}
    assert not [each for each in targets if not re.fullmatch(r"1\.[1-5](\.\d+)?", each)]


def test_the_turn_key_table_is_in_it_up_to_five_hundred_turns(text: str) -> None:
    assert "<summary>turn × key table</summary>" in text
    assert 'data-focus="1.2/key:counter">~ 2</td>' in text


def test_a_divergence_is_told_whole() -> None:
    turns = read_modify_write().replay(typed(ECHO), kv_model="per-turn").turns
    assert "the snapshot is poisoned" in put_together(page(turns), "1.2")


def test_the_same_turns_give_the_same_page(text: str, turns: tuple[Turn, ...]) -> None:
    assert page(turns, "1.3") == text


# What may run and be loaded.


def test_the_policy_lets_this_script_and_style_run_and_nothing_be_loaded(text: str) -> None:
    read = Reader(text)
    policies = [attrs for tag, attrs in read.elements if attrs.get("http-equiv") == "Content-Security-Policy"]
    policy = str(policies[0]["content"])
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    for name, content in (("style", read.texts["style"][0]), ("script", read.texts["script"][-1])):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_the_policy_stands_before_all_that_it_is_for(text: str) -> None:
    tags = [tag for tag, _ in Reader(text).elements]
    assert tags[:3] == ["html", "meta", "meta"]


def test_nothing_in_it_needs_a_hole_in_the_policy(text: str) -> None:
    everything = text + "".join(data_of(text)["pieces"])
    for attribute in (" style=", " onclick=", " src=", " href="):
        assert attribute not in everything
    assert not re.search(r"url\(|@import|https?:", everything)


# What values may hold.


@pytest.fixture(scope="module", params=["short", "worse"])
def hostile(request: pytest.FixtureRequest) -> tuple[Turn, ...]:
    return hostile_turns([each for each in HOSTILE if len(each) < 100] if request.param == "short" else WORSE)


@pytest.mark.parametrize("redact", [None, "values"])
def test_hostile_texts_add_no_element_and_no_attribute(hostile: tuple[Turn, ...], redact: Any) -> None:
    text = page(hostile, hostile[1].address, every_key=True, redact=redact)
    read = Reader(text)
    assert {tag for tag, _ in read.elements} <= TAGS | FRAME
    assert [tag for tag, _ in read.elements].count("script") == 2
    for turn in hostile:
        shown = Reader(put_together(text, turn.address))
        assert {tag for tag, _ in shown.elements} <= TAGS
        names = {name for _, attrs in shown.elements for name in attrs}
        assert {each for each in names if not each.startswith("aria-")} <= ATTRIBUTES
    assert not set(text) & set("\0\u202e\u2066\u2067\u2068\u2069\u2028\u2029\x7f\x85")
    text.encode()


def test_nothing_in_the_data_can_end_its_element(hostile: tuple[Turn, ...]) -> None:
    text = page(hostile, every_key=True)
    raw = text.partition('id="turns">')[2].rpartition("</script>\n<script>")[0]
    assert raw.isascii()
    assert "</" not in raw
    assert "<!" not in raw
    assert "<script" not in raw.casefold()


def test_half_a_character_is_shown_and_not_written() -> None:
    turn = started(COUNTER, given=1).turn()
    odd = msgspec.structs.replace(turn, after=Tables({}, {"k\ud800": Entry("v\udfff", 0)}), instance_id="i\ud83d")
    text = page([odd])
    text.encode()
    assert "k⟨U+D800⟩" in put_together(text, "1.1")


def test_a_megabyte_is_not_carried_along() -> None:
    assert len(page(hostile_turns(["x" * 1_000_000]))) < 200_000


# Redacted.


def test_no_value_is_anywhere_in_a_redacted_file(tmp_path: Path) -> None:
    source = (
        "def flow(ctx, given):\n    kept = given\n"
        '    ctx.set_kv_value("token", kept)\n    yield ctx.schedule_activity("Work", kept)\n'
        '    ctx.get_kv_value("token")\n    raise ValueError(kept)\n'
    )
    run = started(source, given="s3cr3t", instance_id="of-s3cr3t")
    run.finish()
    with run.stepper() as stepper:
        stepper._locals.value = stepper._every_key.value = True
        whole = stepper.save_html(tmp_path / "whole.html").read_text("utf-8")
        hidden = stepper.save_html(tmp_path / "hidden.html", redact="values").read_text("utf-8")
    assert "kept" in whole
    assert whole.count("s3cr3t") > 10
    assert "s3cr3t" not in hidden
    assert "set token = &quot;‹6 B›&quot;" in put_together(hidden, "1.1")
    assert "Values are not in it: each stands as its size." in hidden
    assert "kept" in hidden


# The file.


def test_it_is_written_whole_or_not_at_all(
    turns: tuple[Turn, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    assert save(path, turns) == path
    first = path.read_text("utf-8")

    def fails(*_: object, **__: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        save(path, turns[:1])
    assert path.read_text("utf-8") == first
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_page_saved_before_is_replaced(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    path = save(str(tmp_path / "page.html"), turns[:1])
    assert "1 turn" in save(path, turns, wanted=range(1, 2)).read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(_made(tmp_path / "other").stat().st_mode)


def _made(path: Path) -> Path:
    path.write_text("")
    return path


def test_another_file_is_left_alone(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    path = tmp_path / "notes.html"
    path.write_bytes(b"\xffmine")
    with pytest.raises(NotASavedPage, match=r"'notes.html' is there and is no page that workbench saved"):
        save(path, turns)
    assert path.read_bytes() == b"\xffmine"


def test_too_many_turns_are_refused_unless_one_says_which(tmp_path: Path) -> None:
    turns = counter_recording(MOST_TURNS + 1).replay().turns
    with pytest.raises(TooManyTurns, match=r"2,001 turns are more than the 2,000 .* turns=range\(1, 2001\)"):
        save(tmp_path / "page.html", turns)
    text = save(tmp_path / "page.html", turns, wanted=range(1990, 2010)).read_text("utf-8")
    assert [each["address"] for each in data_of(text)["turns"]][:2] == ["1.1990", "1.1991"]
    assert "12 of 2,001 turns" in text


def test_nothing_to_save_is_said(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    for those, wanted in ((turns, range(9, 12)), ((), None)):
        with pytest.raises(ValueError, match="there is nothing to save"):
            save(tmp_path / "page.html", those, wanted=wanted)
    assert list(tmp_path.iterdir()) == []


def test_it_says_how_much_it_holds(text: str) -> None:
    assert re.search(r"Saved by workbench [0-9.]+: 5 turns\. Arrow keys step", text)
    assert saved_page.GENERATOR in text
