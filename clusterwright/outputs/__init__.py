"""Writers of deliverables: stacks, Slurm files, on-premises documents, workbook, report."""
