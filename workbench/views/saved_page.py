"""A stepper as one HTML page that needs nothing else: no kernel, no network, no file beside it.

Turns are cut into pieces that many of them share, and a small script puts them together again. A content security
policy lets this one script and this one style sheet run, and nothing be loaded, whatever a value may hold.
"""

from __future__ import annotations

import json
import re
import secrets
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from workbench.runtime.errors import NotASavedPage, TooManyTurns
from workbench.runtime.turn import Turn
from workbench.runtime.version import VERSION
from workbench.views import stepper, turn_key_table, words
from workbench.views.grid import css as grid_css
from workbench.views.look import Look
from workbench.views.markup import Html, element, escape, join
from workbench.views.redaction import Redact, redacted
from workbench.views.style import css

MOST_TURNS = 2_000
"""Turns of one page, unless somebody says which are wanted."""
MOST_ROWS = 500
"""Turns up to which the page also holds the turn × key table."""
GENERATOR = "workbench saved stepper"

_HERE = Path(__file__).parent
_SCRIPT = (_HERE / "saved_page.js").read_text("utf-8")
_STYLE = (_HERE / "saved_page.css").read_text("utf-8")

_CUT = re.compile(r'(?=<tr|<div|<table|<details|<span class="workbench-number"|<span class="workbench-link|<p )')
_FOCUS = re.compile(
    r' role="button" tabindex="0" data-focus="([^"]*)"(?: aria-label="[^"]*")?(?: aria-current="true")?'
)
_WIDTH = re.compile(r' style="width:([0-9.]+)%"')


class SavedTurn(NamedTuple):
    """A turn by its address, and the pieces of its head, its strip and its body, by their numbers."""

    address: str
    parts: tuple[list[int], list[int], list[int]]


def save(
    path: str | Path,
    turns: Sequence[Turn],
    focus: str = "",
    every_key: bool = False,
    redact: Redact | None = None,
    wanted: range | None = None,
    with_locals: Callable[[str], Turn] | None = None,
) -> Path:
    """Write the turns to `path` as one page that opens at the turn `focus`, and return where it is.

    `wanted` are the turns to keep, counted from 1 over all executions; `with_locals` gives a turn with its locals.
    The file is complete or not there: it is written beside the path and renamed. Raises `TooManyTurns` for more than
    2,000 turns without `wanted`, `ValueError` when none is wanted, `NotASavedPage` for a file that is something else.
    """
    path = Path(path)
    if path.exists() and f'content="{GENERATOR}"' not in _beginning(path):
        raise NotASavedPage(path)
    kept = chosen(turns, wanted)
    if with_locals is not None:
        kept = [with_locals(turn.address) for turn in kept]
    text = page(kept, focus, every_key, redact, len(turns))
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        beside.write_text(text, "utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path


def chosen(turns: Sequence[Turn], wanted: range | None) -> list[Turn]:
    """The turns that a page holds."""
    if wanted is None:
        if len(turns) > MOST_TURNS:
            raise TooManyTurns(len(turns), MOST_TURNS)
        kept = list(turns)
    else:
        kept = [turn for number, turn in enumerate(turns, 1) if number in wanted]
    if not kept:
        raise ValueError(f"there is nothing to save: {words.counted(len(turns), 'turn')}, and none of them is wanted")
    return kept


def page(
    turns: Sequence[Turn], focus: str = "", every_key: bool = False, redact: Redact | None = None, of: int | None = None
) -> str:
    """The page as text; `of` is how many turns there are in all."""
    shown = turns if redact is None else redacted(turns, redact)
    rendered = [_rendered(shown, turn, every_key) for turn in shown]
    addresses = [turn.address for turn in turns]
    opened = addresses.index(focus) if focus in addresses else len(addresses) - 1
    pieces: dict[str, int] = {}
    saved = [
        SavedTurn(address, tuple(_pieces(part, pieces) for part in parts))  # type: ignore[arg-type]
        for address, parts in zip(addresses, rendered, strict=True)
    ]
    table = _table(shown)
    style = css() + grid_css() + _STYLE + _widths([*pieces, table])
    title = f"{words.shown(shown[-1].orchestration)} · {words.shown(shown[-1].instance_id)}"
    content = _main(rendered[opened], opened, addresses, table, _note(len(turns), of or len(turns), redact))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(style, _SCRIPT)}">',
            f'<meta name="generator" content="{GENERATOR}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            content,
            f'<script type="application/json" id="turns">{_as_data(pieces, saved)}</script>',
            f"<script>{_SCRIPT}</script>",
            "</html>\n",
        ]
    )


