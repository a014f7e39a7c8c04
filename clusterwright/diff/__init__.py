"""What changed between two plans, and which inputs caused it. Start with `differences`."""
