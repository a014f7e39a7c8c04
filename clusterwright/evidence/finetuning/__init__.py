"""Fine-tuning measurements compared with the engine (docs/evidence/finetuning-accuracy.md); begin in `measurements`."""
