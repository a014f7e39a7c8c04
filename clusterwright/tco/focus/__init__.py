"""Bills in the FOCUS format: reading and aggregation. Start with `export`."""
