"""After how long without a busy GPU nodes stop: the nodes layer stops them, the cluster layer makes the reports."""

from typing import Final

from gpu_cluster.config_values import Values
from gpu_cluster.node_type import NodeType

# Three reports of a node, which makes one every 5 minutes.
LEAST_MINUTES: Final = 15
MOST_MINUTES: Final = 24 * 60


def read_stop_when_idle(values: Values, node_type: NodeType) -> int:
    """Read `stopWhenIdleMinutes`; 0 for never."""
    minutes = values.whole("stopWhenIdleMinutes", 0, MOST_MINUTES, default=0)
    if minutes and node_type.is_tpu:
        values.fail("stopWhenIdleMinutes", "TPUs do not report how many are busy; end a slice with `nodeCount 0`")
    elif 0 < minutes < LEAST_MINUTES:
        values.fail("stopWhenIdleMinutes", f"is {minutes}; nodes report every 5 minutes, so it needs 15 or more")
    return minutes
