"""Every error of workbench.

    WorkbenchError
    ├── UnknownInstance          LookupError   no such instance
    ├── NoTurnYet                LookupError   an instance that only waits to begin has no history
    ├── UnknownOrchestration     LookupError   no function registered under that name (and version)
    ├── UnknownActivity          LookupError   no function registered under that name
    ├── InstanceExists           ValueError    that id is taken
    ├── InstanceFinished                       nothing left to run
    ├── InstanceRunning                        not to be deleted while it runs
    ├── InstanceIsChild                        not to be deleted without its parent
    ├── InstanceNotFailed                      only what has failed can be restarted
    ├── InstanceWaiting                        nothing can move it but a call from outside
    ├── ActivityNotWaiting       LookupError   a result by hand for what is not awaited
    ├── RegistrationConflict     ValueError    a name is taken by other code
    ├── RuntimeIsRunning                       stepping by hand while workers run
    ├── NondeterminismError                    the code left its own history
    ├── InvalidQuestion          ValueError    a question of a lesson cannot be asked
    ├── UnknownChoice            LookupError   a question was answered with what is no choice
    ├── NoCodeToDebug                          there is no line to stop at
    ├── DidNotComeBack                         the code of a turn took too long and was stopped
    ├── KVDecodeError            ValueError    a stored value is not what the code asked for
    ├── NotATask                 TypeError     an orchestration yielded something else
    ├── InvalidTask              TypeError     a task stands where it must not, or an argument is wrong
    ├── NotJSON                  TypeError     a value has no JSON form
    ├── NotStorable              ValueError    a text has no UTF-8 form
    ├── NotText                  TypeError     an id, a name or a reason is something else than text
    ├── ContextInactive                        a context was used outside its turn or thread
    ├── TurnInsideItself                       an activity makes a turn of its own instance
    ├── EmptyCorpus              ValueError    nothing to check, which proves nothing
    ├── CodeForNothing           LookupError   the code that was given is for nothing that was recorded
    ├── NotAFunction             TypeError     something else where a function is wanted
    ├── TooManyTurns             ValueError    more turns than one saved page should hold
    ├── NotASavedPage            FileExistsError  a file that is something else would be overwritten
    └── StoreError
        ├── NoSuchFile           FileNotFoundError
        ├── UnreadableFile                     the file is there and cannot be read
        ├── NotADatabase                       the file is something else
        ├── NotAStore                          a file to look at, not one to write to
        ├── NoHistory                          a database, but none of orchestrations
        ├── DamagedHistory                     a history row cannot be trusted
        ├── StoreLocked                        another process has the file
        ├── StoreOpenWithOtherSettings         this process has it open, differently
        ├── StoreModelMismatch                 the file has the other KV model
        ├── StoreTooNew                        a newer workbench wrote the file
        ├── StoreFileGone                      the file was deleted or replaced underneath
        ├── StoreClosed                        the store was closed
        ├── StatementRefused                   the database refused a statement; nothing of it was kept
        ├── CommitFailed                       turns that the database did not take
        ├── ChangedInsideTurn                  an orchestration would change the store by itself
        ├── LockLost                           somebody else has the instance now
        └── BadRecording                       a JSON recording does not have the right form

All are here, as this tree is read as a whole; none is more than its text.

`ReplayStopped` is no error: it is how a turn that diverged leaves user code, and derives from `BaseException`
so that `except Exception` in an orchestration does not eat it.
"""

from __future__ import annotations

from pathlib import Path


class WorkbenchError(Exception):
    """Base of every error that workbench raises on purpose."""


class ReplayStopped(BaseException):
    """The turn is over although user code is still on the stack; raised again by every later call."""


class UnknownInstance(WorkbenchError, LookupError):
    """There is no such instance."""

    def __init__(self, instance_id: str, known: tuple[str, ...] = ()) -> None:
        self.instance_id = instance_id
        super().__init__(f"there is no instance {instance_id!r}; {_choice('instances here', known)}")


