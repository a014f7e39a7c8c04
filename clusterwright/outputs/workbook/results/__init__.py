"""The sheets that people read first: summary, ranking, returns, unit costs, views. Start with `summary`."""
