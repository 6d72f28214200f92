"""Whether a failed instance may be given another execution."""

from __future__ import annotations

from workbench.runtime.errors import InstanceNotFailed
from workbench.runtime.messages import ContinueAsNew
from workbench.store.claiming import FAILED
from workbench.store.database import Cursor
from workbench.store.histories import instance_info
from workbench.store.queues import pending_messages

ABOUT_TO_RESTART = "about to restart"


def check_failed(cursor: Cursor, instance_id: str) -> None:
    """Raise `InstanceNotFailed` unless the instance has failed and nobody restarts it already.

    Within the transaction that enqueues the restart: of two who ask at once, one is told.
    """
    info = instance_info(cursor, instance_id)
    status = "not stored" if info is None else info.status
    if status != FAILED:
        raise InstanceNotFailed(instance_id, status)
    waiting = pending_messages(cursor, instance_id)
    if any(isinstance(each, ContinueAsNew) and each.restarts for each in waiting):
        raise InstanceNotFailed(instance_id, ABOUT_TO_RESTART)
