"""How near a turn is to the limits of the key-value store: two bars, and a figure over all turns."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn
from workbench.views import page, words
from workbench.views.changes import key_count, largest_key, largest_value_bytes
from workbench.views.markup import Html, element
from workbench.views.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def limits_in_words(turn: Turn) -> str:
    """`1 of 10 keys, largest value 1 B of 16 KiB`."""
    return f"{key_count(turn)} of {turn.limits.kv_keys} keys, largest value {_largest(turn)}"


def limits_part(turn: Turn) -> Html:
    """Two bars with their numbers in words beside them."""
    columns = [page.Column("", "label", is_head=True), page.Column("", ""), page.Column("", "right")]
    keys, largest = key_count(turn), largest_value_bytes(turn)
    rows = [
        page.TableRow(("keys", bar(keys, turn.limits.kv_keys), f"{keys} of {turn.limits.kv_keys}")),
        page.TableRow(("largest value", bar(largest, turn.limits.kv_value_bytes), _largest(turn))),
    ]
    key = largest_key(turn)
    note = [page.sentence(f"the largest value is that of {words.shown(key)}")] if key is not None and keys > 1 else []
    return page.part(page.table("Limits", columns, rows, with_head=False), *note, css="narrow")


def bar(value: int, limit: int) -> Html:
    """A bar that is full at the limit; what it says stands in words beside it."""
    percent = min(100.0, 100 * value / limit) if limit > 0 else 100.0
    filled = element("span", style=f"width:{percent:.1f}%")
    return element("span", filled, css="bar bar-over" if value > limit else "bar", aria_hidden="true")


def figure(turns: Sequence[Turn], limits: Limits, dark: bool = False) -> Figure:
    """Key count and largest value (bytes) over the turns, each with its limit as a dashed line.

    A figure without pyplot: nothing keeps it, nothing has to be closed, any thread may make it.
    """
    from matplotlib.figure import Figure  # a second; only who looks at the figure waits for it

    ink, ground = ("#DEDEDE", "#212121") if dark else ("#212121", "#FFFFFF")
    accent, limit = (
        (PALETTE["added"].dark, PALETTE["removed"].dark) if dark else (PALETTE["added"].light, PALETTE["removed"].light)
    )
    made = Figure(figsize=(6.4, 2.6), dpi=110, facecolor=ground, layout="constrained")
    axes = made.subplots(1, 2)
    addresses = [turn.address for turn in turns]
    series = [
        (axes[0], "keys", [key_count(turn) for turn in turns], limits.kv_keys, str(limits.kv_keys)),
        (
            axes[1],
            "largest value, bytes",
            [largest_value_bytes(turn) for turn in turns],
            limits.kv_value_bytes,
            words.sized(limits.kv_value_bytes),
        ),
    ]
    for each, name, values, top, top_in_words in series:
        _draw(each, name, values, (top, f"limit {top_in_words}"), (ink, ground, accent, limit))
        _number(each, addresses)
    axes[1].set_yscale("symlog", base=2, linthresh=1)
    axes[1].set_ylim(0, limits.kv_value_bytes * 4)
    axes[1].set_yticks([0, *(16**power for power in range(1 + len(f"{limits.kv_value_bytes:x}")))])
    axes[1].yaxis.set_major_formatter(lambda value, _: words.sized(int(value)))
    axes[1].minorticks_off()
    return made


def png(of: Figure) -> bytes:
    """The figure as PNG, the same bytes every time."""
    stream = BytesIO()
    of.savefig(stream, format="png", facecolor=of.get_facecolor(), metadata={"Software": None})
    return stream.getvalue()


def _draw(
    axes: Axes, name: str, values: Sequence[int], limit: tuple[int, str], colours: tuple[str, str, str, str]
) -> None:
    ink, ground, accent, warn = colours
    axes.set_facecolor(ground)
    places = range(len(values))
    axes.step(places, values, where="mid", color=accent, linewidth=1.8)
    if len(values) <= 60:
        axes.plot(places, values, "o", color=accent, markersize=3.5)
    axes.axhline(limit[0], color=warn, linewidth=1.2, linestyle="--")
    axes.annotate(
        limit[1],
        (0.01, limit[0]),
        (0, 2),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        color=ink,
        fontsize=8,
    )
    axes.set_ylim(0, max(limit[0], *values, 1) * 1.18)
    axes.set_title(name, color=ink, fontsize=9, loc="left")
    axes.tick_params(colors=ink, labelsize=8)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink)


def _number(axes: Axes, addresses: Sequence[str]) -> None:
    step = max(1, -(-len(addresses) // 8))
    axes.set_xticks(range(0, len(addresses), step), addresses[::step])
    axes.set_xlim(-0.5, max(len(addresses) - 0.5, 0.5))


def _largest(turn: Turn) -> str:
    return f"{words.sized(largest_value_bytes(turn))} of {words.sized(turn.limits.kv_value_bytes)}"
