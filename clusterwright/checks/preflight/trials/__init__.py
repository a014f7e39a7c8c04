"""Scripts of a project tried with stand-ins for every program of a machine. Start with `machine`."""
