"""Proof of a site's documents by the relations between their tables. Start with `wiring`."""
