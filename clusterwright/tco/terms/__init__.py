"""What cost takes in: candidates, contracts, costs of owning, stages, resale, assumptions. Start with `records`."""
