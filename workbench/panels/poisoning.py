"""The poisoning panel: the same orchestration on both KV models, turn by turn, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.panels.turn_panel import TurnPanel
from workbench.runtime.turn import Turn
from workbench.views import poisoning
from workbench.views.look import Look, Picture


class PoisoningPanel(TurnPanel):
    """Shows where the first KV design poisons a read and what the delta design reads in the same place.

    `first` are the turns on the first design (`kv_model="per-turn"`), `fixed` those on the delta design.
    """

    def __init__(self, first: Sequence[Turn], fixed: Sequence[Turn]) -> None:
        self.pair = poisoning.Pair(first, fixed)
        super().__init__(self.pair.both, poisoning.opening(self.pair))

    def _picture(self, look: Look) -> Picture:
        return poisoning.picture(self.pair, look)

    def text(self) -> str:
        """Both models turn by turn as plain text, with the divergence explained."""
        return poisoning.text(self.pair)

    def __repr__(self) -> str:
        return f"PoisoningPanel at {self.focus.address}: {poisoning.line(self.pair)}"
