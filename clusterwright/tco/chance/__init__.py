"""Costs over draws of uncertain inputs. Start with `drawing`."""
