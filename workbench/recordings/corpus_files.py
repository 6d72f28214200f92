"""Recorded histories as test parameters: one line makes a test of each."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.recordings.recording import Recording
from workbench.recordings.sources import open_source
from workbench.runtime.errors import EmptyCorpus


def corpus(*patterns: str | Path, orchestration: str | None = None) -> Sequence[Any]:
    """Every recording in the files that the patterns name, for `pytest.mark.parametrize`; test ids are instance ids.

    `@pytest.mark.parametrize("recording", corpus("tests/recordings/*.json", orchestration="OrderFlow"))`

    A pattern may be a path and may hold `*`, `**`, `?`; it counts from the current folder. `orchestration` keeps those
    of that name. Where two files have the same instance, the file's name stands before the id. All recordings are
    held in memory: of a large database check a part, or call `check`, which reads one at a time.

    Raises `EmptyCorpus` when there is no recording, and what `open_source` raises. Needs pytest.
    """
    import pytest

    found = [(path, each) for path in files(patterns) for each in _recordings(path, orchestration)]
    if not found:
        wanted = "" if orchestration is None else f" of {orchestration!r}"
        raise EmptyCorpus(f"{', '.join(map(str, patterns)) or 'no pattern'}{wanted}")
    seen = Counter(recording.instance_id for _, recording in found)
    return [
        pytest.param(each, id=each.instance_id if seen[each.instance_id] == 1 else f"{path.name}::{each.instance_id}")
        for path, each in found
    ]


def files(patterns: Sequence[str | Path]) -> list[Path]:
    """The files that the patterns name, each once, sorted within a pattern.

    A name without `*`, `?` and `[` is a file, whether it is there or not; a pattern that names none raises
    `EmptyCorpus`.
    """
    found: dict[Path, None] = {}
    for pattern in map(str, patterns):
        named = sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern]  # noqa: PTH207
        if not named:
            raise EmptyCorpus(pattern)
        found |= dict.fromkeys(map(Path, named))
    return list(found)


def _recordings(path: Path, orchestration: str | None) -> list[Recording]:
    with open_source(path) as source:
        wanted = [row.instance_id for row in source.listing() if orchestration in (None, row.orchestration)]
        return list(source.recordings(wanted))
