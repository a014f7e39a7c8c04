"""Bills in the FOCUS format, read and counted. Start with `export`."""
