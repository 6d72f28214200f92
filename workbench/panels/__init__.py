"""Widgets that show what the views made; they hold no logic and never get a session."""
