"""Fine-tuning measurements compared with the engine; begin in `measurements`, figures: docs/finetuning-accuracy.md."""
