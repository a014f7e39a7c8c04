"""What only fine-tuning has in deliverables: the report's section on a run, and files that start it. Open `outputs`."""
