"""Facts about hardware, instances and models, each with its source."""
