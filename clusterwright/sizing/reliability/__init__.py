"""Failures, checkpoints and goodput of a job. Start with `goodput`."""
