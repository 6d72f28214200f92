"""Which turn breaks the limits first, and when the limits would be reached if it went on as it did lately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.limits import Limits
from workbench.runtime.refusal import BrokenLimit, broken_limit
from workbench.runtime.turn import Operation, Turn
from workbench.runtime.turn_result import FINISHED, TurnResult
from workbench.views import words
from workbench.views.sizes import Sizes

RECENT = 20
"""Turns that a rate is told from."""


class Bounds(NamedTuple):
    """What sizes are held against: the two limits of the engine, and two that it does not have, None where unset."""

    keys: int
    value_bytes: int
    kv_bytes: int | None = None
    history_bytes: int | None = None


class Measure(NamedTuple):
    """One of the four sizes: its name, its values turn by turn, its limit, and whether the engine refuses beyond it."""

    name: str
    values: Sequence[int]
    limit: int | None
    refuses: bool = True
    in_bytes: bool = True
    per_execution: bool = False

    def amount(self, value: int) -> str:
        """A value with its unit: `3`, `16 KiB`."""
        return words.sized(value) if self.in_bytes else f"{value:,}"


class Failure(NamedTuple):
    """The first turn that goes over a limit, what goes over, and whether the engine would refuse (or did) for it."""

    turn: Turn
    what: str
    refuses: bool = True
    recorded: bool = False

    @property
    def in_words(self) -> str:
        """`would be refused in turn 7: key count 11 of 10`."""
        if not self.refuses:
            return f"over the limit set here in turn {name_of(self.turn)}: {self.what}"
        return f"{'was' if self.recorded else 'would be'} refused in turn {name_of(self.turn)}: {self.what}"


def bounds_of(limits: Limits) -> Bounds:
    """The bounds that limits come to."""
    return Bounds(limits.kv_keys, limits.kv_value_bytes)


def measures(sizes: Sequence[Sizes], bounds: Bounds) -> tuple[Measure, Measure, Measure, Measure]:
    """The four sizes beside their limits."""
    return (
        Measure("keys", [each.keys for each in sizes], bounds.keys, in_bytes=False),
        Measure("largest value", [each.value_bytes for each in sizes], bounds.value_bytes),
        Measure("all keys and values", [each.kv_bytes for each in sizes], bounds.kv_bytes, refuses=False),
        Measure(
            "history", [each.history_bytes for each in sizes], bounds.history_bytes, refuses=False, per_execution=True
        ),
    )


def failures(turns: Sequence[Turn], sizes: Sequence[Sizes], limits: Limits, bounds: Bounds) -> list[Failure]:
    """The first turn that the engine would refuse, and the first that goes over each bound the engine does not have.

    A turn that was refused when it was recorded is told as such, unless these limits would have let it pass.
    `limits` are those of the instance; keys and value sizes are taken from `bounds`.
    """
    asked = msgspec.structs.replace(limits, kv_keys=bounds.keys, kv_value_bytes=bounds.value_bytes)
    refused = next(_refusals(turns, sizes, asked), None)
    found = [] if refused is None else [refused]
    for measure in measures(sizes, bounds)[2:]:
        over = next((at for at, value in enumerate(measure.values) if is_over(measure, value)), None)
        if over is not None:
            what = f"{measure.name} {measure.amount(measure.values[over])} of {measure.amount(measure.limit or 0)}"
            found.append(Failure(turns[over], what, refuses=False))
    return found


def is_over(measure: Measure, value: int) -> bool:
    """Whether a value is more than its limit allows."""
    return measure.limit is not None and value > measure.limit


def allowed_now(turns: Sequence[Turn], sizes: Sequence[Sizes], limits: Limits, bounds: Bounds) -> Turn | None:
    """The turn that was refused when it was recorded and would pass these limits, if there is one."""
    refused = next((turn for turn in turns if turn.refused is not None), None)
    if refused is None:
        return None
    found = [each for each in failures(turns, sizes, limits, bounds) if each.refuses]
    return None if found else refused


def _refusals(turns: Sequence[Turn], sizes: Sequence[Sizes], limits: Limits) -> Iterator[Failure]:
    for turn, size in zip(turns, sizes, strict=True):
        if turn.divergence is not None:
            continue
        if turn.refused is not None and not _can_be_judged(turn):
            yield Failure(turn, words.sentence(turn.refused), recorded=True)
            continue
        broken = broken_limit(_result(turn, size), limits)
        if broken is not None:
            recorded = turn.refused is not None and turn.refused == broken.text
            yield Failure(turn, broken_in_words(broken), recorded=recorded)


def broken_in_words(broken: BrokenLimit) -> str:
    """`key count 11 of 10`, `value of a 20,000 B of 16 KiB`."""
    fields = broken.fields
    if "key_count" in fields:
        return f"key count {fields['key_count']:,} of {fields['max_keys']:,}"
    for name, what in _WHAT.items():
        if name in fields:
            whose = words.shown(str(fields.get("key", fields.get("activity", ""))))
            sizes = f"{words.sized(fields[name])} of {words.sized(fields['max_bytes'])}"
            return f"{what.format(whose)} {sizes}"
    return words.sentence(broken.text)


_WHAT: Final = {"value_bytes": "value of {}", "status_bytes": "custom status", "tag_bytes": "tag of activity {}"}
_BY_KEYS_OR_VALUES: Final = ("KV key count (", "KV value for key ")


def _can_be_judged(turn: Turn) -> bool:
    """Whether it is known what a refused turn would have written: its record keeps nothing of it, its code does."""
    return any(each.state == "refused" for each in turn.operations) and str(turn.refused).startswith(_BY_KEYS_OR_VALUES)


def _result(turn: Turn, size: Sizes) -> TurnResult:
    """What the turn came to, as the limits look at it."""
    turn_events, keys = turn.events, size.keys
    if turn.refused is not None:
        turn_events = tuple(event for each in turn.operations if (event := _as_event(turn, each)) is not None)
        keys = len(kv.client_view(kv.apply_turn(turn.kv_model, turn.before, turn_events, ended=False)))
    return TurnResult(
        number=turn.number,
        now_ms=turn.now_ms,
        execution_id=turn.execution_id,
        replayed=False,
        arrivals=turn.arrivals,
        status="Running",
        events=turn_events,
        key_count=keys,
    )


def _as_event(turn: Turn, operation: Operation) -> ev.Event | None:
    """A write that a refused turn made, as the event that it would have become."""
    signature = operation.signature
    if signature is None or signature[0] not in ev.KV_EVENTS:
        return None
    kind, *fields = signature
    named: dict[str, Any] = dict(zip(("key", "value"), fields, strict=False))
    return ev.new_event(turn.instance_id, turn.execution_id, 0, turn.now_ms, str(kind), **named)


# At this rate.


def forecast(turns: Sequence[Turn], measure: Measure) -> str:
    """What becomes of a size if it goes on as in the last turns: `at this rate the limit is reached in turn 10 …`.

    A straight line through the first and the last of at most 20 recent turns; where nothing grows it says so.
    """
    values, limit = measure.values, measure.limit
    last = turns[-1]
    if limit is not None and values[-1] >= limit:
        is_past = values[-1] > limit
        before = next((at for at in reversed(range(len(values))) if values[at] < limit + is_past), -1)
        return f"{'over' if is_past else 'at'} the limit since turn {name_of(turns[before + 1])}"
    recent = _recent(turns, measure)
    span, gain = len(recent) - 1, recent[-1] - recent[0]
    if span < 1:
        return "one turn tells no rate"
    over = f"over the last {words.counted(span, 'turn')}"
    if gain <= 0:
        return f"not at this rate: {'the same' if gain == 0 else f'{measure.amount(-gain)} less'} {over}"
    rate = f"+{measure.amount(gain // span)} a turn" if gain % span == 0 else f"+{measure.amount(gain)}"
    if limit is None:
        return f"{rate} {over}"
    reached, broken = (last.number + -(-(each - values[-1]) * span // gain) for each in (limit, limit + 1))
    ended = last.status in FINISHED
    breaks = (
        f", and turn {_number(last, broken)} {'would break' if ended else 'breaks'} it" if broken != reached else ""
    )
    told = f"reached in turn {_number(last, reached)}{breaks} ({rate} {over})"
    return f"had it gone on at this rate, the limit would be {told}" if ended else f"at this rate the limit is {told}"


def _recent(turns: Sequence[Turn], measure: Measure) -> Sequence[int]:
    """The values that the rate is told from; those of a history only of this execution."""
    recent = measure.values[-RECENT:]
    if not measure.per_execution:
        return recent
    same = sum(turn.execution_id == turns[-1].execution_id for turn in turns[-RECENT:])
    return recent[-same:]


def name_of(turn: Turn) -> str:
    """A turn by its number where that says it all, else by its address."""
    return _number(turn, turn.number)


def _number(turn: Turn, number: int) -> str:
    return f"{number:,}" if turn.execution_id == 1 else f"{turn.execution_id}.{number}"


def parsed(text: str) -> int | None:
    """A number as it is typed into a box: `12`, `65,536`, `16 KiB`, `1 MiB`; nothing is None.

    Raises `ValueError` saying what is asked for.
    """
    words_of = text.replace(",", "").replace("_", "").split()
    if not words_of:
        return None
    number, unit = words_of[0], " ".join(words_of[1:]).casefold()
    if not number.isdecimal() or len(number) > 15 or unit not in _UNITS:
        raise ValueError(f"{words.shown(text)} is no size: a number such as 12, 65,536 or 16 KiB is")
    return int(number) * _UNITS[unit]


_UNITS: Final = {"": 1, "b": 1, "kib": 1024, "mib": 1024 * 1024}
