"""Layouts, memory and time of a training run, and the search over them. Start with `search`."""
