"""Workbench and Run as a user meets them: registering, starting, stepping, looking, closing, opening again."""
