"""How values, places, events and operations are put in words; text and HTML both take their words from here.

Everything that a user wrote goes through `shown` or `bare`: cut in the middle, and nothing in it that could move
the text around it (control characters, line ends, direction overrides).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import UNSET

from workbench.runtime import events as ev
from workbench.runtime.actions import Action, Signature, describe_signature, signature_of
from workbench.runtime.lines import Chain, Line, describe_line, is_library, is_notebook_file, user_line
from workbench.runtime.reference_text import without_times
from workbench.runtime.turn import Operation
from workbench.views.characters import isolated, visible
from workbench.views.masked import Masked

LONGEST_VALUE = 42
"""Characters of a value that are shown; longer ones lose their middle."""
_HEAD, _TAIL = 24, 12
_MARK = 14
"""Up to so many characters more stand whole: what tells the size would take their place."""
_SENTENCE = 300
_ENDING = 84
_LONGEST_MESSAGE = 600
_QUOTED = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)


def shown(text: str, limit: int = LONGEST_VALUE) -> str:
    """A user's text: every character visible, and a long one as its head, its size in bytes and its tail."""
    if len(text) <= limit + _MARK:
        return isolated(visible(text))
    head, tail = limit * _HEAD // LONGEST_VALUE, limit * _TAIL // LONGEST_VALUE
    return f"{isolated(visible(text[:head]))}…{sized(byte_count(text))}…{isolated(visible(text[-tail:]))}"


def is_cut(text: str) -> bool:
    """Whether `shown` leaves out the middle of this text."""
    return len(text) > LONGEST_VALUE + _MARK


