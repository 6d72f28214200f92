"""A dry run in a fresh process, which hashes strings otherwise and has none of a long-lived kernel's state.

Run as a module this is that process: an order on its input, the answer on its output, both JSON.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from workbench.recordings.dry_run import Findings, dry_run
from workbench.recordings.sent_code import CannotBeSent, SentCode, receive

if TYPE_CHECKING:
    from workbench.recordings.recording import Recording

_STARTING_MS: Final = 30_000
"""How long a fresh process may take to start and import, on top of the deadline for the code, ms."""


class _Order(msgspec.Struct):
    """What a fresh process is asked for."""

    code: SentCode
    recording: str
    path: list[str]
    deadline_ms: int | None


class _Answer(msgspec.Struct):
    findings: Findings = ()
    error: str | None = None


def dry_run_in_fresh_process(recording: Recording, sent: SentCode, seed: str, deadline_ms: int | None) -> Findings:
    """What the code that was sent does otherwise than the record in a process with this hash seed.

    Raises `CannotBeSent` when that process cannot make the code, or gives no answer.
    """
    order = msgspec.json.encode(_Order(sent, recording.to_json(), sys.path, deadline_ms))
    turns = recording.turn_count + 1
    patience = None if deadline_ms is None else (_STARTING_MS + deadline_ms * min(turns, 3)) / 1000
    command = [sys.executable, "-m", "workbench.recordings.fresh_process"]
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(  # noqa: S603 (this very interpreter)
            command, input=order, capture_output=True, env=environment, check=False, timeout=patience
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBeSent(f"the fresh process gave no answer ({type(error).__name__})") from error
    try:
        answer = msgspec.json.decode(done.stdout, type=_Answer)
    except msgspec.DecodeError:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise CannotBeSent(f"the fresh process failed: {last[0]}") from None
    if answer.error is not None:
        raise CannotBeSent(answer.error)
    return answer.findings


def answer_order(order: bytes) -> bytes:
    """In the fresh process: run the code of an order once; what it prints goes to stderr."""
    from workbench.recordings.recording import Recording

    asked = msgspec.json.decode(order, type=_Order)
    with contextlib.redirect_stdout(sys.stderr):
        try:
            code = receive(asked.code)
        except BaseException as error:  # noqa: BLE001 (the user's module may raise anything when it is imported)
            failed = f"it cannot be made again there: {type(error).__name__}: {error}"
            return msgspec.json.encode(_Answer(error=failed))
        return msgspec.json.encode(_Answer(dry_run(Recording.from_json(asked.recording), code, asked.deadline_ms)))


if __name__ == "__main__":
    sys.stdout.buffer.write(answer_order(sys.stdin.buffer.read()))
