"""The Plan in the words of other deployment tools, for teams that use one of them instead of the Pulumi stacks."""
