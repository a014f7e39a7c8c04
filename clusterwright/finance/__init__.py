"""A plan in the terms of finance: cost over the horizon, returns, tax and chance. Start with `finances`."""
