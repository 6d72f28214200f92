"""The time between two turns in which nothing happened, as the history has it."""

from __future__ import annotations

from typing import Final

from workbench.runtime.turn import Turn

IDLE_MS: Final = 10_000
"""From how long on a pause between two turns is told; shorter ones are the work itself."""

_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))


def idle_ms(before: Turn, after: Turn) -> int:
    """From the last recorded event of one turn to the first of the next, ms; 0 where it is not recorded."""
    if not before.events or not after.events:
        return 0
    end, start = before.events[-1].timestamp_ms, after.events[0].timestamp_ms
    return max(0, start - end) if end > 0 else 0


def idle_in_words(before: Turn, after: Turn) -> str:
    """`⋯ 2 h 5 min idle`, its two largest units; empty when there was no pause to speak of."""
    left = idle_ms(before, after)
    if left < IDLE_MS:
        return ""
    parts: list[tuple[int, str]] = []
    for name, size in _UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append((count, name))
    return f"⋯ {' '.join(f'{count:,} {name}' for count, name in parts[:2] if count)} idle"
