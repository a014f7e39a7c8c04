"""Power, cooling and floor as a page. Start with `sheet`."""
