"""A replay: its verdict first, then its turns, then whatever differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.recordings.integrity import UNREADABLE
from workbench.recordings.replay import KeyDifference, Replay
from workbench.runtime.kv import DELTA
from workbench.views import divergence, layout, page, turns_table, words
from workbench.views.differences import outcome_difference_in_words, strict_difference_in_words
from workbench.views.recording import damage_in_words
from workbench.views.strip import strip

if TYPE_CHECKING:
    import pandas as pd


def line(replay: Replay) -> str:
    """`Counter · counter-1 · same: 6 operations in 4 turns as recorded, completed with "3"`."""
    recording = replay.recording
    return f"{words.shown(recording.orchestration)} · {words.shown(recording.instance_id)} · {verdict(replay)}"


def verdict(replay: Replay) -> str:
    """The verdict with what it rests on."""
    recording = replay.recording
    if replay.divergence is not None and replay.verdict == "diverged":
        return divergence.title(replay.divergence)
    if replay.verdict == "did not come back":
        return f"turn {replay.turns[-1].address} {replay.turns[-1].stopped}"
    if not replay.has_code and replay.verdict == "nothing to compare":
        count = f"{words.counted(len(replay.turns), 'turn')} shown without code"
        return f"{count}, {words.outcome_in_words(recording.status, recording.last.output)}"
    compared = (
        f"{words.counted(replay.compared, 'operation')} in {words.counted(len(replay.turns), 'turn')} as recorded"
    )
    if replay.is_same and recording.status != "Running":
        return f"{replay.verdict}: {compared}, {words.outcome_in_words(recording.status, recording.last.output)}"
    if replay.verdict == "different outcome" and replay.outcome_difference is not None:
        return f"different outcome: {compared}; {outcome_difference_in_words(replay.outcome_difference)}"
    if replay.verdict == "diverged (strict)":
        return f"{replay.verdict}: {compared}; {words.counted(len(replay.strict_differences), 'strict difference')}"
    if replay.damage:
        return f"damaged history: {words.counted(len(replay.damage), 'place')} that cannot be trusted"
    return f"{replay.verdict}: {compared}"


def text(replay: Replay) -> str:
    """The verdict, the turns, and everything that differs."""
    lines = [f"{line(replay)}"] if replay.divergence is None else []
    if replay.divergence is not None:
        lines.append(replay.divergence.text())
    lines += layout.labelled_lines("turns", turns_table.turn_lines(replay.turns))
    lines += layout.sentences([("model", [model_in_words(replay)]), *remarks(replay)])
    return "\n".join(lines)


def remarks(replay: Replay) -> list[tuple[str, list[str]]]:
    """Labelled sentences below the turns."""
    found = []
    wanted = replay.has_code and not replay.is_same and replay.kv_model == DELTA  # the only model that it has
    reference = replay.reference_verdict if wanted else None
    if reference is not None:
        found.append(("reference", [repr(reference)]))
    if replay.strict_differences:
        found.append(("differs", [strict_difference_in_words(each) for each in replay.strict_differences]))
    unknown = [words.shown(each) for each in replay.unknown_events if each != UNREADABLE]
    if unknown:
        found.append(("skipped", [f"events of unknown type: {words.listed(unknown)}"]))
    if replay.key_differences:
        found.append(("stored", [_key_difference(each) for each in replay.key_differences]))
    if replay.damage:
        found.append(("damage", [damage_in_words(each) for each in replay.damage]))
    if any(turn.inferred for turn in replay.turns):
        found.append(("inferred", ["where turns begin is told from the history: its writer does not record it"]))
    return found


def _key_difference(difference: KeyDifference) -> str:
    stored, told = words.bare(difference.stored), words.bare(difference.by_history)
    return f"key {words.shown(difference.key)}: {stored} is stored, {told} by the history"


def html(replay: Replay) -> str:
    """The verdict, the divergence if there is one, the strip of turns and their table."""
    recording = replay.recording
    what = f"{words.shown(recording.instance_id)} · {model_in_words(replay)} model"
    cards = [] if replay.divergence is None else [divergence.card(replay.divergence)]
    parted = replay.verdict in ("diverged", "did not come back")
    focus = replay.turns[-1].address if parted else None
    return page.rendering(
        page.head(words.shown(recording.orchestration), what, *_badge(replay)),
        strip(replay.turns, focus),
        *cards,
        page.row(turns_table.turns_section(replay.turns)),
        page.remarks(remarks(replay)),
    )


def _badge(replay: Replay) -> tuple[str, str]:
    if replay.is_same:
        return f"✓ {verdict(replay)}", "badge-good"
    if not replay.has_code and not replay.damage:
        return verdict(replay), ""
    if replay.divergence is not None:
        return f"✗ diverged in turn {replay.divergence.turn}", "badge-bad"
    return f"✗ {verdict(replay)}", "badge-bad"


def model_in_words(replay: Replay) -> str:
    """The KV model of the replay, and the recording's own where that is another."""
    own = replay.recording.kv_model
    return f"{replay.kv_model}" if own == replay.kv_model else f"{replay.kv_model}; recorded with {own}"


def frame(replay: Replay) -> pd.DataFrame:
    """A row a turn."""
    return turns_table.turns_frame(replay.turns)
