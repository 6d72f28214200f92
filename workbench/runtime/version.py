"""The version of workbench; it stands in every event that workbench writes."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
