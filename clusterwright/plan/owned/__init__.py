"""The owned cluster of a plan: its design, storage and costs. Start with `design`."""
