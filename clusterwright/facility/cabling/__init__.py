"""Devices in their places and the cables between their ports. Start with `layout`."""
