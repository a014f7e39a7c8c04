"""Cash flow in DuckDB, its input rows and its results. Start with `engine`."""
