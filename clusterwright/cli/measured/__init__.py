"""The commands about measurements: validate, calibrate, fit, probe. Start with `validate`."""
