"""The sheets of books, profit, tax and financing. Start with `sheet`."""
