"""Unknowns with normal priors around zero, from equations whose noise is Student's t, so that odd rows count less.

Each round weights a row by `(n + 1)/(n + r^2)`, `r` its residual over its noise: the expectation-maximisation of a t
distribution of `n` degrees of freedom (Lange, Little and Taylor 1989, Robust statistical modeling, section 3).
"""

import numpy as np

from clusterwright.sizing.columns import Array

DEGREES_OF_FREEDOM = 3.0
_ROUNDS = 2


def misfit(rest: Array) -> float:
    """Return the negative log-likelihood of residuals over their noise, less a constant."""
    return float(np.sum(np.log1p(rest**2 / DEGREES_OF_FREEDOM))) * (DEGREES_OF_FREEDOM + 1) / 2


def roots(rest: Array, *, noise: Array) -> Array:
    """Return the square roots of the weights of rows, their noise in them; in 32 bits, as wide matrices are."""
    weights = (DEGREES_OF_FREEDOM + 1.0) / (DEGREES_OF_FREEDOM + rest**2)
    found: Array = (np.sqrt(weights) / noise).astype(np.float32)
    return found


def shrunk(
    matrix: Array, target: Array, *, noise: Array, deviations: Array, start: Array, rounds: int = _ROUNDS
) -> Array:
    """Return the unknowns of `matrix @ unknowns = target`.

    Args:
        matrix: a row per equation.
        target: its right side.
        noise: standard deviation of each equation.
        deviations: of each unknown around zero, before anything is known.
        start: unknowns whose residuals weight the first round.
        rounds: of weighting.
    """
    scaled = matrix * deviations.astype(np.float32)
    rest = (target - matrix @ start) / noise
    values = start
    for _ in range(rounds):
        root = roots(rest, noise=noise)
        left = scaled * root[:, None]
        normal = (left.T @ left).astype(float) + np.eye(left.shape[1])
        values = np.linalg.solve(normal, left.T.astype(float) @ (root * target)) * deviations
        rest = (target - matrix @ values) / noise
    return values
