"""Checks of what was written, before it is built: projects (`preflight`) and documents (`prove`)."""
