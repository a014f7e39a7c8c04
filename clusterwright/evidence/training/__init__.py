"""Training runs as evidence: predictions, errors and calibration. Start with `runs`."""
