"""Comparisons beyond the answer: finance, scenarios, one node, and why a type is not chosen. Start with `finance`."""
