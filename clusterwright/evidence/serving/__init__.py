"""Serving measurements as evidence: predictions, errors and calibration. Start with `measurements`."""
