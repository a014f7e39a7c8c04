"""A generated project as checks read it: settings with their places, lines of scripts. Start with `project`."""
