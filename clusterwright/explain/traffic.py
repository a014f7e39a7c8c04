"""Explanations of traffic: each group with its level, bytes, bandwidth and algorithm; the fabric; the power cap."""

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.power_caps import exponents, measurements
from clusterwright.explain.records import Explanation, Input, explained
from clusterwright.plan.training.record import TrainingOption
from clusterwright.sizing.hardware.power_cap import capped_share
from clusterwright.sizing.training.traffic import Traffic


def traffic_numbers(option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the explanations of one target's traffic, and of its power cap where it has one."""
    return (_traffic(option), *_power_cap(option))


def _traffic(option: TrainingOption) -> Explanation:
    performance = option.performance
    network = option.cluster.network
    total = sum(entry.seconds * entry.times for entry in performance.traffic)
    tiers = f"leaf {network.leaf_oversubscription:g}:1, spine {network.spine_oversubscription:g}:1"
    uses = [
        words
        for words, used in (
            ("switches of the network reduce", network.in_network),
            ("switches of the domain reduce", network.in_domain),
            ("one ring", network.flat),
            ("leaf by leaf", network.leafwise),
            ("trees", network.tree),
        )
        if used
    ]
    terms = " + ".join(f"{entry.times:g} × {_digits(entry.seconds * 1e6)}" for entry in performance.traffic) or "0"
    return Explanation(
        number="traffic",
        title="time of all traffic of a step on one GPU, before computation hides any of it",
        value=f"{total:.4g} s",
        equation=("sum over groups of times × us of one collective / 1000000", f"({terms}) / 1000000 = {total:.4g} s"),
        inputs=(
            *(Input(name=entry.name, value=_value(entry), source=_source(entry)) for entry in performance.traffic),
            Input(name="oversubscription", value=tiers, source="blueprint, network"),
            Input(name="allowed besides two levels", value=", ".join(uses) or "nothing", source="blueprint, network"),
        ),
        sources=(
            "clusterwright/sizing/hardware/topology.py, groups.py, collectives.py",
            "shares of bandwidth and latencies: catalog/calibration.csv; networks and algorithms: "
            "catalog/collectives.csv; links: facts " + option.cluster.accelerator,
        ),
    )


def _value(entry: Traffic) -> str:
    return (
        f"{entry.times:g} × {_digits(entry.size_bytes / 1e6)} MB among {entry.ranks} ranks {entry.stride} apart, "
        f"at {entry.bytes_per_s / 1e9:,.4g} GB/s, {_digits(entry.seconds * 1e6)} us each"
    )


def _digits(value: float) -> str:
    """Return four digits of a number, or all before the point where those are more; never a power of ten."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"  # noqa: PLR2004


def _source(entry: Traffic) -> str:
    return f"{entry.level}; {entry.way}"


def _power_cap(option: TrainingOption) -> tuple[Explanation, ...]:
    cluster = option.cluster
    cap = cluster.power_cap_w
    full = load_catalogue().accelerators[cluster.accelerator].power_w
    if cap is None or full is None:
        return ()
    known = exponents()
    low, middle, high = (
        capped_share.record(cap_w=cap, full_w=full, exponent=exponent)
        for exponent in (known.most, known.median, known.least)
    )
    return (
        explained(
            middle,
            number="power_cap_w",
            title="share of its peak FLOP/s that an accelerator keeps under the power cap",
            value=f"{middle.result:.3f} ({low.result:.3f} to {high.result:.3f})",
            result="{:.3f}",
            held=middle.result if option.performance.compute is None else option.performance.compute.speed_share,
            origins={
                "cap_w": "blueprint, power_cap",
                "full_w": f"facts {cluster.accelerator}",
                "exponent": "median of the published; memory and links keep their bandwidth",
            },
            more=tuple(
                Input(
                    name=f"{entry.device}, {entry.work}",
                    value=f"{entry.speed:g} at {entry.cap_w:g} of {entry.full_w:g} W: x = {entry.exponent:.3f}",
                    source=entry.source,
                )
                for entry in measurements()
            ),
        ),
    )
