"""The bar of a panel: buttons that go from turn to turn, and a box for the number of one."""

from __future__ import annotations

import ipywidgets as widgets

NEXT, RUN_NEXT = "Next turn ▶", "Run next turn ▶"


class TurnBar:
    """First, previous, next, last, operations, changes of the pinned key, a box that takes a number or an address.

    `pinned` shows the key that is pinned.
    """

    def __init__(self, pinned: widgets.Widget, *switches: widgets.Checkbox) -> None:
        self.first = button("First", "Go to the first turn")
        self.previous = button("◀ Previous turn", "Go to the turn before")
        self.next = button(NEXT, "Go to the next turn")
        self.last = button("Last", "Go to the last turn")
        self.previous_operation = button("‹ Operation", "Go to the operation before, in this turn or an earlier one")
        self.next_operation = button("Operation ›", "Go to the next operation, of this turn or a later one")
        self.previous_change = button("‹ Change", "Go to the turn before that changed the pinned key")
        self.next_change = button("Change ›", "Go to the next turn that changed the pinned key")
        self.number = widgets.Text(description="Turn", continuous_update=False)
        self.number.add_class("workbench-number")
        self.number.style.description_width = "initial"
        self._of = widgets.Label()
        self._of.add_class("workbench-of")
        turns = (self.first, self.previous, self.next, self.last)
        steps = _group(*turns, self.previous_operation, self.next_operation)
        place = _group(self.number, self._of)
        place.add_class("workbench-place")
        changes = _group(self.previous_change, self.next_change, pinned)
        self.root = widgets.HBox([steps, place, changes, _group(*switches)])
        self.root.add_class("workbench-controls")

    def show(self, position: int, count: int, number: str, can_run: bool = False) -> None:
        """Show that turn `number` is looked at, the one at `position` (from 0) of `count`.

        `can_run`: at the last one, *Next* makes another.
        """
        at_end = position >= count - 1
        self.number.value = number
        self._of.value = f"of {count:,}"
        self.next.description = RUN_NEXT if at_end and can_run else NEXT
        self.next.tooltip = "Make one more turn" if at_end and can_run else "Go to the next turn"
        self.next.disabled = at_end and not can_run
        self.previous.disabled = self.first.disabled = position <= 0
        self.last.disabled = at_end

    def show_operations(self, has_previous: bool, has_next: bool) -> None:
        """Say whether there is an operation before, and one after, the one that is looked at."""
        self.previous_operation.disabled = not has_previous
        self.next_operation.disabled = not has_next

    def show_changes(self, has_previous: bool, has_next: bool) -> None:
        """Say whether an earlier turn, and a later one, changed the pinned key."""
        self.previous_change.disabled = not has_previous
        self.next_change.disabled = not has_next


def button(label: str, tooltip: str) -> widgets.Button:
    """A small button; its label is its name for screen readers."""
    made = widgets.Button(description=label, tooltip=tooltip)
    made.add_class("workbench-button")
    return made


def switch(label: str) -> widgets.Checkbox:
    """Something to switch on."""
    made = widgets.Checkbox(description=label, indent=False)
    made.add_class("workbench-switch")
    return made


def _group(*children: widgets.Widget) -> widgets.HBox:
    made = widgets.HBox(children)
    made.add_class("workbench-group")
    return made
