"""The commands that look facts up: hardware, software, rules, pages of the documentation. Start with `lookups`."""
