"""The engine for questions about many records: DuckDB over a copy of a resource's version."""
