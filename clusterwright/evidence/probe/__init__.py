"""Measuring an accelerator: what is measured, on which backend, as a file, and as calibrated numbers. See `measure`."""
