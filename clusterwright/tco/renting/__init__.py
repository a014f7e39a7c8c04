"""What renting adds: commitments, metered charges, mixes with what is owned. Start with `mixes`."""
