"""What a power cap does to an accelerator's speed, and how unsure that is.

A cap lowers the clock, so that multiplications slow down; memory and links keep their bandwidth. Published comparisons
(`catalog/power_caps.csv`) follow `(cap / design power)^x` with `x` between 0.1 and 0.9: the median is taken, and the
spread widens the band of the prediction.
"""

from dataclasses import replace
from math import hypot, log

from clusterwright.catalog.power_caps import check_cap, exponents
from clusterwright.catalog.records import NodeType
from clusterwright.formulas import Term, formula
from clusterwright.sizing.hardware.residuals import Residuals


@formula(
    "({cap_w} / {full_w})^{exponent}",
    source="catalog/power_caps.csv: x is the median of what is published; its spread widens the band of days",
    cap_w=Term("cap", "g", "W"),
    full_w=Term("design power", "g", "W"),
    exponent=Term("x", ".3f"),
)
def capped_share(*, cap_w: float, full_w: float, exponent: float) -> float:
    """Return the share of its peak FLOP/s that an accelerator keeps under a power cap."""
    return float((cap_w / full_w) ** exponent)


def speed_share(node: NodeType) -> float:
    """Return the share of its peaks that a node's accelerator keeps: `(power/full)^x`, 1 at the power of its peaks.

    A board may be designed for less power than the one that its peaks were documented of.

    Raises:
        MissingFactError: the design power is unknown; InputError: the cap is out of range.
    """
    cap, accelerator = node.power_cap_w, node.accelerator
    if cap is not None:
        check_cap(accelerator, cap)
    full = accelerator.peak_power_w or accelerator.power_w or cap
    power = cap or accelerator.power_w
    if power is None or full is None or power >= full:
        return 1.0
    return capped_share(cap_w=power, full_w=full, exponent=exponents().median)


def with_cap(residuals: Residuals, node: NodeType) -> Residuals:
    """Return the band of ln(measured/predicted) with what is unsure about power below that of the documented peaks.

    The least and the most of the published exponents are taken as P10 and P90 of a step that only multiplies, and are
    added to the band's own widths as independent errors, in quadrature.
    """
    full = node.accelerator.peak_power_w or node.accelerator.power_w
    cap = node.power_cap_w or node.accelerator.power_w
    if cap is None or full is None or cap >= full:
        return residuals
    known, drop = exponents(), -log(cap / full)
    slower, faster = (known.most - known.median) * drop, (known.median - known.least) * drop
    return replace(
        residuals,
        p10=residuals.p50 - hypot(residuals.p50 - residuals.p10, slower),
        p90=residuals.p50 + hypot(residuals.p90 - residuals.p50, faster),
    )
