"""Replaying many recordings against changed code: which of them can go on with it, and which cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from workbench.recordings.recording import Recording
from workbench.recordings.replay import Replay, check_code, replay
from workbench.recordings.report import NO_CODE, NOT_READ, CheckReport, CheckRow
from workbench.recordings.sources import Source, open_source
from workbench.runtime.errors import CodeForNothing, EmptyCorpus, WorkbenchError
from workbench.runtime.execution import Code
from workbench.runtime.fingerprint import fingerprint
from workbench.runtime.kv import KVModel, check_model
from workbench.runtime.limits import Limits
from workbench.runtime.lines import describe_line, source_line, user_line
from workbench.runtime.registry import check_version
from workbench.runtime.watchdog import DEADLINE_MS

Codes = Code | Mapping[str, Code | Mapping[str, Code]]
"""A function for every recording; or a function, or versions of it, by the name of the orchestration."""
Corpus = Recording | Source | str | Path | Iterable[Any]
"""Recordings, sources and files, alone or several."""


class Unreadable(msgspec.Struct, frozen=True):
    """A recording that could not be read, and why."""

    instance_id: str
    orchestration: str
    version: str
    status: str
    reason: str


class Settings(msgspec.Struct, frozen=True):
    """How each recording is replayed."""

    kv_model: KVModel | None
    limits: Limits | None
    deadline_ms: int | None
    strict: bool
    missing_code: bool


def check(
    recordings: Corpus,
    code: Codes,
    *,
    strict: bool = False,
    missing_code: bool = False,
    kv_model: KVModel | None = None,
    limits: Limits | None = None,
    deadline_ms: int | None = DEADLINE_MS,
) -> CheckReport:
    """Replay every recording against `code`, one at a time, and report a row for each.

    `recordings` are recordings, sources and files (or an iterable of them). `code` is a function for all of them,
    a dictionary from the name of an orchestration to its function, or from the name to several versions of it:
    `{"OrderFlow": {"1.0.0": order_flow, "1.1.0": order_flow_next}}`, each of which is tried.

    With `strict` also timer delays, status texts and sub-orchestration ids must be as they were. A recording whose
    orchestration has no code fails the check, unless `missing_code` allows it. What goes wrong with one recording is
    its row, never an exception. `kv_model`, `limits` and `deadline_ms` are as for `Recording.replay`.

    Raises `EmptyCorpus` when there is nothing to check, `CodeForNothing` when with `missing_code` no recording has
    code, `NotAFunction`, `RegistrationConflict` for what is no version, `ValueError` for an unknown model, and what
    `open_source` raises.
    """
    check_model(kv_model)
    for version, function in _functions(code):
        check_code(function)
        if version is not None:
            check_version(version)
    settings = Settings(kv_model, limits, deadline_ms, strict, missing_code)
    report = check_each(_each(recordings), code, settings)
    if not report.rows:
        raise EmptyCorpus("the recordings to check")
    if missing_code and code and isinstance(code, Mapping) and all(row.verdict == NO_CODE for row in report.rows):
        raise CodeForNothing(tuple(code), tuple(dict.fromkeys(row.orchestration for row in report.rows)))
    return report


def _functions(code: Codes) -> Iterator[tuple[str | None, object]]:
    """Every function that was given, with its version if it has one."""
    for each in code.values() if isinstance(code, Mapping) else [code]:
        yield from each.items() if isinstance(each, Mapping) else [(None, each)]


def check_each(
    recordings: Iterable[Recording | Unreadable], code: Codes, settings: Settings | None = None
) -> CheckReport:
    """The report of these recordings; without rows when there are none."""
    settings = settings or Settings(None, None, DEADLINE_MS, False, False)
    numbered = enumerate(recordings, 1)
    rows = [msgspec.structs.replace(row, number=n) for n, each in numbered for row in _rows(each, code, settings)]
    return CheckReport(rows=tuple(sorted(rows, key=_place)), code_names=_names(code))


def _place(row: CheckRow) -> tuple[bool, bool]:
    return not row.in_flight, row.passed


# The corpus.


def _each(corpus: Corpus) -> Iterator[Recording | Unreadable]:
    if isinstance(corpus, Recording):
        yield corpus
    elif isinstance(corpus, Source):
        yield from _of_source(corpus)
    elif isinstance(corpus, str | Path):
        with open_source(corpus) as source:
            yield from _of_source(source)
    else:
        yield from _of_several(corpus)


def _of_several(several: Iterable[Any]) -> Iterator[Recording | Unreadable]:
    each = iter(several)
    while True:
        try:
            corpus = next(each)
        except StopIteration:
            return
        except WorkbenchError as error:  # a generator of recordings ends with its first error
            yield Unreadable("(unknown)", "", "", "unknown", f"{error}; no recording behind it was read")
            return
        yield from _each(corpus)


def _of_source(source: Source) -> Iterator[Recording | Unreadable]:
    for row in source.listing():
        try:
            yield source.recording(row.instance_id)
        except WorkbenchError as error:
            yield Unreadable(row.instance_id, row.orchestration, row.version, row.status or "unknown", str(error))


# One recording.


def _not_read(unreadable: Unreadable) -> CheckRow:
    return CheckRow(
        number=0,
        instance_id=unreadable.instance_id,
        orchestration=unreadable.orchestration,
        recorded_version=unreadable.version,
        status=unreadable.status,
        in_flight=unreadable.status == "Running",
        verdict=NOT_READ,
        passed=False,
        detail=unreadable.reason,
    )


def _without_code(recording: Recording, allowed: bool) -> CheckRow:
    return CheckRow(**_facts(recording), verdict=NO_CODE, passed=allowed)


def _names(code: Codes) -> dict[str, dict[str, str]]:
    """The names of the functions, by orchestration and version; a function for every recording is under ""."""
    if not isinstance(code, Mapping):
        return {"": {"": _name(code)}}
    versions = {name: each if isinstance(each, Mapping) else {"": each} for name, each in code.items()}
    return {name: {str(version): _name(each) for version, each in by.items()} for name, by in versions.items()}


def _name(function: Code) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _rows(recording: Recording | Unreadable, code: Codes, settings: Settings) -> Iterator[CheckRow]:
    if isinstance(recording, Unreadable):
        yield _not_read(recording)
        return
    versions = _code_for(recording.orchestration, code)
    if versions is None:
        yield _without_code(recording, settings.missing_code)
        return
    for version, function in versions.items():
        yield _row(recording, version, function, settings)


def _code_for(orchestration: str, code: Codes) -> Mapping[str | None, Code] | None:
    if not isinstance(code, Mapping):
        return {None: code}
    found = code.get(orchestration)
    if found is None:
        return None
    return {str(version): each for version, each in found.items()} if isinstance(found, Mapping) else {None: found}


def _row(recording: Recording, version: str | None, code: Code, settings: Settings) -> CheckRow:
    facts = _facts(recording)
    if facts["in_flight"]:
        recording = msgspec.structs.replace(recording, executions=recording.executions[-1:])
    facts |= {
        "code_version": version,
        "executions": tuple(each.execution_id for each in recording.executions),
        "fingerprint": fingerprint(code),
    }
    try:
        replayed = replay(
            recording,
            code,
            settings.kv_model,
            settings.limits,
            deadline_ms=settings.deadline_ms,
            strict=settings.strict,
        )
        return CheckRow(**facts, **_of_replay(replayed))
    except Exception as error:  # noqa: BLE001 (one recording must not keep the others from being checked)
        reason = f"{type(error).__name__}: {error}"
        return CheckRow(**facts, verdict=NOT_READ, passed=False, detail=reason)


def _facts(recording: Recording) -> dict[str, Any]:
    return {
        "number": 0,
        "instance_id": recording.instance_id,
        "orchestration": recording.orchestration,
        "recorded_version": recording.version,
        "status": recording.status,
        "in_flight": recording.status == "Running",
        "recorded_fingerprint": None if recording.code is None else recording.code.fingerprint,
    }


def _of_replay(replayed: Replay) -> dict[str, Any]:
    divergence = replayed.divergence
    line = None if divergence is None else user_line(divergence.chain)
    if replayed.outcome_difference is not None and replayed.turns[-1].raised:
        line = user_line(replayed.turns[-1].parked)
    recorded = None if divergence is None else divergence.recorded
    parted = replayed.turns[-1].address if replayed.turns and not replayed.is_same else None
    return {
        "verdict": replayed.verdict,
        "passed": replayed.is_same,
        "turn": parted,
        "event": None if recorded is None else recorded.event_id,
        "kind": None if divergence is None else divergence.kind,
        "line": None if line is None else describe_line(line),
        "source": None if line is None else source_line(line.file, line.line).strip(),
        "detail": (replayed.turns[-1].stopped or "") if replayed.turns else "",
        "outcome_difference": replayed.outcome_difference,
        "damage": replayed.damage,
        "operations": replayed.compared,
        "turns": replayed.compared_turns,
        "strict_differences": replayed.strict_differences,
        "reference": replayed.reference_verdict,
        "divergence": divergence,
    }
