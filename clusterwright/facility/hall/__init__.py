"""Racks, power, cooling and floor of the data hall. Start with `racks`."""
