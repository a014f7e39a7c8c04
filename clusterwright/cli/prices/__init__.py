"""The commands of prices. Start with `commands`."""
