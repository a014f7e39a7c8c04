"""Charts by vendor: device plugins and figures of the accelerators, and the plugin of the EFA interfaces.

The node image holds the driver. A GPU operator that installs one too would leave two of them on a node.
"""

from gpu_cluster.kubernetes.charts import Chart, Installed, nvidia_charts, queue
from gpu_cluster.kubernetes.vendor import NVIDIA, vendor_of
from gpu_cluster.node_type import NodeType

# aws/eks-charts pull request 1338 (2026-06-12): chart v0.5.29 with plugin 0.5.20.
EFA_PLUGIN = Chart(name="aws-efa-k8s-device-plugin", version="v0.5.29", repository="https://aws.github.io/eks-charts")
# Seen pulled in public notes of 2026; the chart's own releases were not readable.
NEURON_PLUGIN = Chart(
    name="neuron-helm-chart", version="1.10.0", repository="oci://public.ecr.aws/neuron/neuron-helm-chart"
)


def charts(node_type: NodeType) -> list[Installed]:
    """Return the charts for one type of node."""
    vendor = vendor_of(node_type.instance_type)
    tolerations = [{"key": vendor.resource, "operator": "Exists", "effect": "NoSchedule"}]
    found = [queue()]
    if vendor is NVIDIA:
        found += nvidia_charts({"node-kind": "gpu"}, tolerations)
    else:
        found.append(Installed(chart=NEURON_PLUGIN, values={"npd": {"enabled": False}}))
    if node_type.fabric_interfaces:
        plugin = {
            "tolerations": tolerations,
            # The chart's own list of types lags behind EC2's.
            "supportedInstanceLabels": {
                "keys": ["node.kubernetes.io/instance-type"],
                "values": [node_type.instance_type],
            },
        }
        found.append(Installed(chart=EFA_PLUGIN, values=plugin))
    return found
