"""Fine-tuning: what each method trains and keeps, its memory, its rate, its time to a target; begin in `memory`."""
