"""Where recordings come from: duroxide's SQLite files, workbench's own DuckDB files, JSON recordings."""

from workbench.recordings.sources.opening import open_source
from workbench.recordings.sources.source import InstanceRow, Source

__all__ = ["InstanceRow", "Source", "open_source"]
