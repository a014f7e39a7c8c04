"""Numbers, money and rankings of a plan as text. Start with `words`."""
