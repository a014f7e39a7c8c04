"""Equation, inputs and sources of each number of a plan. Start with `explanation`."""
