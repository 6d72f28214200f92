"""Seen and heard: enough contrast, a name for every control, and hostile texts that stay texts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Picture

pytestmark = pytest.mark.browser

# The contrast of every text with what lies behind it, colours laid over each other as the browser does.
CONTRAST = """panel => {
  const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
  const pen = canvas.getContext('2d', {willReadFrequently: true});
  const over = (base, colour) => {
    pen.fillStyle = `rgb(${base.join(',')})`; pen.fillRect(0, 0, 1, 1);
    pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = colour => colour.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
    return layers.reduce(over, [255, 255, 255]);
  };
  const found = [];
  const walk = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    const element = text.parentElement;
    if (!text.data.trim() || element.closest('style')) continue;
    const back = behind(element), ink = over(back, getComputedStyle(element).color);
    const [high, low] = [light(back), light(ink)].sort((a, b) => b - a);
    found.push([(high + 0.05) / (low + 0.05), text.data.trim().slice(0, 40)]);
  }
  return found;
}"""
LEAST = 4.5
UNNAMED = re.compile(r"- (button|checkbox|textbox|img|link|combobox|slider)(:|$)", re.MULTILINE)


@pytest.mark.parametrize("name", ["live", "diverged", "poisoning", "recorded"])
def test_every_text_has_enough_contrast(show: Open, name: str) -> None:
    at = show(name)
    at.key({"recorded": "state"}.get(name, "counter")).click()
    expect(at.panel).to_contain_text("last written in")
    for fold in at.panel.locator("summary").all():
        fold.click()
    if at.panel.locator("tbody th [data-focus]").count():
        at.panel.locator("tbody th [data-focus^='1.']").first.click()
    found = at.panel.evaluate(CONTRAST)
    assert len(found) > 40
    assert [each for each in found if each[0] < LEAST] == []


@pytest.mark.parametrize("name", ["live", "poisoning"])
def test_every_control_has_a_name_for_a_screen_reader(show: Open, name: str) -> None:
    at = show(name)
    if name == "live":
        at.panel.get_by_role("checkbox", name="limits").check()
        expect(at.panel.get_by_role("img")).to_be_visible()
    assert UNNAMED.findall(at.panel.aria_snapshot()) == []
    for role, name_of_one in (
        ("button", "First"),
        ("button", "◀ Previous turn"),
        ("textbox", "Turn"),
        ("checkbox", "all keys"),
        ("group", "turns"),
        ("button", "turn 1.1: woken by the start of Counter (event 1), counter = 1"),
    ):
        expect(at.panel.get_by_role(role, name=name_of_one, exact=True)).to_have_count(1)  # type: ignore[arg-type]
    for role, name_of_several in (
        ("button", "key counter"),
        ("columnheader", "operation"),
        ("rowheader", "key counter"),
    ):
        expect(at.panel.get_by_role(role, name=name_of_several, exact=True).first).to_be_visible()  # type: ignore[arg-type]


def test_hostile_texts_are_texts(show: Open, picture: Picture) -> None:
    at = show("hostile")
    at.button("First").click()
    at.panel.get_by_role("checkbox", name="locals").check()
    at.panel.get_by_role("checkbox", name="all keys").check()
    expect(at.panel).to_contain_text("local_value=")
    at.panel.locator("[data-focus^='key:']").first.click()
    expect(at.panel).to_contain_text("last written in")
    expect(at.panel).to_contain_text("<svg onload=window.hit=5>")
    for words in ("<img src=x onerror=window.hit=4>", "</style><script>window.hit=6</script>", "⟨NUL⟩", "⟨U+202E⟩"):
        expect(at.panel).to_contain_text(words)
    assert at.panel.locator("script, img, svg, b, i").count() == 0
    assert at.page.evaluate("() => window.hit") is None
    picture(at, "hostile")


def test_an_error_of_a_handler_is_shown_and_the_panel_goes_on(show: Open) -> None:
    at = show("live")
    at.ask("setattr(panel, '_on', panel._on._replace(with_locals=lambda address: 1 / 0))")
    at.panel.get_by_role("checkbox", name="locals").check()
    expect(at.panel.get_by_role("alert")).to_have_text("ZeroDivisionError: division by zero")
    at.panel.get_by_role("checkbox", name="locals").uncheck()
    expect(at.panel.get_by_role("alert")).to_have_count(0)
    at.turn(1).click()
    expect(at.panel).to_contain_text("Turn 1 · woken by the start of Counter")
