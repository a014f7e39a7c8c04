"""Monte Carlo simulation of costs over draws of uncertain inputs. Start with `drawing`."""
