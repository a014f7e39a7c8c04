"""Rented capacity: commitments, metered charges, mixes with owned capacity. Start with `mixes`."""