class NoTurnYet(WorkbenchError, LookupError):
    """An instance waits to begin, so it has no history."""

    def __init__(self, instance_id: str) -> None:
        self.instance_id = instance_id
        super().__init__(
            f"instance {instance_id!r} has made no turn yet, so there is no history; "
            "make one with run.turn(), or start the runtime"
        )


class UnknownOrchestration(WorkbenchError, LookupError):
    """No function is registered for an orchestration."""

    def __init__(self, name: str, version: str | None = None, known: tuple[str, ...] = ()) -> None:
        self.name = name
        self.version = version
        what = repr(name) if version is None else f"{name!r} version {version}"
        super().__init__(
            f"no orchestration {what} is registered; {_choice('registered', known)}. Register it with @wb.orchestration"
        )


class UnknownActivity(WorkbenchError, LookupError):
    """No function is registered for an activity; `instead` is a call that gives its result by hand."""

    def __init__(self, name: str, known: tuple[str, ...] = (), instead: str | None = None) -> None:
        self.name = name
        by_hand = "" if instead is None else f", or give its result with {instead}"
        super().__init__(
            f"no activity {name!r} is registered; {_choice('registered', known)}. "
            f"Register it with @wb.activity{by_hand}"
        )


class InstanceExists(WorkbenchError, ValueError):
    """The id of a new instance is taken."""

    def __init__(self, instance_id: str) -> None:
        self.instance_id = instance_id
        super().__init__(
            f"instance {instance_id!r} exists; choose another instance_id, or pass replace=True to delete it first"
        )


class InstanceFinished(WorkbenchError):
    """A turn was asked of an instance that has ended."""

    def __init__(self, instance_id: str, status: str) -> None:
        self.instance_id = instance_id
        self.status = status
        super().__init__(f"instance {instance_id!r} is finished ({status}); there is no further turn")


class InstanceRunning(WorkbenchError):
    """An instance that is still running was to be deleted."""

    def __init__(self, instance_id: str, running: tuple[str, ...]) -> None:
        self.instance_id = instance_id
        self.running = running
        super().__init__(
            f"instance {instance_id!r} is not deleted; {_choice('still running', running)}. "
            "Cancel it first, or pass force=True"
        )


class InstanceIsChild(WorkbenchError):
    """A sub-orchestration was to be deleted alone."""

    def __init__(self, instance_id: str, parent: str, root: str) -> None:
        self.instance_id = instance_id
        self.parent = parent
        self.root = root
        super().__init__(
            f"instance {instance_id!r} is not deleted: it is a sub-orchestration of {parent!r}, which would wait for "
            f"it for ever. Delete {root!r}, and everything below it goes too"
        )


class InstanceNotFailed(WorkbenchError):
    """A restart was asked of an instance that has not failed, or that is about to restart."""

    def __init__(self, instance_id: str, status: str) -> None:
        self.instance_id = instance_id
        self.status = status
        super().__init__(
            f"instance {instance_id!r} is {status}, and only a failed one can be restarted; "
            "to run it from the beginning again, start it under another id, or delete it first"
        )


class InstanceWaiting(WorkbenchError):
    """Nothing here can move the instance; the message says what it waits for and which call would."""

    def __init__(self, instance_id: str, waiting_for: tuple[str, ...], calls: tuple[str, ...]) -> None:
        self.instance_id = instance_id
        self.waiting_for = waiting_for
        self.calls = calls
        super().__init__(
            f"instance {instance_id!r} waits for {_listed(waiting_for, 'and') or 'nothing that is known'}; "
            f"to move it: {_listed(calls, 'or') or 'register the missing code'}"
        )


class ActivityNotWaiting(WorkbenchError, LookupError):
    """A result was given by hand for an activity that the instance does not wait for, or that runs just now."""

    def __init__(self, instance_id: str, event_id: int, waiting: tuple[str, ...], is_run: bool = False) -> None:
        self.instance_id = instance_id
        self.event_id = event_id
        super().__init__(
            f"the activity of event {event_id} of instance {instance_id!r} is being run just now: its own result counts"
            if is_run
            else f"instance {instance_id!r} waits for no activity with event id {event_id}; "
            f"activities it waits for: {', '.join(waiting) or 'none'}"
        )


