"""Memory, step time and latency of serving replicas, and how many a service needs; `search` is the way through."""
