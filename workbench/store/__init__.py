"""Storage in DuckDB: the provider, the SQL of both KV models, schema versions."""

from workbench.store.opening import is_open_here, reading_file
from workbench.store.provider import DuckDBProvider

__all__ = ["DuckDBProvider", "is_open_here", "reading_file"]
