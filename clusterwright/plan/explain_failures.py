"""Where goodput and checkpoints come from: failures, strategy, spares, spot."""

from clusterwright import units
from clusterwright.plan.explanation import Explanation, Input
from clusterwright.plan.record import Option

_NUMBERS = "catalog/calibration.csv, or the blueprint's section reliability"


def failure_explanations(option: Option) -> tuple[Explanation, ...]:
    """Return how goodput, checkpoints and retention of one target were found."""
    return _goodput(option), _checkpoint(option), _retention(option)


def _goodput(option: Option) -> Explanation:
    failures = option.failures
    spot = failures.spot_interruptions_per_node_day
    inputs = [
        Input(
            name="time between interruptions (M)",
            value=f"{failures.mean_time_between_interruptions_s / 3600:.1f} h",
            source="Llama 3 and RSC-1 rates, with a floor per job; " + _NUMBERS,
        ),
        Input(name="blocking time (d)", value=f"{failures.checkpoint_write_s:.1f} s", source="explain checkpoint"),
        Input(name="interval (t)", value=f"{failures.checkpoint_interval_s / 60:.1f} min", source="explain checkpoint"),
        Input(
            name="detection and restart (R)",
            value=f"{failures.restart_s / 60:.0f} min, {failures.detection_s / 60:.0f} of them until it is noticed",
            source=_NUMBERS,
        ),
        Input(
            name="until a checkpoint can be restored (L)",
            value=f"{failures.checkpoint_lag_s:.0f} s",
            source="explain checkpoint",
        ),
    ]
    if failures.missing_nodes is not None:
        inputs.append(
            Input(
                name="wait for a node (W)",
                value=f"{failures.wait_for_node_s / 60:.1f} min per interruption; {failures.missing_nodes:.2f} nodes "
                f"away on average, {failures.spare_nodes} spare",
                source="the blueprint's repair time, Poisson; 78 % of interruptions are hardware (Llama 3)",
            )
        )
    if failures.elastic_nodes is not None:
        inputs.append(
            Input(
                name="elastic",
                value=f"goes on with {failures.elastic_nodes} nodes",
                source="whole replicas",
            )
        )
    if spot is not None:
        inputs.append(
            Input(
                name="spot",
                value=f"{spot * 1000:.1f} nodes taken back per 1,000 node-days (assumed unless given)",
                source=_NUMBERS,
            )
        )
    return Explanation(
        number="goodput",
        title="productive share of calendar time",
        value=f"{option.goodput:.4f}",
        equation=(
            "what checkpoints, lost work and restarts leave: Daly's model of independent interruptions",
            "(t / M) / (exp((R + L) / M) (exp((t + d) / M) - 1)) / (1 + W / M)",
        ),
        inputs=tuple(inputs),
        sources=("Daly 2006; Llama 3 report (466 interruptions in 54 days on 16,384 H100); RSC, HPCA 2025; MegaScale",),
    )


def _checkpoint(option: Option) -> Explanation:
    failures = option.failures
    return Explanation(
        number="checkpoint",
        title=f"checkpoint size and interval, strategy {failures.strategy}",
        value=(
            f"{units.text(failures.checkpoint_bytes, units.BYTES)} every {failures.checkpoint_interval_s / 60:.0f} min"
        ),
        equation=(
            "the interval that wastes least: t / M = 1 - exp(-(t + d) / M), close to √(2 d M) (Young, Daly)",
            "but not shorter than storage needs to write one",
        ),
        inputs=(
            Input(
                name="blocking time (d)",
                value=f"{failures.checkpoint_write_s:.1f} s",
                source="clusterwright/sizing/checkpoints.py, by strategy",
            ),
            Input(
                name="until it can be restored",
                value=f"{failures.checkpoint_lag_s:.1f} s",
                source="clusterwright/sizing/checkpoints.py, by strategy",
            ),
            Input(
                name="write bandwidth",
                value=units.text(option.storage.write_bytes_per_s, units.BANDWIDTH),
                source="clusterwright/sizing/storage.py",
            ),
        ),
        sources=(
            "Young 1974; Daly 2006, Future Generation Computer Systems 22",
            "13 bytes per parameter: 105 GB (8B), 920 GB (70B), 5.2 TB (405B), NVIDIA DGX Cloud benchmarking",
        ),
    )


def _retention(option: Option) -> Explanation:
    storage = option.storage
    return Explanation(
        number="checkpoints_kept",
        title="checkpoints on storage at the end of the run",
        value=units.text(storage.checkpoint_bytes_kept, units.BYTES),
        equation=("(latest + milestones) × checkpoint size; incremental ones are kept in whole chains",),
        inputs=(
            Input(name="latest", value=f"{storage.checkpoints_kept}", source=_NUMBERS),
            Input(name="milestones", value=f"{storage.milestones}", source="run time / milestone_every, blueprint"),
        ),
        sources=("clusterwright/sizing/checkpoints.py: kept_bytes",),
    )