def policy(style: str, script: str) -> str:
    """Nothing may be loaded, and only these two texts may run or style."""
    directives = [
        "default-src 'none'",
        f"script-src '{_digest(script)}'",
        f"style-src '{_digest(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(directives)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _rendered(turns: Sequence[Turn], turn: Turn, every_key: bool) -> tuple[str, str, str]:
    """Head, strip and body, without what only a live panel can do."""
    known = {each.address for each in turns}

    def focus(match: re.Match[str]) -> str:
        address = ".".join(match.group(1).split(".")[:2])
        leads = address in known and (address != turn.address or match.group(1) == address)
        return match.group() if leads else ""

    made = stepper.picture(turns, turn, Look(turn=turn.address, every_key=every_key))
    head, strip, body = (_WIDTH.sub(_width_class, _FOCUS.sub(focus, part)) for part in made)
    return head, strip, body


def _width_class(match: re.Match[str]) -> str:
    return f' class="workbench-fill-{round(float(match.group(1)))}"'


def _widths(texts: Sequence[str]) -> str:
    """Rules for the bars: an element's own style would need a hole in the policy."""
    found = {int(each) for text in texts for each in re.findall(r'class="workbench-fill-(\d+)"', text)}
    return "".join(f".workbench .workbench-fill-{each}{{width:{each}%}}" for each in sorted(found))


def _pieces(text: str, pieces: dict[str, int]) -> list[int]:
    return [pieces.setdefault(each, len(pieces)) for each in _CUT.split(text) if each]


def _as_data(pieces: dict[str, int], turns: Sequence[SavedTurn]) -> str:
    """JSON of ASCII characters in which no element and no comment can begin or end, so that it stays data."""
    data = {"pieces": list(pieces), "turns": [turn._asdict() for turn in turns]}
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!", "\\u003c!")


def _main(parts: Sequence[str], opened: int, addresses: Sequence[str], table: str, note: str) -> str:
    named = zip(("head", "strip", "body"), parts, strict=True)
    head, strip, body = (element("div", Html(part), id=name) for name, part in named)
    return f'<main class="workbench">{join([head, _controls(opened, addresses), strip, body, table, note])}</main>'


def _controls(opened: int, addresses: Sequence[str]) -> Html:
    last = len(addresses) - 1
    buttons = [
        element("button", label, id=name, type="button")
        for name, label in (
            ("first", "First"),
            ("previous", "◀ Previous turn"),
            ("next", "Next turn ▶"),
            ("last", "Last"),
        )
    ]
    slider = Html(f'<input type="range" id="slider" min="0" max="{last}" value="{opened}" aria-label="turn">')
    place = element("output", f"turn {addresses[opened]} · {opened + 1} of {len(addresses)}", id="place")
    return element("div", *buttons, slider, place, id="controls", css="saved-controls", hidden="")


def _table(turns: Sequence[Turn]) -> Html:
    """The turn × key table folded below; its rows lead to their turns."""
    keys = turn_key_table.turn_keys(turns)
    if len(turns) > MOST_ROWS or not keys.changes:
        return Html("")
    rows = range(len(turns))
    grid = turn_key_table.key_grid(keys, rows, turn_key_table.columns_of(keys, rows), is_live=False)
    return element(
        "details", element("summary", "turn × key table"), Html(_FOCUS.sub("", grid)), id="table", css="fold"
    )


def _note(count: int, of: int, redact: Redact | None) -> Html:
    which = words.counted(count, "turn") if count == of else f"{count:,} of {of:,} turns"
    hidden = " Values are not in it: each stands as its size." if redact == "values" else " Values were redacted."
    keys = "Arrow keys step, Home and End go to the ends."
    told = f"Saved by workbench {VERSION}: {which}.{'' if redact is None else hidden} {keys}"
    return element("p", told, css="saved-note")


def _beginning(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(2_000)
