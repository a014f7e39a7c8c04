"""What only Slurm needs: controller, login machine, accounting database, node groups and what machines read at boot."""
