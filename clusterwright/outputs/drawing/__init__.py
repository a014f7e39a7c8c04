"""Charts and drawing marks in SVG. Start with `charts`."""
