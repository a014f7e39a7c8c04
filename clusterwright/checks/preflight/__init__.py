"""Checks of a generated project before `pulumi up`, offline and online. Start with `table`."""
