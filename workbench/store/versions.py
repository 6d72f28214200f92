"""Schema versions: which there are, which one an opened file goes to, and the way there.

Version 1 is spec 001 as printed, version 2 adds the time of each write, version 3 is the delta design of spec 000.
Versions 1 and 2 belong to the per-turn model, version 3 to the delta model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from workbench.runtime.errors import StoreModelMismatch, StoreTooNew
from workbench.runtime.kv import DELTA, PER_TURN, KVModel
from workbench.store.database import Cursor

NEWEST: Final = 3
NEWEST_OF: Final[dict[KVModel, int]] = {PER_TURN: 2, DELTA: 3}

_DIRECTORY = Path(__file__).parent / "schema"


def model_of(version: int) -> KVModel:
    """The KV model that a file of this schema version has."""
    return DELTA if version >= NEWEST_OF[DELTA] else PER_TURN


def schema_sql(version: int) -> str:
    """The statements that lead from the version before to this one."""
    return (_DIRECTORY / f"{version}.sql").read_text(encoding="utf-8")


def version_to_open(path: Path, version: int, kv_model: KVModel | None) -> int:
    """The version that a file of `version` is opened at; without a model the file keeps its own.

    Raises `StoreTooNew`, and `StoreModelMismatch` for a delta file that is asked for as per-turn.
    """
    if version > NEWEST:
        raise StoreTooNew(path, version, NEWEST)
    if kv_model == PER_TURN and model_of(version) == DELTA:
        raise StoreModelMismatch(path, version)
    return NEWEST_OF[kv_model or model_of(version)]


def migrate(cursor: Cursor, version: int, target: int) -> None:
    """Run the versions after `version` up to `target`; the caller's transaction keeps it all or nothing."""
    for step in range(version + 1, target + 1):
        cursor.execute(schema_sql(step))
