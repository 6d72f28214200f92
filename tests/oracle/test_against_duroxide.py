"""Our engine is held to what the real duroxide 0.2.2 recorded."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable

import pytest

from tests.oracle.asynchronous import as_async
from tests.oracle.cases import load
from tests.oracle.comparing import Differences, broke_down, made_after_a_replay, made_again, replayed, turns_of
from tests.oracle.departures import AS_A_RUNTIME, IN_REPLAY, NOT_RUN
from tests.oracle.library import CHILDREN
from tests.oracle.record import RecordedInstance
from workbench.runtime import events as ev
from workbench.runtime.execution import Code

pytestmark = pytest.mark.oracle

SHOWN = 5
"""So many differing instances are shown in full."""
Comparison = Callable[[RecordedInstance, Code], Differences]


def at_inferred_turns(instance: RecordedInstance, code: Code) -> Differences:
    """The replay of a history that does not say where its turns begin."""
    return replayed(instance, code, inferred=True)


def code_of(instance: RecordedInstance, asynchronous: bool = False) -> Code:
    """The function that the instance ran, or the same as `async def`."""
    if instance.case is None:
        return CHILDREN[instance.orchestration]
    source = as_async(instance.case.source) if asynchronous else instance.case.source
    return load(source, instance.case.function, f"<{instance.case.name}>")


def differing(instances: Iterable[RecordedInstance], compare: Comparison, asynchronous: bool = False) -> dict[str, str]:
    """The instances that differ, by id, each with its program and the first differences."""
    found: dict[str, str] = {}
    for instance in instances:
        if asynchronous and instance.case is None:
            continue
        try:
            differences = compare(instance, code_of(instance, asynchronous))
        except Exception:
            differences = [traceback.format_exc()]
        if differences:
            source = "" if instance.case is None else instance.case.source
            found[instance.instance_id] = "\n".join([instance.instance_id, *differences[:SHOWN], source])
    return found


def told(found: dict[str, str]) -> str:
    """The differing instances for a failure message."""
    return "\n\n".join([f"{len(found)} differ: {', '.join(found)}", *list(found.values())[:SHOWN]])


@pytest.mark.parametrize(
    ("compare", "asynchronous"),
    [
        (replayed, False),
        (made_again, False),
        (made_after_a_replay, False),
        (replayed, True),
        (made_again, True),
    ],
    ids=lambda value: ("async" if value else "generator") if isinstance(value, bool) else value.__name__,
)
class TestEqual:
    """No event, output, status or KV table differs."""

    def test_orchestrations_by_hand(
        self, by_hand: list[RecordedInstance], compare: Comparison, asynchronous: bool
    ) -> None:
        found = differing(by_hand, compare, asynchronous)
        assert not found, told(found)

    def test_random_programs(
        self, random_programs: list[RecordedInstance], compare: Comparison, asynchronous: bool
    ) -> None:
        found = differing(random_programs, compare, asynchronous)
        assert not found, told(found)


def test_replays_at_turns_found_from_the_history_alone(random_programs: list[RecordedInstance]) -> None:
    """A batch that took the recording machine 2 ms to build looks like two turns; that may happen, seldom."""
    found = differing(random_programs, at_inferred_turns)
    assert len(found) <= len(random_programs) / 200, told(found)


def test_experiments_replay_as_they_were_recorded(experiments: list[RecordedInstance]) -> None:
    """Each question put to the real engine is replayed with duroxide's own dialect; what differs is known by name."""
    asked = [each for each in experiments if each.instance_id not in IN_REPLAY | NOT_RUN]
    found = differing(asked, replayed)
    assert not found, told(found)


def test_experiments_are_made_again_but_for_wanted_departures(experiments: list[RecordedInstance]) -> None:
    asked = [each for each in experiments if each.instance_id not in AS_A_RUNTIME | NOT_RUN]
    found = differing(asked, made_again)
    assert not found, told(found)


def test_the_known_departures_are_departures(experiments: list[RecordedInstance]) -> None:
    """A name that no longer differs is taken off the list (but for what the reference itself did not finish)."""
    whole = [each for each in experiments if not broke_down(each)]
    for names, compare in ((IN_REPLAY, replayed), (AS_A_RUNTIME, made_again)):
        named = [each for each in whole if each.instance_id in names]
        assert sorted(differing(named, compare)) == [each.instance_id for each in named]
        assert len(named) > 0.9 * len(names)


def test_the_random_programs_cover_every_kind_of_event(random_programs: list[RecordedInstance]) -> None:
    texts = [text for each in random_programs for execution in each.executions for text in execution.events]
    missing = [kind for kind in sorted(ev.KNOWN_TYPES) if not any(f'"type":"{kind}"' in text for text in texts)]
    assert missing == []


def test_most_instances_end_and_many_batches_hold_several_arrivals(random_programs: list[RecordedInstance]) -> None:
    """A recording that was cut off, or in which nothing happened at once, would prove little."""
    cases = [each for each in random_programs if each.case is not None]
    ended = [each for each in cases if each.executions[-1].status in ("Completed", "Failed")]
    assert len(ended) > 0.7 * len(cases)
    turns = [turn for each in cases for execution in each.executions for turn in turns_of(execution)]
    crowded = [turn for turn in turns if len(turn.arrivals) > 1]
    assert len(crowded) > 0.1 * len(turns)
