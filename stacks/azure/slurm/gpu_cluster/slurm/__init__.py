"""What only a Slurm cluster needs: its machines, their boot data, its accounting database."""
