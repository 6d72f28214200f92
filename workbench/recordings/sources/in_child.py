"""Reading a file that something else in this process has open: in a child process.

SQLite's locks are POSIX locks, and those of a file are gone for the whole process as soon as any descriptor of it is
closed. A duroxide runtime in this process would lose its own, so that such a file is not even looked into here.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from workbench.recordings.envelope import decode
from workbench.recordings.recording import Recording
from workbench.recordings.sources.source import InstanceRow, Source
from workbench.runtime.errors import StoreError, UnknownInstance, UnreadableFile

_DESCRIPTORS: Final = Path("/proc/self/fd")
_SECONDS: Final = 120


class Answer(msgspec.Struct):
    """What the child found: only what was asked for is there, or `error`, a text."""

    error: str | None = None
    kind: str = ""
    warnings: tuple[str, ...] = ()
    listing: list[InstanceRow] = []
    recordings: list[str] = []
    columns: list[str] = []
    rows: list[tuple[Any, ...]] = []


def has_open(path: Path) -> bool:
    """Whether this process holds a descriptor of the file, as far as the system tells (Linux does)."""
    try:
        wanted = path.stat()
        descriptors = list(_DESCRIPTORS.iterdir())
    except (OSError, ValueError):
        return False
    for descriptor in descriptors:
        with suppress(OSError):  # the one that listed them is gone by now
            found = descriptor.stat()
            if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                return True
    return False


class ChildSource(Source):
    """A file that is read by a child process, once for everything that is asked."""

    kind: ClassVar[str] = "file open in this process"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kind = self._ask("kind").kind  # type: ignore[misc]

    def listing(self) -> list[InstanceRow]:
        """One row an instance, oldest first, by one grouped query; no history is read."""
        return self._ask("listing").listing

    def recording(self, instance_id: str) -> Recording:
        """The recording of one instance; raises `UnknownInstance`."""
        return next(self.recordings([instance_id]))

    def recordings(self, instance_ids: Iterable[str] | None = None) -> Iterator[Recording]:
        """All recordings, or those of the ids given, in listing order or the order given."""
        known = self.instance_ids
        wanted = known if instance_ids is None else tuple(instance_ids)
        for instance_id in wanted:
            if instance_id not in known:
                raise UnknownInstance(instance_id, known)
        yield from map(decode, self._ask("recordings", *wanted).recordings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody who reads the file should know about it, as sentences."""
        return self._ask("warnings").warnings

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and rows of a read-only query over the views, and the file's own tables."""
        answer = self._ask("query", sql)
        return answer.columns, answer.rows

    def _ask(self, what: str, *arguments: str) -> Answer:
        question = msgspec.msgpack.encode([str(self.path.absolute()), what, *arguments])
        command = [sys.executable, "-m", "workbench.recordings.sources.answering_child"]
        try:
            done = subprocess.run(command, input=question, capture_output=True, timeout=_SECONDS, check=True)  # noqa: S603
            answer = msgspec.msgpack.decode(done.stdout, type=Answer)
        except (subprocess.SubprocessError, msgspec.DecodeError) as error:
            raise UnreadableFile(self.path, f"the process that reads it gave no answer: {error}") from error
        if answer.error is not None:
            unreadable = str(UnreadableFile(self.path, ""))
            if answer.error.startswith(unreadable):
                raise UnreadableFile(self.path, answer.error.removeprefix(unreadable))
            raise StoreError(answer.error)
        return answer
