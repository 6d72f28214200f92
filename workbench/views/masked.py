"""A value that is not shown: another text stands for it, and it still has its size and differs from other values."""

from __future__ import annotations


class Masked(str):
    """What is shown in place of a value. Two are equal when their values are, whatever is shown for them.

    So that a table whose values are hidden still says which turn changed a key, and how many bytes it has.
    """

    _value: str

    def __new__(cls, shown: str, value: str) -> Masked:
        """`shown` stands for `value`."""
        made = super().__new__(cls, shown)
        made._value = value
        return made

    @property
    def byte_count(self) -> int:
        """UTF-8 bytes of the value itself."""
        return len(self._value.encode("utf-8", "surrogatepass"))

    def __eq__(self, other: object) -> bool:
        return self._value == other._value if isinstance(other, Masked) else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """A copy is the text that is shown: the value does not leave with it."""
        return str, (str(self),)
