"""Closed-form formulas of finance: annuities, payments, returns. Start with `finance`."""
