"""Published cost calculations as evidence for the cost engine. Start with `case`."""
