"""The bill of materials: workbook, tables, and lines that only a vendor prices. Start with `workbook`."""
