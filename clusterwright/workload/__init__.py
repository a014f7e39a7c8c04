"""What the model and the job demand: parameters, FLOPs and bytes. Knows no hardware and no money."""
