"""Slurm on premises: its files, and what machines need for jobs and users. Start with `configuration`."""
