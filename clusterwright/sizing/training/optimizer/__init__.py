"""What optimizers keep, where it is held, and the time of their updates. Start with `upkeep`."""
