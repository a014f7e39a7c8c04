"""Ways to do the work, each with its contract and its money, and how they are ranked. Start with `ranking`."""
