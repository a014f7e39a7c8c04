"""The pages and drawings that people read: their figures are those that the tables add up to. Start with `proof`."""
