"""The sheets that hold the workbook against itself and against the engine. Start with `sheet`."""
