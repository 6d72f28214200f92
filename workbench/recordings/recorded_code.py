"""What a recording made here remembers of the code: its fingerprint and source, and the line of each operation.

A later replay against other code can then tell the line then from the line now, and whether the source has changed.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.runtime import events as ev
from workbench.runtime.divergence import Divergence, LineThen
from workbench.runtime.fingerprint import fingerprint
from workbench.runtime.lines import Line, is_notebook_file, source_line, user_line
from workbench.runtime.turn import Turn

if TYPE_CHECKING:
    from workbench.recordings.recording import Recording


class CodeLine(msgspec.Struct, frozen=True):
    """The line that made the operation of an event."""

    execution_id: int
    event_id: int
    line: LineThen

    @property
    def key(self) -> tuple[int, int]:
        """Which event it is: execution and event id."""
        return self.execution_id, self.event_id


class RecordedCode(msgspec.Struct, frozen=True, eq=False):
    """The orchestration function as it was when the recording was taken.

    `file` is the name of its file (None for a notebook cell), `source` its text (None where that was not to be had).
    It is beside what was recorded, so that recordings are equal with and without it.
    """

    fingerprint: str
    function: str
    file: str | None = None
    source: str | None = None
    lines: tuple[CodeLine, ...] = ()

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, RecordedCode)

    def __hash__(self) -> int:
        return 0

    def line_of(self, execution_id: int, event_id: int) -> LineThen | None:
        """The line that made the operation of an event, None where it is not known."""
        whose = (execution_id, event_id)
        return next((each.line for each in self.lines if each.key == whose), None)


def lines_of(turn: Turn) -> Iterator[CodeLine]:
    """The line of each operation that the turn made and recorded."""
    for operation in turn.operations:
        line = user_line(operation.chain)
        if operation.number is not None and operation.event_id is not None and line is not None:
            yield CodeLine(turn.execution_id, operation.event_id, _line_then(line))


def operations_of(recording: Recording) -> set[tuple[int, int]]:
    """The execution and event id of every recorded operation."""
    return {
        (execution.execution_id, event.event_id)
        for execution in recording.executions
        for event in execution.history.events
        if event.type in ev.OPERATIONS
    }


def remember(code: Callable[..., Any], lines: tuple[CodeLine, ...]) -> RecordedCode:
    """The memory of a function, with the lines of what it made."""
    function = inspect.unwrap(code)
    file = getattr(getattr(function, "__code__", None), "co_filename", "<unknown>")
    return RecordedCode(
        fingerprint=fingerprint(code),
        function=str(getattr(function, "__qualname__", type(code).__qualname__)),
        file=_file_name(file),
        source=source_of(code),
        lines=lines,
    )


def source_of(code: Callable[..., Any]) -> str | None:
    """The text of a function without its outer indentation, None where it is not to be had."""
    try:
        return textwrap.dedent(inspect.getsource(inspect.unwrap(code)))
    except (OSError, TypeError, SyntaxError):
        return None


def has_changed(recorded: RecordedCode, code: Callable[..., Any]) -> bool:
    """Whether the source is another one now; without both texts the fingerprints are compared."""
    now = source_of(code)
    if now is None or recorded.source is None:
        return fingerprint(code) != recorded.fingerprint
    return now.rstrip() != recorded.source.rstrip()


def with_line_then(divergence: Divergence, recorded: RecordedCode, code: Callable[..., Any]) -> Divergence:
    """The divergence with the line that made the recorded operation, and whether the source has changed since."""
    event = divergence.recorded
    line = None if event is None else recorded.line_of(divergence.execution_id, event.event_id)
    return msgspec.structs.replace(divergence, line_then=line, source_changed=has_changed(recorded, code))


def _line_then(line: Line) -> LineThen:
    file = _file_name(line.file)
    return LineThen(
        function=line.function,
        number=line.line - line.first_line + 1,
        text=source_line(line.file, line.line).strip(),
        file=file,
        file_line=None if file is None else line.line,
    )


def _file_name(file: str) -> str | None:
    return None if is_notebook_file(file) else PurePath(file).name
