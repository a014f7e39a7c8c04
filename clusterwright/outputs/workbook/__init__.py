"""The sheets of the cost workbook: each a view for a finance department, in formulas over named inputs."""
