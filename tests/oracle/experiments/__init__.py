"""Questions put to the real duroxide; the answers are in ../README.md."""
