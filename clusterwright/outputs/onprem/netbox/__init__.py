"""The design as files that NetBox imports. Start with `site`."""
