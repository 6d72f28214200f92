"""The sizes over the turns as a matplotlib figure, for panels and reports."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn
from workbench.views import words
from workbench.views.limits_check import Bounds, Measure, bounds_of, measures
from workbench.views.sizes import sizes_of
from workbench.views.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MARKERS = 60
"""Turns up to which each has a dot of its own."""
LOGARITHMIC_FROM = 16
"""How many times more the limit has to be than the sizes for the axis to be logarithmic."""


class Ink(NamedTuple):
    """The colours of a figure in one theme."""

    text: str
    ground: str
    line: str
    limit: str


LIGHT = Ink("#212121", "#FFFFFF", PALETTE["added"].light, PALETTE["removed"].light)
DARK = Ink("#DEDEDE", "#212121", PALETTE["added"].dark, PALETTE["removed"].dark)


def figure(turns: Sequence[Turn], limits: Limits | Bounds, dark: bool = False) -> Figure:
    """Keys, largest value, all keys and values, and history (bytes) over the turns, with limits as dashed lines.

    A figure without pyplot: nothing keeps it, nothing has to be closed, any thread may make it.
    """
    from matplotlib.figure import Figure  # a second; only who looks at the figure waits for it

    ink = DARK if dark else LIGHT
    made = Figure(figsize=(7.2, 4.4), dpi=110, facecolor=ink.ground, layout="constrained")
    bounds = bounds_of(limits) if isinstance(limits, Limits) else limits
    addresses = [turn.address for turn in turns]
    for axes, measure in zip(made.subplots(2, 2).flat, measures(sizes_of(turns), bounds), strict=True):
        _draw(axes, measure, ink)
        _number(axes, addresses)
    return made


def png(of: Figure) -> bytes:
    """The figure as PNG, the same bytes every time."""
    stream = BytesIO()
    of.savefig(stream, format="png", facecolor=of.get_facecolor(), metadata={"Software": None})
    return stream.getvalue()


def _draw(axes: Axes, measure: Measure, ink: Ink) -> None:
    axes.set_facecolor(ink.ground)
    places = range(len(measure.values))
    axes.step(places, measure.values, where="mid", color=ink.line, linewidth=1.8)
    if len(measure.values) <= MOST_MARKERS:
        axes.plot(places, measure.values, "o", color=ink.line, markersize=3.5)
    axes.set_title(
        f"{measure.name}, bytes" if measure.in_bytes else measure.name, color=ink.text, fontsize=9, loc="left"
    )
    axes.tick_params(colors=ink.text, labelsize=8)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink.text)
    most = max(measure.values, default=0)
    _scale(axes, measure, most)
    if measure.limit is not None:
        axes.axhline(measure.limit, color=ink.limit, linewidth=1.2, linestyle="--")
        _annotate(axes, f"limit {measure.amount(measure.limit)}", measure.limit, ink)


def _scale(axes: Axes, measure: Measure, most: int) -> None:
    """From nothing to a little above both the limit and the sizes, by powers where the sizes would lie on the floor."""
    from matplotlib.ticker import MaxNLocator

    top = max(measure.limit or 0, most, 1)
    if measure.in_bytes and measure.limit is not None and measure.limit > LOGARITHMIC_FROM * max(most, 1):
        axes.set_yscale("symlog", base=2, linthresh=1)
        axes.set_ylim(0, top * 4)
        axes.set_yticks([0, *(16**power for power in range(1 + len(f"{top:x}")))])
        axes.minorticks_off()
    else:
        axes.set_ylim(0, top * 1.18)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    if measure.in_bytes:
        axes.yaxis.set_major_formatter(lambda value, _: words.sized(int(value)))


def _annotate(axes: Axes, text: str, height: float, ink: Ink) -> None:
    axes.annotate(
        text,
        (0.01, height),
        (0, 2),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        color=ink.text,
        fontsize=8,
    )


def _number(axes: Axes, addresses: Sequence[str]) -> None:
    step = max(1, -(-len(addresses) // 8))
    axes.set_xticks(range(0, len(addresses), step), addresses[::step])
    axes.set_xlim(-0.5, max(len(addresses) - 0.5, 0.5))
