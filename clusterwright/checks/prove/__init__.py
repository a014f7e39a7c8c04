"""Proof of a site's documents by the relations between them; start with `papers`."""
