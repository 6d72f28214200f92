"""Limits of one orchestration instance, and the pure check of a turn against them (spec 001, "Size Limits").

Every limit is the largest value that is still allowed, and sizes are UTF-8 bytes, never characters.
"""

from __future__ import annotations

import msgspec

MAX_KV_KEYS = 10
MAX_KV_VALUE_BYTES = 16 * 1024
MAX_CUSTOM_STATUS_BYTES = 262_144
MAX_TAG_NAME_BYTES = 256
MAX_CARRIED_MESSAGES = 20


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that a turn is held to; `Limits()` has the numbers of the specification.

    `kv_keys` counts keys alive after the turn; the `*_bytes` are UTF-8 bytes; `carried_messages` is how many
    unread queue messages continue-as-new takes along (the oldest are kept).

    >>> Limits(kv_keys=3).kv_keys
    3
    """

    kv_keys: int = MAX_KV_KEYS
    kv_value_bytes: int = MAX_KV_VALUE_BYTES
    custom_status_bytes: int = MAX_CUSTOM_STATUS_BYTES
    tag_name_bytes: int = MAX_TAG_NAME_BYTES
    carried_messages: int = MAX_CARRIED_MESSAGES

    @classmethod
    def duroxide(cls) -> Limits:
        """The numbers of the released duroxide 0.2.2; the default for recordings that come from it."""
        return cls(kv_keys=150, kv_value_bytes=65_536, carried_messages=100)
