"""The limits panel's picture: four sizes after a turn, their limits, and what would fail first."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn
from workbench.views import layout, page, words
from workbench.views.addresses import position_of
from workbench.views.limits_check import (
    Bounds,
    Measure,
    allowed_now,
    bounds_of,
    failures,
    forecast,
    is_over,
    measures,
    name_of,
)
from workbench.views.limits_figure import figure, png
from workbench.views.limits_view import bar
from workbench.views.markup import Html, element, focusable, join
from workbench.views.sizes import Sizes, sizes_of

if TYPE_CHECKING:
    import pandas as pd

NO_LIMIT = "none"
NO_TURNS = "no turns"
ENGINES_OWN = ("keys", "value_bytes")


class Growth(NamedTuple):
    """Turns with their sizes, and the limits that they were made under."""

    turns: Sequence[Turn]
    sizes: Sequence[Sizes]
    limits: Limits

    @property
    def bounds(self) -> Bounds:
        """What the sizes are held against unless somebody changes it."""
        return bounds_of(self.limits)


def growth_of(turns: Sequence[Turn]) -> Growth:
    """The sizes of some turns; made once, as it looks at every event."""
    return Growth(turns, sizes_of(turns), turns[-1].limits if turns else Limits())


def changed(bounds: Bounds, limits: Mapping[str, int | None]) -> Bounds:
    """The bounds with some of them changed; raises `ValueError` for what can be no limit."""
    for name, limit in limits.items():
        if name not in Bounds._fields:
            raise ValueError(f"there is no limit {words.shown(name)!r}; there are {', '.join(Bounds._fields)}")
        if limit is None and name in ENGINES_OWN:
            raise ValueError(f"the engine always has a limit for {name}; give it a number")
        if limit is not None and limit < 0:
            raise ValueError(f"a limit is 0 or more, not {limit}")
    return Bounds(**{**bounds._asdict(), **limits})


def up_to(growth: Growth, address: str) -> Growth:
    """The same up to the turn that is looked at, all of it where there is no such turn."""
    position = position_of(growth.turns, address)
    end = len(growth.turns) if position is None else position + 1
    return Growth(growth.turns[:end], growth.sizes[:end], growth.limits)


def verdicts(growth: Growth, bounds: Bounds) -> list[tuple[Turn | None, str]]:
    """What these limits come to over all turns, each sentence with the turn that it is about."""
    found: list[tuple[Turn | None, str]] = [
        (each.turn, each.in_words) for each in failures(growth.turns, growth.sizes, growth.limits, bounds)
    ]
    passed = allowed_now(growth.turns, growth.sizes, growth.limits, bounds)
    if passed is not None:
        found.append((passed, f"turn {name_of(passed)}, refused when it was made, would pass"))
    return found or [(None, "no turn goes over these limits")]


def lines(growth: Growth, bounds: Bounds, address: str = "") -> list[str]:
    """The four sizes as aligned text, and what would fail first."""
    if not growth.turns:
        return [NO_TURNS]
    looked_at = up_to(growth, address)
    rows = [
        (each.name, each.amount(each.values[-1]), _limit(each), forecast(looked_at.turns, each))
        for each in measures(looked_at.sizes, bounds)
    ]
    head = (f"after turn {name_of(looked_at.turns[-1])}", "size", "limit", "")
    told = [sentence for _, sentence in verdicts(growth, bounds)]
    return [*layout.table([head, *rows], right=(1, 2)), *told]


def picture(growth: Growth, bounds: Bounds, address: str = "") -> Html:
    """The sizes with their bars and what becomes of them, and what would fail first."""
    if not growth.turns:
        return page.part(page.sentence("No turns yet."))
    looked_at = up_to(growth, address)
    rows = [_row(looked_at.turns, each) for each in measures(looked_at.sizes, bounds)]
    columns = (
        page.Column("", "sign"),
        page.Column("", "label", is_head=True),
        page.Column("size", "right"),
        page.Column("", "gauge optional"),
        page.Column("limit", "right"),
        page.Column("at this rate", "break"),
    )
    caption = f"After turn {name_of(looked_at.turns[-1])}"
    told = [_verdict(turn, sentence) for turn, sentence in verdicts(growth, bounds)]
    return page.row(page.part(*told, page.table(caption, columns, rows)))


def head(growth: Growth) -> Html:
    """Who this is."""
    if not growth.turns:
        return page.head("Limits", NO_TURNS)
    last = growth.turns[-1]
    what = f"{words.shown(last.orchestration)} · {words.shown(last.instance_id)}"
    return page.head("Limits", f"{what} · {words.counted(len(growth.turns), 'turn')}")


def line(growth: Growth, bounds: Bounds) -> str:
    """`counter-1 · 6 turns · no turn goes over these limits`."""
    who = words.shown(growth.turns[-1].instance_id) if growth.turns else NO_TURNS
    told = [sentence for _, sentence in verdicts(growth, bounds)] if growth.turns else []
    return " · ".join([who, *([words.counted(len(growth.turns), "turn")] if growth.turns else []), *told])


def chart(growth: Growth, bounds: Bounds, dark: bool = False) -> Html:
    """The four sizes over the turns as a picture that says in words what it shows; nothing without turns."""
    if not growth.turns:
        return Html("")
    made = png(figure(growth.turns, bounds, dark))
    alt = f"{', '.join(each.name for each in measures((), bounds))} over {words.counted(len(growth.turns), 'turn')}"
    return element("img", src=f"data:image/png;base64,{b64encode(made).decode()}", alt=alt)


def frame(growth: Growth) -> pd.DataFrame:
    """A row a turn: keys, bytes of the largest value, of all keys and values, and of the history so far."""
    import pandas as pd

    index = pd.Index([turn.address for turn in growth.turns], name="turn", dtype="str")
    return pd.DataFrame(list(growth.sizes), index=index, columns=list(Sizes._fields))


def _row(turns: Sequence[Turn], measure: Measure) -> page.TableRow:
    value = measure.values[-1]
    over = is_over(measure, value)
    gauge = "" if measure.limit is None else bar(value, measure.limit)
    cells = ("✗" if over else "", measure.name, measure.amount(value), gauge, _limit(measure), forecast(turns, measure))
    return page.TableRow(cells, "removed" if over else "")


def _limit(measure: Measure) -> str:
    return NO_LIMIT if measure.limit is None else measure.amount(measure.limit)


def _verdict(turn: Turn | None, sentence: str) -> Html:
    if turn is None:
        return element("p", f"✓ {sentence}", css="verdict")
    link = focusable(f"✗ {sentence}", turn.address, f"{sentence}: go to turn {turn.address}")
    return element("p", join([link]), css="verdict verdict-bad", role="status")
