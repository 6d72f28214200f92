"""Recorded histories: where they come from, replaying one, aligning two, checking many."""

from workbench.recordings.recording import RecordedExecution, Recording, recording_from_provider
from workbench.recordings.sources import Source, open_source

__all__ = ["RecordedExecution", "Recording", "Source", "open_source", "recording_from_provider"]
