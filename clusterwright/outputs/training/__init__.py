"""What only training has in deliverables: layout, step and memory in the report, and the job. Begin with `outputs`."""
