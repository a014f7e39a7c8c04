"""Checks of what is configured: names, addresses, node types, capacity, quotas, money. Start with `frame`."""
