"""Calculations on a finished cash flow: tax and the books, loans and leases. Start with `after_tax`."""
