"""Proof of the files of Slurm and of its jobs, by the programs themselves and a scheduler. Start with `slurm`."""
