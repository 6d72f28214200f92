"""What a client answers about an instance. Names are the SDK's."""

from __future__ import annotations

from typing import Any

import msgspec


class OrchestrationResult(msgspec.Struct, frozen=True):
    """The status of an instance: NotFound, Running, Completed or Failed, with what it carries."""

    status: str
    output: Any = None
    error: str | None = None
    custom_status: str | None = None
    custom_status_version: int = 0


class OrchestrationStats(msgspec.Struct, frozen=True):
    """Sizes of an instance, all in UTF-8 bytes.

    `history_*` are those of the current execution, `kv_*` what a client reads, `queue_pending_count` is how many
    unread queue messages the current execution was given when it began.
    """

    history_event_count: int
    history_size_bytes: int
    kv_user_key_count: int
    kv_total_value_bytes: int
    queue_pending_count: int
