"""The public bug cases, against databases that the real duroxide engine wrote while it ran them."""
