"""What calls take and give: whole numbers, texts and JSON, each checked, with an error that names the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from workbench.runtime import payload
from workbench.runtime.errors import InvalidTask, KVDecodeError
from workbench.runtime.tasks import Task


def decode_kv(key: str, text: str, type: Any = None, opening: str = "") -> Any:  # noqa: A002
    """A stored value as JSON, checked against `type` if given; raises `KVDecodeError`, its text after `opening`."""
    try:
        value = payload.load_strict(text)
        return value if type is None else msgspec.convert(value, type)
    except (ValueError, RecursionError) as error:
        raise KVDecodeError(key, str(error), opening) from None


def whole_number(what: str, value: object, least: int, most: int | None = None) -> int:
    """The value, if it is a whole number in the interval; else raises `InvalidTask`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        interval = f"from {least} up" if most is None else f"from {least} to {most}"
        raise InvalidTask(f"{what} is a whole number {interval}, not {type(value).__name__} {value!r}")
    return value


def input_text(name: str, input_value: object) -> str:
    """What is stored of an input: a text as it is, anything else as JSON; raises `NotJSON` or `NotStorable`."""
    if isinstance(input_value, str):
        return payload.storable(f"the input of {name!r}", input_value)
    return payload.dump(f"the input of {name!r}", input_value)


def converter_to(result_type: type | None) -> Callable[[Any], Any] | None:
    """What makes a result one of this type, None without a type."""
    if result_type is None:
        return None
    return lambda value: msgspec.convert(value, result_type)


def stored_text(what: str, value: object) -> str:
    """What is stored of a value that is meant to be text."""
    if isinstance(value, Task):
        raise InvalidTask(
            f"{what} is a task that was not yielded, {value.describe()}: yield it, and store what it gives"
        )
    return payload.storable(what, str(value))
