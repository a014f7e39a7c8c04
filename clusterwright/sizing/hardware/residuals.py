"""Quantiles of what predictions leave of measurements."""

from dataclasses import dataclass
from statistics import NormalDist

_P10_Z = 1.2815515655446004


@dataclass(frozen=True, kw_only=True, slots=True)
class Residuals:
    """Quantiles of ln(measured / predicted tokens per second) over published runs, and how many runs they come from."""

    p10: float
    p50: float
    p90: float
    rows: int

    def at(self, quantile: float) -> float:
        """Return the residual at a quantile.

        Two half-normals in ln meet at the median and pass through P10 and P90:
        `p50 + z(quantile)/1.2816 (p90 - p50)` above the median, with `p50 - p10` below it.

        Args:
            quantile: between 0 and 1, exclusive.
        """
        z = NormalDist().inv_cdf(quantile)
        width = self.p90 - self.p50 if z > 0 else self.p50 - self.p10
        return self.p50 + z / _P10_Z * width

    def shifted(self, by: float) -> "Residuals":
        """Return the same band about another median."""
        return Residuals(p10=self.p10 + by, p50=self.p50 + by, p90=self.p90 + by, rows=self.rows)
