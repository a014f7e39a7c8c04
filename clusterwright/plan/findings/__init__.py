"""What an answer notes about itself: near misses, evidence of prices, partial machines. Start with `near_misses`."""
