"""Proof of a written folder, by the programs of its files and the relations between them. Start with `proof`."""