class RegistrationConflict(WorkbenchError, ValueError):
    """A name is taken, or reserved."""


class RuntimeIsRunning(WorkbenchError):
    """Turns were asked for by hand while background workers make them."""

    def __init__(self) -> None:
        super().__init__("wb.runtime is running and makes the turns; call wb.runtime.shutdown() to step by hand")


class NondeterminismError(WorkbenchError):
    """The code of an instance left its own history; the message is the whole explanation."""


class InvalidQuestion(WorkbenchError, ValueError):
    """A question of a lesson cannot be asked like this."""


class UnknownChoice(WorkbenchError, LookupError):
    """A question was answered with what is no choice of it."""

    def __init__(self, choice: str, choices: tuple[str, ...]) -> None:
        self.choice = choice
        super().__init__(f"{choice!r} is no choice; take one of {', '.join(map(repr, choices))}, or its letter")


class NoCodeToDebug(WorkbenchError):
    """The debugger was to stop in a turn that runs no code."""


class DidNotComeBack(WorkbenchError):
    """The code of a turn took longer than its deadline and was stopped; nothing of the turn was recorded.

    `where` is the place in the code where it was found at the deadline; `did` says both.
    """

    def __init__(self, instance_id: str, turn: int, deadline_ms: int, where: str | None) -> None:
        self.instance_id = instance_id
        self.turn = turn
        self.where = where
        self.did = f"did not come back within {deadline_ms} ms{'' if where is None else f'; it was at {where}'}"
        super().__init__(
            f"instance {instance_id!r}, turn {turn}: the code {self.did}. Nothing of this turn was recorded. Let "
            "every turn end (wait with ctx.schedule_timer, do slow work in an activity), or switch the watchdog off "
            "with deadline_ms=None"
        )


class KVDecodeError(WorkbenchError, ValueError):
    """A stored value is not JSON, or not of the type that was asked for."""

    def __init__(self, key: str, reason: str, opening: str = "") -> None:
        self.key = key
        super().__init__(f"{opening}the value of key {key!r} cannot be read as asked: {reason}")


class NotATask(WorkbenchError, TypeError):
    """An orchestration yielded (or awaited) something that is no task."""

    def __init__(self, yielded: object) -> None:
        kind = "" if yielded is None else type(yielded).__name__
        super().__init__(
            "an orchestration may only yield what its context returns, such as ctx.schedule_activity(...); "
            f"it yielded {f'{kind} {_lasting_repr(yielded)}'.strip()}"
        )


def _lasting_repr(value: object) -> str:
    """The start of what a value looks like; nothing for one that looks otherwise in every replay."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 (a repr may raise anything; the type is named without it)
        return ""
    if " at 0x" in shown or (shown.startswith("<") and not type(value).__module__.startswith("workbench.")):
        return ""
    return shown if len(shown) <= 60 else shown[:57] + "..."


class InvalidTask(WorkbenchError, TypeError):
    """A task stands where it must not (inside `all` or `race`), or was asked for with an argument of a wrong kind."""


class NotJSON(WorkbenchError, TypeError):
    """A value that must be stored as JSON has no JSON form; the message names type and path."""

    def __init__(self, what: str, kind: str, path: str) -> None:
        self.kind = kind
        self.path = path
        super().__init__(f"{what} is stored as JSON, and {kind} at {path} has no JSON form")


class NotStorable(WorkbenchError, ValueError):
    """A text with half a character (a lone surrogate) cannot be stored."""

    def __init__(self, what: str, text: str) -> None:
        position = next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")
        self.position = position
        super().__init__(
            f"{what} cannot be stored as UTF-8: its character {position + 1} is the lone surrogate "
            f"U+{ord(text[position]):04X}"
        )


class NotText(WorkbenchError, TypeError):
    """An id, a name or a reason is something else than text."""

    def __init__(self, what: str, value: object) -> None:
        super().__init__(f"{what} is a text, not {type(value).__name__} {value!r:.60}")


class ContextInactive(WorkbenchError):
    """An orchestration context was used outside its turn, or from another thread."""


class TurnInsideItself(WorkbenchError):
    """An activity made a turn of the instance that waits for it: neither could ever end."""

    def __init__(self, instance_id: str) -> None:
        self.instance_id = instance_id
        super().__init__(
            f"a turn of instance {instance_id!r} is being made on this thread, so its own activity cannot make "
            "another; return, and the next turn is made by whoever made this one"
        )


class EmptyCorpus(WorkbenchError, ValueError):
    """There are no recordings where some were expected: a check of nothing must not pass."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"there is nothing in {what}: a check of no recordings proves nothing. Record some, or mend the path"
        )


