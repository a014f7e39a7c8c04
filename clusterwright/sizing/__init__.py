"""How a workload runs on hardware: memory, step time, layouts, failures, storage. Knows no money."""
