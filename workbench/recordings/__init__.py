"""Recorded histories: where they come from, replaying one, aligning two, checking many."""

from workbench.recordings.checking import check
from workbench.recordings.corpus_files import corpus
from workbench.recordings.recording import RecordedExecution, Recording
from workbench.recordings.report import CheckReport, CheckRow
from workbench.recordings.sources import Source, open_source
from workbench.recordings.stored import recording_from_provider

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
