"""Memory, step time and latency of serving replicas. Start with `closed_loop`; `simulation` runs single requests."""