class CodeForNothing(WorkbenchError, LookupError):
    """Code was given by name, and no recording is of that name: a check that compares nothing must not pass."""

    def __init__(self, given: tuple[str, ...], recorded: tuple[str, ...]) -> None:
        super().__init__(
            f"no recording is of {', '.join(map(repr, given))}, so nothing would be compared; "
            f"{_choice('orchestrations that were recorded', recorded)}"
        )


class NotAFunction(WorkbenchError, TypeError):
    """Something else was given where the function of an orchestration or activity is wanted."""

    def __init__(self, what: str, code: object) -> None:
        kind = "the class" if isinstance(code, type) else f"{type(code).__name__}"
        super().__init__(f"{what} such as `def flow(ctx, input)`, not {kind} {code!r:.60}")


class TooManyTurns(WorkbenchError, ValueError):
    """A saved page would hold more turns than is good for a browser, and nobody said which are wanted."""

    def __init__(self, count: int, most: int) -> None:
        self.count = count
        self.most = most
        super().__init__(
            f"{count:,} turns are more than the {most:,} that one page is saved with. Say which, counted from 1: "
            f"turns=range(1, {most + 1})"
        )


class NotASavedPage(WorkbenchError, FileExistsError):
    """The file to save to is there and was not saved by workbench; it is left alone."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        name = Path(path).name
        super().__init__(f"{name!r} is there and is no page that workbench saved: use another name, or remove it first")


class StoreError(WorkbenchError):
    """Base of everything that is wrong with a file."""


class NoSuchFile(StoreError, FileNotFoundError):
    """There is no file at that path."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        super().__init__(f"there is no file {self.path!r}")


class UnreadableFile(StoreError):
    """The file is there, but reading it fails."""

    def __init__(self, path: str | Path, reason: str) -> None:
        self.path = str(path)
        super().__init__(f"{Path(path).name} cannot be read: {reason}")


class NotADatabase(StoreError):
    """The file is no database and no recording."""

    def __init__(self, path: str | Path, reason: str) -> None:
        self.path = str(path)
        super().__init__(
            f"{Path(path).name} is neither a duroxide database, nor a workbench store, nor a JSON recording: {reason}"
        )


class NotAStore(StoreError):
    """The file has another format, which can be looked at but not written to."""

    def __init__(self, path: str | Path, what: str) -> None:
        self.path = str(path)
        super().__init__(
            f"{Path(path).name} is {what}, not a workbench store, and nothing was written to it; "
            "look at it with open_source(path), or name another file"
        )


class NoHistory(StoreError):
    """The database holds no orchestration history; `missing` is the table that it would be in."""

    def __init__(self, path: str | Path, tables: tuple[str, ...], missing: str = "history") -> None:
        self.path = str(path)
        super().__init__(
            f"{Path(path).name} is a database without orchestration history: it has no table {missing!r}; "
            f"{_choice('its tables', tables)}"
        )


