"""The command line; each command is thin."""
