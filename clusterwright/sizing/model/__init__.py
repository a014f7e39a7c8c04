"""Arithmetic and memory of one model layer on one accelerator. Start with `compute`."""
