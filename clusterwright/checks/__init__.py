"""Checks of a plan before it is built."""
