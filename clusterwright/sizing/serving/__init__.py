"""Memory, step time and latency of one serving replica, as columns. Start with `closed_loop`."""