def shown_around(text: str, place: int) -> str:
    """A long text's part around one character, in quotes, with its size: where it differs from another one."""
    if len(text) <= LONGEST_VALUE + _MARK:
        return f'"{isolated(visible(text))}"'
    start = max(0, min(place - LONGEST_VALUE // 3, len(text) - LONGEST_VALUE))
    part = isolated(visible(text[start : start + LONGEST_VALUE]))
    before = "…" if start else ""
    after = "…" if start + LONGEST_VALUE < len(text) else ""
    return f'"{before}{part}{after}" ({sized(byte_count(text))}, from character {start + 1:,})'


def bare(value: str | None, nothing: str = "nothing") -> str:
    """A value without quotes where it can do without: `1`, but `""` and `" a "`."""
    if value is None:
        return nothing
    text = shown(value)
    return text if value and value == value.strip() else f'"{text}"'


def sentence(text: str) -> str:
    """A longer text that may hold a user's words, such as an error or the engine's message."""
    return shown(text, _SENTENCE)


def engine_message(message: str) -> str:
    """The engine's text without its clock figures and without the middle of long quoted values."""
    return shown(_QUOTED.sub(_shortened, without_times(message)), _LONGEST_MESSAGE)


def _shortened(match: re.Match[str]) -> str:
    text = match.group(1)
    return f'"{text[:_HEAD]}…{text[-_TAIL:]}"' if is_cut(text) else match.group()


def byte_count(text: str) -> int:
    """How many UTF-8 bytes a text has; a lone surrogate counts as three."""
    return text.byte_count if isinstance(text, Masked) else len(text.encode("utf-8", "surrogatepass"))


def sized(count: int) -> str:
    """A number of bytes: `1 B`, `65,538 B`, and whole multiples as `16 KiB`."""
    return f"{count // 1024:,} KiB" if count >= 1024 and count % 1024 == 0 else f"{count:,} B"


def counted(count: int, one: str, several: str | None = None) -> str:
    """A number with its noun: `1 operation`, `2 operations`."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def listed(words: Iterable[str], at_most: int = 6) -> str:
    """Words with commas, the rest counted: `a, b and 3 more`."""
    every = list(words)
    more = f" and {len(every) - at_most} more" if len(every) > at_most else ""
    return ", ".join(every[:at_most]) + more


# Places.


def line_number(line: Line) -> int:
    """The number that is shown: from the `def` as 1 in typed code, the file's own in a file."""
    return line.line - line.first_line + 1 if is_notebook_file(line.file) else line.line


def short_place(line: Line) -> str:
    """A place inside a function that is known: `line 4`, or `flow.py:37`."""
    if is_notebook_file(line.file):
        return f"line {line_number(line)}"
    return f"{file_name(line)}:{line.line}"


def file_name(line: Line) -> str:
    """The name of a place's file without its folders."""
    return line.file.replace("\\", "/").rpartition("/")[2]


def place_in(chain: Chain, function: Line | None) -> str:
    """Where an operation was made, short when that is in `function`; empty when it is not known."""
    line = user_line(chain)
    if line is None:
        return ""
    if function is not None and (line.file, line.first_line) == (function.file, function.first_line):
        return short_place(line)
    return f"{line.function}, {short_place(line)}"


def user_chain(chain: Chain) -> Chain:
    """The chain without the lines of Python and installed packages; all of it when nothing else is left."""
    return tuple(line for line in chain if not is_library(line.file)) or chain


def chain_in_words(chain: Chain) -> str:
    """The innermost place and the calls that led to it: `pay, line 3 ← order, line 9`."""
    return " ← ".join(describe_line(line) for line in user_chain(chain))


# Operations and events.


def signature_in_words(signature: Signature) -> str:
    """What an operation is, every field cut and visible."""
    return describe_signature((signature[0], *(each if each is None else shown(str(each)) for each in signature[1:])))


def operation_in_words(operation: Operation) -> str:
    """An operation or read of a turn: `set counter = "1"`, `get counter → 1`."""
    read = operation.read
    if read is not None:
        return f"get {shown(read.key)} → {bare(read.value)}"
    signature = operation.signature
    if signature is None or len(signature) == 1:
        return shown(operation.text)
    return signature_in_words(signature)


def action_in_words(action: Action) -> str:
    """What the code asks for now."""
    if action.kind == ev.CONTINUED_AS_NEW:
        return f"continue as new with {bare(action.extra.get('input'))}"
    if action.kind == ev.TIMER_CREATED:
        return f"timer of {action.extra['delay_ms']} ms"
    if action.kind == ev.STATUS_UPDATED:
        return _status(action.extra.get("status"))
    return signature_in_words(action.signature)


def _status(status: object) -> str:
    return f'custom status "{shown(status)}"' if isinstance(status, str) else "reset custom status"


Answered = Mapping[int, ev.Event]
"""The schedules that completions answer, by event id."""

_OUTCOMES = {
    ev.ACTIVITY_COMPLETED: "completed",
    ev.ACTIVITY_FAILED: "failed",
    ev.TIMER_FIRED: "fired",
    ev.CHILD_COMPLETED: "completed",
    ev.CHILD_FAILED: "failed",
}
_ANSWERED = {
    ev.ACTIVITY_COMPLETED: "activity",
    ev.ACTIVITY_FAILED: "activity",
    ev.TIMER_FIRED: "timer",
    ev.CHILD_COMPLETED: "sub-orchestration",
    ev.CHILD_FAILED: "sub-orchestration",
    ev.ACTIVITY_CANCEL_REQUESTED: "activity",
    ev.CHILD_CANCEL_REQUESTED: "sub-orchestration",
    ev.EVENT_SUBSCRIPTION_CANCELLED: "wait for event",
    ev.QUEUE_SUBSCRIPTION_CANCELLED: "dequeue from",
}


def arrival_in_words(event: ev.Event, answered: Answered) -> str:
    """What arrived, in a few words: `activity Noop completed`, `event go`, `start`."""
    kind = event.type
    if kind in _OUTCOMES:
        return f"{_source(event, answered)} {_OUTCOMES[kind]}"
    if kind == ev.STARTED:
        return f"the start of {shown(str(event.name))}"
    if kind == ev.EVENT_RECEIVED:
        return f"event {shown(str(event.name))}"
    if kind == ev.QUEUE_MESSAGE:
        return f"a message in queue {shown(str(event.name))}"
    return "a cancel request" if kind == ev.CANCEL_REQUESTED else shown(kind)


def event_in_words(event: ev.Event, answered: Answered) -> str:
    """All that is to be said of a recorded event on one line, without times and without who wrote it."""
    kind = event.type
    if kind in (ev.TIMER_CREATED, ev.STATUS_UPDATED):
        if kind == ev.STATUS_UPDATED:
            return _status(event.status)
        return f"timer of {int(event.fire_at_ms or 0) - event.timestamp_ms} ms"
    if kind in ev.OPERATIONS:
        return signature_in_words(signature_of(event))
    if kind in ev.ENDINGS:
        return ending_in_words(event)
    if kind in ev.BREADCRUMBS:
        why = "lost a race" if event.reason == ev.DROPPED else "still under way at the end"
        return f"{_source(event, answered)} let go of: {why}"
    if kind not in ev.ARRIVALS:
        named = "" if event.name is UNSET else f" ({shown(str(event.name))})"
        return f"{shown(kind)}{named}"
    words = arrival_in_words(event, answered)
    if kind == ev.STARTED:
        return f"start of {shown(str(event.name))} {shown(str(event.version))} with {bare(_text(event.input))}"
    if kind == ev.CANCEL_REQUESTED:
        return f"{words}: {bare(_text(event.reason))}"
    content = _text(event.data) if event.result is UNSET else _text(event.result)
    if event.details is not UNSET:
        return f"{words}: {error_in_words(ev.display_error(event.details))}"
    return words if content is None else f"{words}: {bare(content)}"


def ending_in_words(event: ev.Event) -> str:
    """How a recorded execution ended."""
    if event.type == ev.COMPLETED:
        return f"completed with {bare(_text(event.output))}"
    if event.type == ev.CONTINUED_AS_NEW:
        return f"continued as new with {bare(_text(event.input))}"
    return f"failed: {error_in_words(ev.display_error(event.details or {}))}"


def error_in_words(error: str | None) -> str:
    """An error text, longer than other values; of a traceback what stands behind its frames."""
    text = without_times(error or "").strip()
    if text.startswith("Traceback "):
        lines = text.split("\n")
        last_frame = max((at for at, line in enumerate(lines) if line.startswith("  ")), default=0)
        text = "\n".join(lines[last_frame + 1 :])
    return shown(text, _ENDING) if text else "without a message"


def outcome_in_words(status: str, output: str | None) -> str:
    """A status with what came out: `completed with "3"`, `failed: ValueError: no`, `running`."""
    if status == "Completed":
        return f"completed with {bare(output)}"
    if status == "Failed":
        return f"failed: {error_in_words(output)}"
    return f"continued as new with {bare(output)}" if status == "ContinuedAsNew" else shown(status).lower()


def _source(event: ev.Event, answered: Answered) -> str:
    what = _ANSWERED[event.type]
    schedule = answered.get(event.source_event_id or 0)
    if schedule is None or schedule.type not in ev.OPERATIONS or schedule.name is UNSET:
        return f"{what} (event {event.source_event_id})" if what != "timer" else what
    return f"{what} {shown(str(schedule.name))}"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
