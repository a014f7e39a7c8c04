"""Slurm: controller, login machine, accounting database, and GPU nodes that register with the controller."""
