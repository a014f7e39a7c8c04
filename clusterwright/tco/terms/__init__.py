"""Inputs of the cost: candidates, contracts, costs of owning, growth, resale, assumptions. Start with `records`."""
