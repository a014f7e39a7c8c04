"""The cost report and its tables. Start with `page`."""
