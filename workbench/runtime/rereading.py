"""What duroxide's core makes of a result on its way through `all` or `race`: it reads and writes the JSON once more.

A result that is yielded on its own reaches the code as its text says. A member's result has been through another
JSON library (`race`: once, `all`: twice): keys come sorted, integers beyond 64 bits as floats, the last digit of a
long fraction may be another, and a text that library refuses (`NaN`, half a surrogate pair) arrives as that text.
Recordings of duroxide are replayed so (`Dialect.rereads_members`); we give members their results unchanged.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from msgspec import UNSET

from workbench.runtime import events as ev
from workbench.runtime import payload
from workbench.runtime.waiting import All, Leaf, Race, Retry

LARGEST: Final = 2**64 - 1
SMALLEST: Final = -(2**63)
LARGEST_POWER: Final = 308
_NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")


def value_for(leaf: Leaf, text: str, rereads_members: bool) -> Any:
    """The value of a result for the operation that waited for it."""
    parent = leaf.parent.parent if isinstance(leaf.parent, Retry) else leaf.parent
    if not rereads_members or not isinstance(parent, All | Race):
        return payload.load(text)
    once = reread(text)
    return reread(json.dumps(once)) if isinstance(parent, All) else once


def settle_with(leaf: Leaf, event: ev.Event, rereads_members: bool) -> None:
    """Give an operation the outcome that a completion brings: a value, or an error; of a timer nothing."""
    if event.type == ev.TIMER_FIRED:
        leaf.settle(False, None)
    elif event.details is not UNSET:
        leaf.settle(True, ev.display_error(event.details))
    else:
        leaf.settle(False, value_for(leaf, str(event.result), rereads_members))


def reread(text: str) -> Any:
    """A JSON text as the other library reads it; the text itself if it refuses it.

    >>> reread('{"b": 100000000000000000000, "a": 123456789.12345679}'), reread("[NaN]")
    ({'a': 123456789.1234568, 'b': 1e+20}, '[NaN]')
    """
    try:
        value = json.loads(
            text,
            parse_float=_number,
            parse_int=_number,
            parse_constant=_refuse,
            object_pairs_hook=lambda pairs: dict(sorted(dict(pairs).items())),
        )
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text
    return value


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _number(text: str) -> int | float:
    """A number as serde_json reads it: digits gathered in 64 bits, then one multiplication or division."""
    found = _NUMBER.fullmatch(text)
    assert found is not None  # noqa: S101 (json has matched it)
    sign, whole, fraction, exponent = found.groups()
    digits, left_out = _gather(whole, 0)
    if fraction is None and exponent is None and not left_out:
        integer = -digits if sign else digits
        return integer if integer >= SMALLEST else float(integer)
    digits, ignored = _gather(fraction or "", digits)
    power = left_out - len(fraction or "") + ignored + int(exponent or 0)
    size = _scaled(float(digits), power)
    return -size if sign else size


def _gather(text: str, digits: int) -> tuple[int, int]:
    """Append decimal digits while 64 bits hold them; how many had to be left out."""
    for position, digit in enumerate(text):
        more = digits * 10 + int(digit)
        if more > LARGEST:
            return digits, len(text) - position
        digits = more
    return digits, 0


def _scaled(size: float, power: int) -> float:
    while power < -LARGEST_POWER and size:
        size /= 1e308
        power += LARGEST_POWER
    if power < 0:
        return size / float(f"1e{-power}") if size else size
    if size and (power > LARGEST_POWER or size * float(f"1e{power}") == float("inf")):
        raise ValueError(f"1e{power}")
    return size * float(f"1e{min(power, LARGEST_POWER)}")
