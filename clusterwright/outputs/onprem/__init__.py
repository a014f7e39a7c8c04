"""The documents of a cluster on premises. Start with `documents`."""
