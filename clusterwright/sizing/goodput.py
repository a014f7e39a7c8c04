"""From training time to calendar time: failures, checkpoints, restarts.

Sources: Young 1974, "A first order approximation to the optimum checkpoint interval"; Daly 2006, "A higher order
estimate of the optimum checkpoint interval for restart dumps"; Llama 3 (arXiv 2407.21783, section 3.3.4); Kokolis et
al. 2025, "Revisiting reliability in large-scale machine learning research clusters" (arXiv 2410.21680).
"""

import numpy as np

from clusterwright.sizing.calibration import Reliability
from clusterwright.sizing.columns import Values
from clusterwright.sizing.records import Goodput
from clusterwright.units import SECONDS_PER_DAY


def interruption_interval_s(*, nodes: Values, failures_per_node_day: float, failures_per_job_day: float) -> Values:
    """Return the mean time between interruptions of a job, in seconds: `86400 / (nodes r + floor)`.

    The floor stands for what does not grow with size: a job of 1,024 A100 was measured to fail every 7.9 h where its
    cluster's rate per node alone gives 28.8 h (Kokolis et al. 2025).
    """
    return SECONDS_PER_DAY / (nodes * failures_per_node_day + failures_per_job_day)


def young_interval_s(*, write_s: Values, interruption_s: Values) -> Values:
    """Return Young's optimum checkpoint interval in seconds: `sqrt(2 delta M)`."""
    return np.sqrt(2 * write_s * interruption_s)


def daly_interval_s(*, write_s: Values, interruption_s: Values) -> Values:
    """Return Daly's optimum interval of training between checkpoints in seconds.

    `sqrt(2 delta M) (1 + sqrt(delta/(2M))/3 + (delta/(2M))/9) - delta` for `delta < 2M`, else `M` (Daly 2006, eq. 37).
    """
    ratio = write_s / (2 * interruption_s)
    short = young_interval_s(write_s=write_s, interruption_s=interruption_s)
    interval = short * (1 + np.sqrt(ratio) / 3 + ratio / 9) - write_s
    return np.where(np.asarray(ratio) < 1, interval, interruption_s)


def productive_fraction(*, write_s: Values, interval_s: Values, interruption_s: Values, restart_s: float) -> Values:
    """Return the share of calendar time that makes progress.

    Of each interval plus write, the interval is work; of each time between interruptions, half a cycle is lost and the
    restart is waited for: `tau/(tau + delta) / (1 + ((tau + delta)/2 + R)/M)`.
    """
    cycle = interval_s + write_s
    return interval_s / cycle / (1 + (cycle / 2 + restart_s) / interruption_s)


def fraction_for_nodes(reliability: Reliability, *, nodes: Values) -> Values:
    """Return the productive share for cluster sizes, checkpointing at Daly's interval."""
    interruption = interruption_interval_s(
        nodes=nodes,
        failures_per_node_day=reliability.failures_per_node_day,
        failures_per_job_day=reliability.failures_per_job_day,
    )
    write = reliability.checkpoint_write_s
    interval = daly_interval_s(write_s=write, interruption_s=interruption)
    return productive_fraction(
        write_s=write, interval_s=interval, interruption_s=interruption, restart_s=reliability.restart_s
    )


def goodput(reliability: Reliability, *, nodes: int, parameters: float) -> Goodput:
    """Return the goodput of one cluster size with the figures behind it.

    Args:
        reliability: rates and times.
        nodes: of the job.
        parameters: of the model; the checkpoint is this times its bytes per parameter.
    """
    interruption = interruption_interval_s(
        nodes=float(nodes),
        failures_per_node_day=reliability.failures_per_node_day,
        failures_per_job_day=reliability.failures_per_job_day,
    )
    interval = daly_interval_s(write_s=reliability.checkpoint_write_s, interruption_s=interruption)
    return Goodput(
        fraction=float(fraction_for_nodes(reliability, nodes=float(nodes))),
        mean_time_between_interruptions_s=float(interruption),
        checkpoint_bytes=parameters * reliability.checkpoint_bytes_per_parameter,
        checkpoint_write_s=reliability.checkpoint_write_s,
        checkpoint_interval_s=float(interval),
        restart_s=reliability.restart_s,
    )
