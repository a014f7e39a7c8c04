"""Memory, step time and latency of serving replicas. Start with `closed_loop` and `open_loop`."""