class DamagedHistory(StoreError):
    """A history row cannot be trusted, so nothing is replayed over it."""

    def __init__(self, instance_id: str, execution_id: int, row: str, reason: str) -> None:
        self.instance_id = instance_id
        self.execution_id = execution_id
        self.row = row
        self.reason = reason
        super().__init__(f"the history of {instance_id!r}, execution {execution_id}, is damaged at {row}: {reason}")


class StoreLocked(StoreError):
    """Another process has the file open; DuckDB lets only one write."""

    def __init__(self, path: str | Path, holder: str) -> None:
        self.path = str(path)
        self.holder = holder
        super().__init__(
            f"{Path(path).name} is open in {holder}; a DuckDB file has one process at a time. "
            "Close it there (wb.close(), or stop that kernel), or open a copy of the file"
        )


class StoreOpenWithOtherSettings(StoreError):
    """This process has the file open with other settings."""

    def __init__(self, path: str | Path, setting: str, there: object, here: object) -> None:
        super().__init__(
            f"{Path(path).name} is open in this process with {setting}={there!r}, not {here!r}; "
            "use the same arguments, or close it first with wb.close()"
        )


class StoreModelMismatch(StoreError):
    """The file's KV model is not the one asked for."""

    def __init__(self, path: str | Path, version: int) -> None:
        super().__init__(
            f"{Path(path).name} has the two tables of the delta model (schema version {version}) and cannot be "
            "opened with kv_model='per-turn': which execution wrote a key is no longer known. "
            "Leave kv_model out, or start a new file"
        )


class StoreTooNew(StoreError):
    """The file has a schema version that this release does not know."""

    def __init__(self, path: str | Path, version: int, newest: int) -> None:
        self.version = version
        super().__init__(
            f"{Path(path).name} has schema version {version}, and this workbench reads versions up to {newest}; "
            "open it with the workbench that wrote it, or a later one"
        )


class StoreFileGone(StoreError):
    """The file was deleted, or another one put in its place, while this process has it open."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(
            f"{Path(path).name} was deleted or replaced while it is open here, so nothing more is written to it; "
            "close it with wb.close(), then open the path again"
        )


class StoreClosed(StoreError):
    """The store was closed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the store {name} is closed; open it again with Workbench(path)")


class StatementRefused(StoreError):
    """The database refused a statement; its transaction was rolled back whole."""

    def __init__(self, name: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the database {name} refused, and nothing was changed: {reason}")


class CommitFailed(StoreError):
    """Turns that the database did not take; the others of their batch were written.

    `reasons` maps their instance ids to the database's text; `refused` are the instances of the same batch whose
    lock was lost.
    """

    def __init__(self, reasons: dict[str, str], refused: tuple[str, ...] = ()) -> None:
        self.reasons = reasons
        self.refused = refused
        each = "; ".join(f"the turn of {instance_id!r} was not written: {why}" for instance_id, why in reasons.items())
        super().__init__(f"{each}. Other turns of the batch are not affected")


class ChangedInsideTurn(StoreError):
    """An orchestration called something that writes to the store: every replay of it would do so again."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the store {name} cannot be changed from inside an orchestration, as every replay would do it again; use "
            "what the context has (ctx.start_orchestration …), or do it in an activity (ctx.get_client() there)"
        )


class LockLost(StoreError):
    """The lock under which a turn was made has expired or went to somebody else; nothing was written."""

    def __init__(self, instance_id: str) -> None:
        self.instance_id = instance_id
        super().__init__(f"the lock on instance {instance_id!r} was lost; its turn was not committed and is made again")


class BadRecording(StoreError):
    """A JSON recording does not have the form of one."""


def _listed(words: tuple[str, ...], last: str) -> str:
    return f" {last} ".join(part for part in (", ".join(words[:-1]), words[-1]) if part) if words else ""


def _choice(what: str, names: tuple[str, ...]) -> str:
    if not names:
        return f"{what}: none"
    shown = ", ".join(repr(name) for name in names[:8])
    return f"{what}: {shown}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")
