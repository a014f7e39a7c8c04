"""Replicas under requests that arrive by chance: lengths, queues, batches, percentiles. Start with `open_loop`."""
