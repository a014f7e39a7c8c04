"""Training as a kind of workload: the run, its goal, and its findings. Open `engine` first."""
