"""Accelerators, links and networks with their calibrated constants. Start with `devices`."""
