"""The example job of a Kubernetes project asks for what one node of its type has."""

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.outputs.project.stack import for_node


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("p4d.24xlarge", ("nvidia.com/gpu: 8", "vpc.amazonaws.com/efa: 4", 'cpu: "90"', "memory: 1008Gi")),
        ("p5.48xlarge", ("nvidia.com/gpu: 8", "vpc.amazonaws.com/efa: 32", 'cpu: "180"', "memory: 1792Gi")),
        ("trn2.48xlarge", ("aws.amazon.com/neuron: 16", "vpc.amazonaws.com/efa: 16")),
        ("Standard_ND128isr_NDR_GB200_v6", ("nvidia.com/gpu: 4", "rdma/shared_ib: 1")),
        ("Standard_ND96isr_MI300X_v5", ("amd.com/gpu: 8", "key: amd.com/gpu,")),
        ("ct5p-hightpu-4t", ("google.com/tpu: 4", "key: google.com/tpu,")),
    ],
)
def test_a_job_asks_for_one_whole_node(name: str, asked: tuple[str, ...]) -> None:
    """Of its own type, with the fabric's devices; other devices are not named."""
    instance = load().instances[name]
    source = assets.root() / "stacks" / instance.cloud / "kubernetes" / "examples" / "all_reduce.yaml"
    lines = [line for line in source.read_text().splitlines() if not line.startswith("#")]
    written = for_node("\n".join(lines), instance)
    assert all(one in written for one in asked)
    assert ("nvidia.com/gpu" in written) is ("nvidia.com/gpu: 8" in asked or "nvidia.com/gpu: 4" in asked)
    assert written.count("memory: ") == "\n".join(lines).count("memory: ")


def test_a_node_without_fabric_asks_for_no_fabric() -> None:
    """A device that no node has would keep the job waiting for ever."""
    manifest = "limits:\n  nvidia.com/gpu: 8\n  vpc.amazonaws.com/efa: 32\n"
    assert for_node(manifest, load().instances["g6e.xlarge"]) == "limits:\n  nvidia.com/gpu: 1\n"
