"""Histories written by hand against code: what matches, what does not, and what the code reads."""
