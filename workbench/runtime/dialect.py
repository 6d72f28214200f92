"""What one engine's histories do differently from ours: small facts of who recorded, kept out of the engine."""

from __future__ import annotations

import msgspec


class Dialect(msgspec.Struct, frozen=True):
    """How the writer of a history behaved where we behave better (see `WORKBENCH` and `DUROXIDE`).

    `restamps_writes`: a key written in the running execution is as old as the latest replay, not as the write, so a
    prune by age must be read from the record (facts: replay-rule §1.4).
    `forgets_status`: a custom status set before the code first waits is forgotten by `get_custom_status` when
    another one was carried over continue-as-new (F2).
    `lenient_composites`: an invalid member of `all` or `race` is an error result, not an error at the yield (F3).
    `rereads_members`: results inside `all` and `race` went through another JSON library (see `rereading`).
    """

    name: str
    restamps_writes: bool = False
    forgets_status: bool = False
    lenient_composites: bool = False
    rereads_members: bool = False


WORKBENCH = Dialect("workbench")
DUROXIDE = Dialect("duroxide", restamps_writes=True, forgets_status=True, lenient_composites=True, rereads_members=True)


def dialect_of(writer: str) -> Dialect:
    """The dialect of a history by what its events carry in `duroxide_version`."""
    return WORKBENCH if writer.startswith("workbench-") else DUROXIDE
