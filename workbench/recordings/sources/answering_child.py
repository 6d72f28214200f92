"""The child process that reads a file for its parent: one question on stdin, one answer on stdout."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from workbench.recordings.envelope import encode
from workbench.recordings.sources.in_child import Answer
from workbench.recordings.sources.opening import open_source
from workbench.runtime.errors import WorkbenchError


def answer(question: bytes) -> Answer:
    """Do what is asked; an error becomes its text."""
    path, what, *arguments = msgspec.msgpack.decode(question, type=list[str])
    try:
        with open_source(Path(path)) as source:
            if what == "kind":
                return Answer(kind=source.kind)
            if what == "warnings":
                return Answer(warnings=source.warnings)
            if what == "listing":
                return Answer(listing=source.listing())
            if what == "recordings":
                return Answer(recordings=[encode(each) for each in source.recordings(arguments)])
            columns, rows = source.query(*arguments)
            return Answer(columns=columns, rows=rows)
    except WorkbenchError as error:
        return Answer(error=str(error))


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer(sys.stdin.buffer.read())))
