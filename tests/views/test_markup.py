"""Building HTML: escaped by construction, and addresses that name exactly one key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.making import ECHO, counter, read_modify_write, recorded, typed
from tests.views.pages import Page
from workbench.views import recording
from workbench.views.characters import ISOLATE, ISOLATE_END, visible
from workbench.views.markup import Html, element, escape, focusable, join, key_address, key_at


@given(st.text())
def test_an_escaped_text_reads_as_itself(text: str) -> None:
    page = Page(element("p", text, title=text))
    expected = visible(text.replace(ISOLATE, "").replace(ISOLATE_END, ""))
    paragraph = page.all("p")[0]
    shown = paragraph.text.replace("⟨U+2068⟩", "").replace("⟨U+2069⟩", "")
    assert shown == expected
    assert {each.tag for each in page.elements} <= {"p", "bdi"}


def test_what_is_html_already_is_not_escaped_twice() -> None:
    assert element("p", element("b", "a < b")) == "<p><b>a &lt; b</b></p>"
    assert escape(Html("<br>")) == "<br>"
    assert join(["a", Html("<i>b</i>")], between="&") == "a&amp;<i>b</i>"


def test_class_names_are_prefixed_and_attributes_spelt_with_hyphens() -> None:
    assert element("span", css="a b", data_focus="1.2", title=None) == (
        '<span class="workbench-a workbench-b" data-focus="1.2"></span>'
    )


def test_something_focusable_is_a_named_button_in_the_order_of_tab() -> None:
    page = Page(focusable("3", "1.3", label="turn 3", current=True))
    assert page.elements[0].attributes == {
        "class": "workbench-link",
        "role": "button",
        "tabindex": "0",
        "data-focus": "1.3",
        "aria-label": "turn 3",
        "aria-current": "true",
    }


@pytest.mark.parametrize(
    ("key", "address"),
    [("counter", "key:counter"), ("a b/ü", "key:a%20b%2F%C3%BC"), ('"<\0', "key:%22%3C%00"), ("", "key:")],
)
def test_a_key_s_address_is_plain_where_the_key_is(key: str, address: str) -> None:
    assert key_address(key) == address


@given(st.lists(st.text(alphabet="ab%~/\0é\ud800", min_size=0, max_size=300), unique=True))
def test_an_address_finds_its_own_key(keys: list[str]) -> None:
    assert [key_at(key_address(key), keys) for key in keys] == keys


def test_a_very_long_key_has_a_short_address_of_its_own() -> None:
    keys = ["x" * 1_000_000, "x" * 1_000_001]
    assert max(len(key_address(key)) for key in keys) < 60
    assert [key_at(key_address(key), keys) for key in keys] == keys
    assert key_at("key:other", keys) is None


def pictures() -> dict[str, str]:
    run = counter("delta")
    run.turn()
    replay = read_modify_write().replay(typed(ECHO), kv_model="per-turn", keep_locals=True)
    return {
        "turn": run.turn()._repr_html_(),
        "run": run._repr_html_(),
        "diverged": replay.turns[-1]._repr_html_(),
        "replay": replay._repr_html_(),
        "recording": recording.html(recorded("def flow(ctx, _):\n    return (yield ctx.schedule_timer(1))\n")),
    }


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return {name: Page(html) for name, html in pictures().items()}


@pytest.mark.parametrize("name", ["turn", "run", "diverged", "replay", "recording"])
def test_whatever_moves_the_focus_is_reached_by_keyboard_and_has_a_name(pages: dict[str, Page], name: str) -> None:
    found = pages[name].focusable()
    assert found
    for each in found:
        assert each.attributes["tabindex"] == "0"
        assert each.attributes["role"] == "button"
        assert (each.attributes.get("aria-label") or each.text).strip()


@pytest.mark.parametrize("name", ["turn", "run", "diverged", "replay", "recording"])
def test_every_table_head_says_what_it_heads(pages: dict[str, Page], name: str) -> None:
    heads = pages[name].all("th")
    assert heads
    assert {each.attributes["scope"] for each in heads} <= {"row", "col"}
    assert all(each.attributes["scope"] == "col" or each.text.strip() for each in heads)


def test_the_addresses_are_those_of_turn_operation_and_key(pages: dict[str, Page]) -> None:
    addresses = {each.attributes["data-focus"] for each in pages["turn"].focusable()}
    assert addresses == {"1.1.1", "1.1.2", "1.2.1", "1.2.2", "key:counter"}
    assert [each.attributes["data-focus"] for each in pages["replay"].focusable()] == ["1.1", "1.2"] * 2


def test_the_signs_stand_in_a_column_of_their_own(pages: dict[str, Page]) -> None:
    signs = [
        each.text
        for each in pages["diverged"].all("td")
        if "workbench-sign" in (each.attributes.get("class") or "").split()
    ]
    assert signs == ["!", "✗", "!"]


def test_without_its_style_a_picture_still_tells_old_from_new(pages: dict[str, Page]) -> None:
    assert [each.text for each in pages["diverged"].all("del")] == ['"1"']
    assert [each.text for each in pages["diverged"].all("ins")] == ['"2"']
    assert [each.text for each in pages["turn"].all("del")] == ["1", "1"]
