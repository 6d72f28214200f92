"""Recorded histories: where they come from, replaying one, aligning two, checking many."""

from workbench.recordings.checking import check
from workbench.recordings.corpus_files import corpus
from workbench.recordings.recording import RecordedExecution, Recording, recording_from_provider
from workbench.recordings.report import CheckReport, CheckRow
from workbench.recordings.sources import Source, open_source

__all__ = [
    "CheckReport",
    "CheckRow",
    "RecordedExecution",
    "Recording",
    "Source",
    "check",
    "corpus",
    "open_source",
    "recording_from_provider",
]
