"""What a check of many recordings comes to: one row each, the instances in flight apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec

from workbench.recordings.integrity import Damage
from workbench.recordings.reference import ReferenceVerdict
from workbench.runtime.divergence import Divergence, OutcomeDifference, StrictDifference
from workbench.runtime.errors import NondeterminismError
from workbench.runtime.registry import version_order
from workbench.showing import Shown

NO_CODE = "no code given"
NOT_READ = "not read"
NOT_COMPARED = frozenset({NO_CODE, NOT_READ, "damaged history", "nothing to compare"})


class CheckRow(msgspec.Struct, frozen=True, kw_only=True):
    """One recording against one version of the code; `number` counts the recordings from 1 as they were read.

    `verdict` is that of its replay (see `Replay`), or `no code given`, or `not read` with the reason in `detail`.
    `code_version` is None when only one version was given. Of an instance in flight only the running execution is
    replayed, since no runtime replays the ones before it. `event`, `kind`, `line` (`flow, line 4`) and `source` are
    those of the divergence (of another outcome the line that raised); `detail` says where code was that did not come
    back. `recorded_fingerprint` is None where the recording does not tell it.
    """

    number: int
    instance_id: str
    orchestration: str
    recorded_version: str
    code_version: str | None = None
    status: str
    in_flight: bool
    executions: tuple[int, ...] = ()
    verdict: str
    passed: bool
    turn: str | None = None
    event: int | None = None
    kind: str | None = None
    line: str | None = None
    source: str | None = None
    detail: str = ""
    operations: int = 0
    turns: int = 0
    strict_differences: tuple[StrictDifference, ...] = ()
    reference: ReferenceVerdict | None = None
    recorded_fingerprint: str | None = None
    fingerprint: str | None = None
    divergence: Divergence | None = None
    outcome_difference: OutcomeDifference | None = None
    damage: tuple[Damage, ...] = ()


class CheckReport(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """One row a recording (and version of the code): instances in flight first, in each part the failures first.

    `code_names` has, by orchestration and version ("" when only one was given), the name of the function.
    """

    _view: ClassVar[str] = "report"

    rows: tuple[CheckRow, ...]
    code_names: dict[str, dict[str, str]] = {}

    @property
    def passed(self) -> bool:
        """Whether every recording can go on with the code that a runtime would give it.

        That is its own version where several are given and it is among them, since a runtime keeps an instance on the
        version that it began with; else the newest. A recording without code fails unless it was allowed to.
        """
        return not self.failures

    @property
    def failures(self) -> tuple[CheckRow, ...]:
        """The rows that decide and did not pass: one for each recording that cannot go on."""
        return tuple(row for row in self._deciding() if not row.passed)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the code that were tried, in order; none when there was only one."""
        found = {row.code_version for row in self.rows if row.code_version is not None}
        return tuple(sorted(found, key=version_order))

    @property
    def in_flight(self) -> tuple[CheckRow, ...]:
        """Instances that are still running, which a deployment meets: a row each, for the newest code."""
        return tuple(row for row in self._newest() if row.in_flight)

    @property
    def can_take(self) -> tuple[CheckRow, ...]:
        """Those in flight that can go on with the code (of several versions: the newest)."""
        return tuple(row for row in self.in_flight if row.passed and row.verdict != NO_CODE)

    @property
    def must_stay(self) -> tuple[CheckRow, ...]:
        """Those in flight that must stay on the code they began with."""
        return tuple(row for row in self.in_flight if not row.passed and row.verdict not in NOT_COMPARED)

    @property
    def unknown(self) -> tuple[CheckRow, ...]:
        """Those in flight of which nothing can be said: no code, a damaged history, nothing to compare."""
        return tuple(row for row in self.in_flight if row.verdict in NOT_COMPARED)

    @property
    def pin(self) -> str:
        """How to register both versions, so that those that must stay do; empty when none must."""
        return str(self._renderer().pin(self))

    def raise_for_verdict(self) -> None:
        """Raise `NondeterminismError` with the report and each explanation unless every recording passed."""
        if not self.passed:
            explained = [row.divergence.text() for row in self.failures if row.divergence is not None]
            raise NondeterminismError("\n\n".join([self.text(), *explained[:MOST_EXPLAINED]]))

    def _deciding(self) -> Iterator[CheckRow]:
        """One row for each recording, that of its own version or the newest."""
        for rows in self._by_recording():
            yield next((row for row in rows if row.code_version == row.recorded_version), _newest_of(rows))

    def _newest(self) -> Iterator[CheckRow]:
        """One row for each recording, that of the newest version of its code."""
        return map(_newest_of, self._by_recording())

    def _by_recording(self) -> Iterable[list[CheckRow]]:
        found: dict[int, list[CheckRow]] = {}
        for row in self.rows:
            found.setdefault(row.number, []).append(row)
        return found.values()


def _newest_of(rows: list[CheckRow]) -> CheckRow:
    return max(rows, key=lambda row: version_order(row.code_version or ""))


MOST_EXPLAINED = 10
"""So many divergences are told whole in an error; the rest have their lines in the report."""
