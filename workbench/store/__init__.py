"""The DuckDB provider: schema versions, migrations, and the SQL of the two key-value models."""
