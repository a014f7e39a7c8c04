"""Checks of the project's program: its source, and what it asks the engine for. Start with `recorded_checks`."""
