"""Tests of recordings and their sources; `files` makes the files that they read."""
