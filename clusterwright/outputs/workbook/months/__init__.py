"""The sheets of cash by month, for owning, renting, mixes and contracts. Start with `cash`."""
