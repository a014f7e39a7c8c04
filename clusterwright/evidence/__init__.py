"""Validation and calibration against published measurements."""
