"""What stacks and policy packs repeat of the catalogue, so that they stand alone, says what the catalogue says."""

import ast
import csv
from pathlib import Path
from typing import Any

import pytest

from clusterwright.blueprint.rules.cloud_places import OFFERED_BY
from clusterwright.catalog.load import load
from clusterwright.plan.candidates.cloud_addresses import RDMA_NETWORK

from .projects import INSTANCES, ROOT

STACKS = ROOT / "stacks"


def constant(path: str, name: str) -> Any:  # noqa: ANN401 - whatever a stack writes down
    """Return a literal that a module of the stacks assigns at its top level, without running it."""
    for node in ast.parse((STACKS / path).read_text()).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = node.value  # type: ignore[attr-defined]
            # A call around the literal, such as of a network or of a frozen mapping, says what kind it is.
            inner = value.args[0] if isinstance(value, ast.Call) else value
            return ast.literal_eval(inner)
    raise LookupError(f"{path} has no {name}")


def test_interfaces_of_aws() -> None:
    """The pack knows every type with EFA that the stacks serve, with as many interfaces, and whether card 0 has one."""
    known = constant("aws/base/policy/gpu_nodes.py", "EFA_INTERFACES")
    instances = load().instances
    for name, (count, card_zero) in known.items():
        assert (instances[name].fabric_interfaces, instances[name].card_zero_has_fabric) == (count, card_zero), name
    served = {name for name in INSTANCES["aws"] if instances[name].fabric_kind == "efa"}
    assert served <= known.keys()


def test_interfaces_of_google() -> None:
    """The pack knows every type of the stacks but TPUs: gVNIC of the primary and the GPU networks, then RDMA."""
    known = constant("gcp/base/policy/rules_machines.py", "INTERFACES")
    instances = load().instances
    for name, (gvnic, rdma) in known.items():
        facts = instances[name]
        assert (1 + (facts.gpu_networks or 0), facts.rdma_subnets or 0) == (gvnic, rdma), name
    assert {name for name in INSTANCES["gcp"] if not name.startswith("ct")} == known.keys()


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("azure/base/policy/rules_compute.py", "MOST_NODES_PER_SCALE_SET", "scale set"),
        ("azure/base/gpu_cluster/capacity.py", "MOST_NODES_OF_A_BLOCK", "block"),
        ("azure/base/policy/rules_network.py", "RDMA_NETWORK", "rdma"),
        ("azure/base/gpu_cluster/addresses.py", "RDMA_NETWORK", "rdma"),
    ],
)
def test_limits_of_azure(path: str, name: str, expected: str) -> None:
    """Machines of a scale set and of a block, and the range that InfiniBand reserves."""
    catalogue = load()
    h100 = catalogue.instances["Standard_ND96isr_H100_v5"]
    right = {
        "scale set": h100.placement_max_nodes,
        "block": catalogue.capacity_objects["azure-block-reservation"].max_nodes,
        "rdma": str(RDMA_NETWORK),
    }
    assert constant(path, name) == right[expected]


def test_capacity_of_other_clouds() -> None:
    """Each stack names the kinds of capacity that the others have, as the blueprint does."""
    found = constant("azure/base/gpu_cluster/capacity.py", "OF_OTHER_CLOUDS")
    assert set(found) == {kind for kind, cloud in OFFERED_BY.items() if cloud != "azure"}
    for cloud in ("aws", "gcp"):
        own = next(kind for kind, owner in OFFERED_BY.items() if owner == cloud)
        texts = "".join(path.read_text() for path in (STACKS / cloud / "base" / "gpu_cluster").glob("*.py"))
        assert f'"{own}"' in texts
        assert not [
            kind for kind, owner in OFFERED_BY.items() if owner not in (cloud,) and f'kind == "{kind}"' in texts
        ]


def test_lustre_sizes() -> None:
    """Tiers of the stacks are tiers of the catalogue, with smallest size, largest where they say one, and step."""
    with (ROOT / "catalog" / "lustre_tiers.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))

    def of(cloud: str, *columns: str, efa: str = "no") -> dict[int, tuple[int, ...]]:
        ours = [row for row in rows if (row["cloud"], row["efa"]) == (cloud, efa)]
        return {int(row["mb_per_s_per_tib"]): tuple(int(row[column]) for column in columns) for row in ours}

    tib = {
        tier: tuple(size // 1024 for size in sizes)
        for tier, sizes in of("azure", "smallest_gib", "largest_gib", "step_gib").items()
    }
    assert constant("azure/base/gpu_cluster/shared_storage.py", "LUSTRE_CAPACITY_TIB") == tib
    with_efa = {tier: sizes[0] for tier, sizes in of("aws", "step_gib", efa="yes").items()}
    assert constant("aws/base/gpu_cluster/lustre_sizes.py", "EFA_STEP_GIB") == with_efa
    without = {(smallest, step) for smallest, step in of("aws", "smallest_gib", "step_gib").values()}
    names = ("SMALLEST_GIB", "STEP_GIB")
    assert without == {tuple(constant("aws/base/gpu_cluster/lustre_sizes.py", name) for name in names)}
    tree = ast.parse((STACKS / "gcp" / "base" / "gpu_cluster" / "lustre_sizes.py").read_text())
    numbers = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for tier, sizes in of("gcp", "smallest_gib", "step_gib").items():
        assert {tier, *sizes} <= numbers


def test_every_module_is_there() -> None:
    """The files that these tests read are those that projects are made of."""
    assert all(Path(STACKS / folder / "base" / "policy").is_dir() for folder in ("aws", "azure", "gcp"))
