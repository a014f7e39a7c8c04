"""The commands that write deliverables, or look at what was written or billed. Start with `write`."""
