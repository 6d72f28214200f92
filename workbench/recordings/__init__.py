"""Recorded histories: where they come from, replaying one, aligning two, checking many."""
