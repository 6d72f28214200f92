"""Every character of a user's text is seen, and none of them moves what stands around it."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
    r"|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
"""Characters without a shape of their own; joiners only where they join nothing."""

_PICTURES = {"\n": "↵", "\t": "⇥", "\r": "⟨CR⟩", "\0": "⟨NUL⟩", "\x1b": "⟨ESC⟩", "\x7f": "⟨DEL⟩"}
"""Signs that common fonts have; the pictures at U+2400 are in few."""

ISOLATE, ISOLATE_END = "\u2068", "\u2069"
"""Keep a text in another direction from moving its neighbours; HTML has `<bdi>` for them."""
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")


def visible(text: str) -> str:
    r"""The text with every character seen: a line end as `↵`, NUL as `⟨NUL⟩`, a right-to-left override as `⟨U+202E⟩`.

    >>> visible("a\0b\n")
    'a⟨NUL⟩b↵'
    """
    if text.isascii() and text.isprintable():
        return text  # most of what is shown, and ten times as fast
    return _HIDDEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    character = match.group()
    return _PICTURES.get(character) or f"⟨U+{ord(character):04X}⟩"


def isolated(text: str) -> str:
    """The text, kept from turning its neighbours around if any of it runs from right to left."""
    return f"{ISOLATE}{text}{ISOLATE_END}" if _RIGHT_TO_LEFT.search(text) else text


def columns_of(character: str) -> int:
    """The columns of fixed-width text that a character takes."""
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if character in (ISOLATE, ISOLATE_END) or unicodedata.combining(character) else 1
