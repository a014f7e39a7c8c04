"""Shared storage: demand, boxes and managed file systems. Start with `design`."""
