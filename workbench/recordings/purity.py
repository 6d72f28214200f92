"""Whether code does the same whenever it runs against the same history: dry runs here and in fresh processes.

Runs in this process find hidden state, clocks and chance; runs in fresh processes, which hash strings otherwise, find
the order of sets, and what a long-lived kernel hides. A run is compared by what it does otherwise than the record.
Nothing is written and no activity runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from workbench.recordings.dry_run import Finding, Findings, dry_run
from workbench.recordings.fresh_process import dry_run_in_fresh_process
from workbench.recordings.observed_calls import Call, Hazard, Watch, state_of
from workbench.recordings.sent_code import CannotBeSent, send
from workbench.runtime.execution import Code
from workbench.runtime.lines import describe_line
from workbench.runtime.watchdog import DEADLINE_MS
from workbench.showing import Shown

if TYPE_CHECKING:
    from workbench.recordings.recording import Recording

RUNS_HERE: Final = 2
RUNS_BY_CHANCE: Final = 8
"""How often code that asks for chance is run again, from another seed each time, to see whether it matters."""
HASH_SEEDS: Final = ("1", "2")
"""Two fresh processes: what they do differently is the order of a set, or of `hash`."""


class Parting(msgspec.Struct, frozen=True):
    """Where two runs do different things: which runs, the address of the operation, and both sides."""

    runs: str
    address: str
    one: str
    other: str


class Impurity(msgspec.Struct, frozen=True, kw_only=True):
    """Something besides input, results and `ctx` that the code depends on, or may depend on.

    `what` names the call, the variable, or what is known; `place` is the line in words (None: not known). `proven`:
    two runs did different things (where several calls are proven, it is at least one of them); otherwise the call was
    seen and made no difference. `parting` is where the runs part; `values` are those of a variable before and after.
    """

    hazard: Hazard
    what: str
    place: str | None = None
    proven: bool = True
    parting: Parting | None = None
    values: tuple[str, str] | None = None


class Purity(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What dry runs of a recording's code found.

    `runs_here` in this process, `fresh_runs` in fresh ones; `not_fresh` says why there were none. `findings` is what
    the first run did otherwise than the record (nothing: the replay is the same).
    """

    _view: ClassVar[str] = "purity"

    instance_id: str
    orchestration: str
    impurities: tuple[Impurity, ...]
    runs_here: int
    fresh_runs: int
    not_fresh: str | None = None
    findings: Findings = ()

    @property
    def is_pure(self) -> bool:
        """Whether all runs did the same."""
        return not any(each.proven for each in self.impurities)


def check_purity(
    recording: Recording, code: Code, *, fresh: bool = True, deadline_ms: int | None = DEADLINE_MS
) -> Purity:
    """Run `code` against the recording several times and tell what makes the runs differ.

    With `fresh` also in two fresh processes with hash seeds of their own (about half a second each). A turn may take
    `deadline_ms` (ms; None: for ever).
    """
    before = state_of(code)
    with Watch() as watch:
        runs = [dry_run(recording, code, deadline_ms)]
        after = state_of(code)
        runs += [dry_run(recording, code, deadline_ms) for _ in range(RUNS_HERE - 1)]
    if runs[0] == runs[-1] and any(call.hazard == "chance" for call in watch.calls):
        runs += _by_chance(recording, code, deadline_ms, runs[0])
    elsewhere: list[Findings] = []
    reason = None
    if fresh:
        try:
            sent = send(code)
            elsewhere = [dry_run_in_fresh_process(recording, sent, seed, deadline_ms) for seed in HASH_SEEDS]
        except CannotBeSent as error:
            reason = str(error)
    return Purity(
        instance_id=recording.instance_id,
        orchestration=recording.orchestration,
        impurities=tuple(_impurities(runs, elsewhere, watch.calls, _changed(before, after))),
        runs_here=len(runs),
        fresh_runs=len(elsewhere),
        not_fresh=reason,
        findings=runs[0],
    )


def _by_chance(recording: Recording, code: Code, deadline_ms: int | None, first: Findings) -> Iterator[Findings]:
    """More runs, each from another seed, until one differs; the generator is put back as it was."""
    state = random.getstate()
    try:
        for seed in range(RUNS_BY_CHANCE):
            random.seed(seed)
            found = dry_run(recording, code, deadline_ms)
            yield found
            if found != first:
                return
    finally:
        random.setstate(state)


_Changed = list[tuple[str, tuple[str, str]]]


def _changed(before: dict[str, str], after: dict[str, str]) -> _Changed:
    """The variables that a run left otherwise, with both values."""
    return [(label, (text, after[label])) for label, text in before.items() if after.get(label, text) != text]


def _impurities(
    runs: list[Findings], elsewhere: list[Findings], calls: list[Call], changed: _Changed
) -> Iterator[Impurity]:
    other = next((run for run in runs if run != runs[0]), None)
    here = None if other is None else _parting("two runs in this process", runs[0], other)
    if here is not None and changed:
        yield from (Impurity(hazard="state", what=label, parting=here[1], values=both) for label, both in changed)
    elif here is not None and not calls:
        yield Impurity(hazard="unknown", what="something outside the function", place=here[0], parting=here[1])
    elif here is None and len(set(elsewhere)) > 1 and not calls:
        place, parting = _parting("two processes with other hash seeds", elsewhere[0], elsewhere[1])
        yield Impurity(hazard="set order", what="the order of a set", place=place, parting=parting)
    elif here is None and any(each != runs[0] for each in elsewhere):
        place, parting = _parting("this process and a fresh one", runs[0], elsewhere[0])
        what = "something that is otherwise in a fresh process"
        yield Impurity(hazard="state", what=what, place=place, parting=parting)
    varies = {call.hazard for call in calls} - {"environment"} or {"environment"}
    for call in calls:
        proven = here is not None and not changed and call.hazard in varies
        yield Impurity(
            hazard=call.hazard,
            what=call.name if call.name == "os.environ" else f"{call.name}()",
            place=describe_line(call.line),
            proven=proven,
            parting=here[1] if here is not None and proven else None,
        )


def _parting(whose: str, one: Findings, other: Findings) -> tuple[str | None, Parting]:
    """The line at which two runs part, and both sides."""
    index = next(i for i in range(max(len(one), len(other))) if one[i : i + 1] != other[i : i + 1])
    here, there = (run[index] if index < len(run) else None for run in (one, other))
    found = here or there
    assert found is not None  # noqa: S101 (for the type checker)
    one_side, other_side = _told(here), _told(there)
    if here is not None and there is not None and one_side == other_side:  # the same, somewhere else
        one_side, other_side = f"{one_side} at {here.address}", f"{other_side} at {there.address}"
    return found.place, Parting(whose, found.address, one_side, other_side)


def _told(finding: Finding | None) -> str:
    return "as recorded" if finding is None else finding.now
