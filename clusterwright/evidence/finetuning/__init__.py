"""Fine-tuning measurements held against the engine; begin in `measurements`, figures: docs/finetuning-accuracy.md."""
