"""A check of many recordings: instances in flight first, what differs line by line, and how to keep both versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.recordings.report import NOT_COMPARED, CheckReport, CheckRow
from workbench.views import layout, page, version_pin, words
from workbench.views.differences import headline, outcome_difference_in_words, strict_difference_in_words
from workbench.views.markup import Html, element, join
from workbench.views.recording import damage_in_words

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 500
"""Rows of one table; the data frame has all."""
MOST_GROUPS = 50
HEAD = ("", "instance", "recorded", "code", "verdict", "turn", "event", "what differs", "duroxide")


def line(report: CheckReport) -> str:
    """`check of 5 recordings: 3 pass, 2 fail; 1 of 3 instances in flight can take the new code`."""
    count = len({row.number for row in report.rows})
    failed = len(report.failures)
    result = "all pass" if not failed else f"{count - failed:,} pass, {failed:,} {'fails' if failed == 1 else 'fail'}"
    flying = f"; {can_take_in_words(report)}" if report.in_flight else ""
    return f"check of {words.counted(count, 'recording')}: {result}{flying}"


def can_take_in_words(report: CheckReport) -> str:
    """How many of the instances in flight can take the newest code, and what the others must stay on."""
    flying, staying = report.in_flight, report.must_stay
    newest = words.shown(report.versions[-1]) if report.versions else "the new code"
    found = [f"{len(report.can_take):,} of {words.counted(len(flying), 'instance')} in flight can take {newest}"]
    if staying:
        versions = words.listed(sorted({words.shown(row.recorded_version) or "their version" for row in staying}))
        found.append(f"{len(staying):,} must stay on {versions}")
    if report.unknown:
        found.append(f"of {len(report.unknown):,} nothing can be said")
    return ", ".join(found)


def text(report: CheckReport) -> str:
    """The line, everything that does not pass, and how to keep both versions."""
    lines = [line(report)]
    for label, rows in parts(report):
        groups = failing_groups(rows)
        good = sum(row.passed for row in rows)
        lines += layout.labelled(label, f"{good:,} of {words.counted(len(rows), 'replay')} as recorded")
        lines += [each for group in groups[:MOST_GROUPS] for each in _group_lines(group)]
        lines += [f"  … and {len(groups) - MOST_GROUPS:,} other differences"] if len(groups) > MOST_GROUPS else []
    lines += layout.sentences(remarks(report))
    lines += layout.labelled_lines("to do", pin(report).splitlines())
    return "\n".join(lines)


def parts(report: CheckReport) -> list[tuple[str, list[CheckRow]]]:
    """The rows of instances in flight, and all others; a part without rows is left out."""
    flying = [row for row in report.rows if row.in_flight]
    over = [row for row in report.rows if not row.in_flight]
    return [(label, rows) for label, rows in (("in flight", flying), ("finished", over)) if rows]


def failing_groups(rows: Sequence[CheckRow]) -> list[list[CheckRow]]:
    """The rows that do not pass, those with the same difference on the same line together."""
    found: dict[tuple[str, ...], list[CheckRow]] = {}
    for row in rows:
        if not row.passed:
            reference = "" if row.reference is None else _reference(row)
            key = (row.orchestration, row.code_version or "", row.verdict, what_differs(row), where(row), reference)
            found.setdefault(key, []).append(row)
    return list(found.values())


def _group_lines(group: Sequence[CheckRow]) -> list[str]:
    row = group[0]
    code = "" if row.code_version is None else f" with {words.shown(row.code_version)}"
    what = f": {what_differs(row)}" if what_differs(row) else ""
    name = f"{words.shown(row.orchestration)} {words.shown(row.recorded_version)}".strip()
    found = [f"  ✗ {name}{code} · {row.verdict}{what}"]
    found += [f"      {where(row)}"] if row.line is not None else []
    return [*found, *(f"      {each}" for each in _whom(group))]


def _whom(group: Sequence[CheckRow]) -> list[str]:
    """The instances of each place, with the place behind them: `order-1, order-2 (turn 1.2, event 6)`."""
    at: dict[str, list[str]] = {}
    for row in group:
        at.setdefault(verdict(row).removeprefix(row.verdict), []).append(words.shown(row.instance_id))
    return [f"{words.listed(names, 8)}{place}" for place, names in at.items()]


def cells(row: CheckRow) -> tuple[str, ...]:
    """A row in words, as the columns of `HEAD`; what differs has the line of code below it."""
    line_of_code = [element("span", where(row), css="mono")] if row.line is not None else []
    differs = [what_differs(row)] if what_differs(row) else []
    return (
        "✓" if row.passed else "✗",
        words.shown(row.instance_id),
        f"{words.shown(row.orchestration)} {words.shown(row.recorded_version)}".strip(),
        "" if row.code_version is None else words.shown(row.code_version),
        row.verdict,
        row.turn or "",
        "" if row.event is None else str(row.event),
        join([*differs, *line_of_code], between=Html("<br>")),
        "" if row.reference is None or row.passed else _reference(row),
    )


def verdict(row: CheckRow) -> str:
    """The verdict with the turn and the event that it fell at."""
    at = [f"turn {row.turn}"] if row.turn is not None else []
    at += [f"event {row.event}"] if row.event is not None else []
    return f"{row.verdict} ({', '.join(at)})" if at else row.verdict


def what_differs(row: CheckRow) -> str:
    """What differs in one phrase."""
    if row.divergence is not None:
        return headline(row.divergence)
    if row.outcome_difference is not None:
        return outcome_difference_in_words(row.outcome_difference)
    if row.damage:
        return damage_in_words(row.damage[0])
    if row.detail:
        return words.sentence(row.detail)
    return strict_difference_in_words(row.strict_differences[0]) if row.strict_differences else ""


def where(row: CheckRow) -> str:
    """The line of the code, with its source."""
    if row.line is None:
        return ""
    source = f": {words.shown(row.source, 60)}" if row.source else ""
    return f"{words.shown(row.line, 80)}{source}"


def _reference(row: CheckRow) -> str:
    assert row.reference is not None  # noqa: S101 (the caller has looked)
    return "accepts" if row.reference.accepted else "refuses"


def _goes_on(row: CheckRow) -> bool:
    """Whether duroxide would notice nothing; code that raises fails the instance there too."""
    return row.reference is not None and row.reference.accepted and row.reference.status != "Failed"


def remarks(report: CheckReport) -> list[tuple[str, list[str]]]:
    """Labelled sentences below the rows."""
    found: list[tuple[str, list[str]]] = []
    loose = [row for row in report.rows if row.passed and row.strict_differences]
    if loose:
        first = f"{words.shown(loose[0].instance_id)}: {strict_difference_in_words(loose[0].strict_differences[0])}"
        count = words.counted(len(loose), "recording")
        found.append(("differs", [f"{count} with strict differences, which stop nothing; {first}"]))
    lenient = [row for row in report.rows if row.in_flight and not row.passed and _goes_on(row)]
    if lenient:
        names = words.listed(words.shown(row.instance_id) for row in lenient)
        found.append(("duroxide", [f"would go on without a word with {names}"]))
    orchestrations = tuple(dict.fromkeys(row.orchestration for row in report.rows if row.verdict not in NOT_COMPARED))
    if "" in report.code_names and len(orchestrations) > 1:
        names = words.listed(words.shown(each) for each in orchestrations)
        first = f"{words.shown(orchestrations[0])}=…"
        found.append(("code", [f"one function was replayed against {names}; give each its own: --code {first}"]))
    if report.must_stay:
        found.append(("versions", ["a continue-as-new goes on with the newest version that is registered"]))
    return found


def pin(report: CheckReport) -> str:
    """How to register both versions, ready to be copied."""
    return version_pin.snippet(report)


def html(report: CheckReport, title: tuple[str, str] | None = None) -> str:
    """The line (or the two parts of `title`), a table of the instances in flight, one of the others, the snippet."""
    badge = (
        ("✓ pass", "badge-good")
        if report.passed
        else (f"✗ {words.counted(len(report.failures), 'failure')}", "badge-bad")
    )
    name, what = title or line(report).split(": ", 1)
    snippet = pin(report)
    lines = [element("span", each, Html("\n")) for each in snippet.splitlines()]
    return page.rendering(
        page.head(name, what, *badge),
        *(page.row(page.part(_table(label, rows))) for label, rows in parts(report)),
        page.remarks(remarks(report)),
        *([page.row(page.part(page.title("To do"), element("pre", join(lines), css="code")))] if lines else []),
    )


def _table(label: str, rows: Sequence[CheckRow]) -> Html:
    css = ("sign", "mono whole", "mono whole", "mono whole", "whole", "mono whole", "right", "break", "")
    columns = [page.Column(head, each, is_head=at == 1) for at, (head, each) in enumerate(zip(HEAD, css, strict=True))]
    shown = [page.TableRow(cells(row), "" if row.passed else "removed") for row in rows[:MOST_ROWS]]
    more = f" (the first {MOST_ROWS:,} of {len(rows):,})" if len(rows) > MOST_ROWS else ""
    return page.table(f"{label.capitalize()}{more}", columns, shown)


def frame(report: CheckReport) -> pd.DataFrame:
    """A row a recording and version of the code."""
    import pandas as pd

    found = pd.DataFrame(records(report.rows), columns=COLUMNS)
    found["event"] = found["event"].astype("Int64")  # otherwise an event becomes a float where another row has none
    return found


COLUMNS = [
    "instance",
    "orchestration",
    "recorded_version",
    "code_version",
    "status",
    "in_flight",
    "executions",
    "verdict",
    "passed",
    "turn",
    "event",
    "kind",
    "line",
    "source",
    "what_differs",
    "operations",
    "turns",
    "strict_differences",
    "reference_accepts",
    "reference_message",
    "recorded_fingerprint",
    "fingerprint",
]


def records(rows: Iterable[CheckRow]) -> list[tuple[object, ...]]:
    """The rows as plain values, as the columns of the data frame and the keys of the JSON file."""
    return [
        (
            row.instance_id,
            row.orchestration,
            row.recorded_version,
            row.code_version,
            row.status,
            row.in_flight,
            list(row.executions),
            row.verdict,
            row.passed,
            row.turn,
            row.event,
            row.kind,
            row.line,
            row.source,
            what_differs(row),
            row.operations,
            row.turns,
            [strict_difference_in_words(each) for each in row.strict_differences],
            None if row.reference is None else row.reference.accepted,
            None if row.reference is None else row.reference.message,
            row.recorded_fingerprint,
            row.fingerprint,
        )
        for row in rows
    ]
