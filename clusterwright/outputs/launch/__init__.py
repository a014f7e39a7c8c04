"""Files that start a plan's job. Start with `files`."""
