"""The data centre's check-list. Start with `page`."""
