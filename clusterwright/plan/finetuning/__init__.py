"""Fine-tuning as a kind of workload: layouts that fit, and what a run takes and costs. Open `engine` first."""
