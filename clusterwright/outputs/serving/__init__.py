"""What only serving has in deliverables: replicas, latencies, tokens and memory in the report. Begin with `outputs`."""
