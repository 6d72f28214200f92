"""The focus: the one place that all views of a panel look at. Addresses are ids, never positions in a list."""

from __future__ import annotations

import re

import traitlets

_ADDRESS = re.compile(r"([0-9]{1,9}\.[0-9]{1,9})(?:\.([0-9]{1,9}))?")


class Focus(traitlets.HasTraits):
    """Where a panel looks: the address of a turn (`1.2`), or of an operation of it (`1.2.3`), and a key, or none.

    Before there is a turn the address is empty. Any other text raises `traitlets.TraitError`.
    """

    address = traitlets.Unicode("")
    key = traitlets.Unicode(None, allow_none=True)

    @traitlets.validate("address")
    def _check(self, proposal: dict[str, str]) -> str:
        address = proposal["value"]
        if address and not _ADDRESS.fullmatch(address):
            raise traitlets.TraitError(f"{address!r} is no address: a turn is 1.2, an operation of it 1.2.3")
        return address

    @property
    def turn(self) -> str:
        """The address of the turn; empty before there is one."""
        match = _ADDRESS.fullmatch(self.address)
        return match.group(1) if match else ""

    @property
    def operation(self) -> str:
        """The address of the operation; empty when only a turn is looked at."""
        return self.address if self.address != self.turn else ""

    def __repr__(self) -> str:
        return f"Focus({self.address!r}{'' if self.key is None else f', key={self.key!r}'})"
