"""The oracle: orchestrations that the real duroxide package ran, for our engine to be held to."""
