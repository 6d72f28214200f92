"""What changed code would do to the instances in flight: a line each, *same* or where it would diverge."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from workbench.recordings.report import CheckReport
from workbench.showing import Shown
from workbench.views import layout, page, report, words

MOST_ROWS = 50


class ChangedCode(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """An orchestration that was registered anew with other code, and the dry run of its instances in flight."""

    _view: ClassVar[str] = "dry_run"

    name: str
    version: str
    report: CheckReport


def line(changed: ChangedCode) -> str:
    """The lines of `text`, since a notebook without HTML shows this."""
    return text(changed)


def text(changed: ChangedCode) -> str:
    """`Flow 1.0.0 has other code now; 2 instances in flight, replayed dry:` and a line for each."""
    rows = changed.report.rows
    shown = [(words.shown(row.instance_id), report.verdict(row), report.where(row)) for row in rows[:MOST_ROWS]]
    more = [f"  … and {len(rows) - MOST_ROWS:,} more"] if len(rows) > MOST_ROWS else []
    return "\n".join([_title(changed), *("  " + each for each in layout.table(shown)), *more])


def html(changed: ChangedCode) -> str:
    """The report of the check; only the title when nothing is in flight."""
    name, _, what = _title(changed).rstrip(":").partition("; ")
    if changed.report.rows:
        return report.html(changed.report, (name, f"replayed dry: {report.can_take_in_words(changed.report)}"))
    return page.rendering(page.head(name, what))


def frame(changed: ChangedCode) -> object:
    """The rows of the check."""
    return report.frame(changed.report)


def _title(changed: ChangedCode) -> str:
    who = f"{words.shown(changed.name)} {changed.version} has other code now"
    flying = len(changed.report.rows)
    if not flying:
        return f"{who}; no instance is in flight"
    return f"{who}; {words.counted(flying, 'instance')} in flight, replayed dry:"
