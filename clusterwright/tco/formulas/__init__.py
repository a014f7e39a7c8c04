"""Formulas of finance in closed form: annuities, payments, returns. Start with `finance`."""
