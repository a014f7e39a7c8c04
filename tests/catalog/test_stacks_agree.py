"""What the stacks check by themselves, since their users edit configuration by hand, is what the catalogue says."""

import ast
import re
from functools import cache
from typing import Any

import pytest

from clusterwright import assets
from clusterwright.catalog.clouds.lustre import lustre_tiers
from clusterwright.catalog.load import load


@cache
def constants(cloud: str) -> dict[str, Any]:
    """Return the constants of a cloud's programs that are plain values, by `module.NAME`."""
    found: dict[str, Any] = {}
    for path in sorted((assets.root() / "stacks" / cloud).rglob("gpu_cluster/**/*.py")):
        for node in ast.parse(path.read_text()).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and target.id.isupper() and isinstance(node, ast.Assign | ast.AnnAssign):
                try:
                    found[f"{path.stem}.{target.id}"] = _value(node.value)
                except ValueError:
                    continue
    return found


def _value(node: ast.expr | None) -> Any:  # noqa: ANN401 - constants have any type
    """Return a literal; a mapping's dictionary, and a record as the dictionary of its fields.

    Raises:
        ValueError: it is an expression.
    """
    if isinstance(node, ast.Dict):
        return {_value(key): _value(value) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.args:
            return _value(node.args[0])
        return {word.arg: _value(word.value) for word in node.keywords}
    if node is None:
        raise ValueError
    return ast.literal_eval(node)


def _capacity(key: str, field: str) -> Any:  # noqa: ANN401
    return getattr(load().capacity_objects[key], field)


def _types(capacity: str) -> set[str]:
    return {entry.id for entry in load().instances.values() if capacity in entry.capacity_objects}


def _steps(cloud: str, *, efa: bool = False) -> dict[int, int]:
    return {tier.mb_per_s_per_tib: tier.step_gib for tier in lustre_tiers() if tier.cloud == cloud and tier.efa == efa}


@pytest.mark.parametrize(
    ("cloud", "name", "expected"),
    [
        ("aws", "capacity.CAPACITY_BLOCK_MAX_NODES", lambda: _capacity("aws-capacity-block", "max_nodes")),
        ("aws", "lustre_sizes.EFA_STEP_GIB", lambda: _steps("aws", efa=True)),
        ("aws", "lustre_sizes.STEP_GIB", lambda: max(_steps("aws").values())),
        ("azure", "capacity.MOST_NODES_OF_A_BLOCK", lambda: _capacity("azure-block-reservation", "max_nodes")),
        ("azure", "node_type.DEFAULT_NODES_PER_SCALE_SET", lambda: load().placement_objects["scale-set"].max_nodes),
        (
            "azure",
            "node_type.MOST_NODES_PER_SCALE_SET",
            lambda: load().placement_objects["scale-set"].max_nodes_on_request,
        ),
        ("azure", "node_type.NVLINK_DOMAIN_NODES", lambda: load().placement_objects["scale-set-of-racks"].rack_nodes),
        (
            "azure",
            "shared_storage.LUSTRE_CAPACITY_TIB",
            lambda: {
                tier.mb_per_s_per_tib: (
                    tier.smallest_gib // 1024,
                    (tier.largest_gib or 0) // 1024,
                    tier.step_gib // 1024,
                )
                for tier in lustre_tiers()
                if tier.cloud == "azure"
            },
        ),
        ("gcp", "limits.FLEX_START_MAX_HOURS", lambda: 24 * _capacity("gcp-flex-start", "most_days")),
        ("gcp", "limits.FLEX_START_MAX_A3_NODES", lambda: _capacity("gcp-flex-start-a3", "max_nodes")),
        (
            "gcp",
            "limits.MAX_DISTANCE_MAX",
            lambda: load().placement_objects["compact-policy"].max_distance_most,
        ),
    ],
)
def test_limits(cloud: str, name: str, expected: Any) -> None:  # noqa: ANN401 - a function without arguments
    """Numbers and tables of limits; one that a stack takes from its configuration alone is no constant of it."""
    known = constants(cloud)
    assert known
    if name in known:
        assert known[name] == expected()


def test_types_with_capacity_blocks() -> None:
    """AWS refuses others by family."""
    families = {name.partition(".")[0] for name in _types("aws-capacity-block")}
    assert set(constants("aws").get("capacity.CAPACITY_BLOCK_FAMILIES", families)) == families


def test_types_that_azure_reserves() -> None:
    """The pattern matches the sizes that take an on-demand capacity reservation, and no other of the catalogue."""
    pattern = constants("azure").get("capacity.RESERVABLE_GPU_SIZES")
    if pattern is not None:
        sizes = {entry.id for entry in load().instances.values() if entry.cloud == "azure"}
        assert {size for size in sizes if re.fullmatch(pattern, size)} == _types("azure-reservation")


def test_fabrics_of_google() -> None:
    """Every machine type that the stack knows has the catalogue's fabric."""
    instances = load().instances
    for name, fabric in constants("gcp").get("limits.FABRIC_OF_MACHINE_TYPE", {}).items():
        known = instances[name].fabric_kind
        assert fabric == ("none" if known == "gvnic" else known), name


def test_workload_policies_of_google() -> None:
    """Flex-start is placed by a workload policy on the types of the catalogue's rows that say so."""
    listed = constants("gcp").get("limits.FLEX_START_WORKLOAD_POLICY_TYPES")
    placed = _types("gcp-flex-start-a3-ultra") | _types("gcp-flex-start-a4")
    assert listed is None or set(listed) == placed


def test_compact_placement_of_google() -> None:
    """Families with compact placement are those of the catalogue, and A3 takes no distance of 1."""
    families = constants("gcp").get("limits.COMPACT_FAMILIES")
    placed = {entry.id.split("-")[0] for entry in load().instances.values() if entry.placement_kind == "compact-policy"}
    assert families is None or set(families) == placed


def test_lustre_of_google() -> None:
    """Smallest size and step of each tier."""
    tiers = constants("gcp").get("lustre_sizes.LUSTRE_TIERS", {})
    assert {tier: fields["step_gib"] for tier, fields in tiers.items()} in ({}, _steps("gcp"))


def test_slices_of_google() -> None:
    """Prefix, cores, chips and runtime version of TPU hosts."""
    catalogue = load()
    for name, family in constants("gcp").get("tpu_slices.FAMILIES", {}).items():
        entry = catalogue.instances[name]
        slices, placement = catalogue.tpu_slice(entry), catalogue.placement(entry)
        assert slices is not None
        assert placement is not None
        assert family["prefix"] == slices.type_prefix
        assert (family["cores_per_chip"], family["chips_per_host"]) == (slices.cores_per_chip, entry.gpus)
        assert (family["max_chips"], family["runtime_version"]) == (placement.max_chips, entry.image)
        assert tuple(family["small_topologies"].values()) == slices.small_shapes
        assert max(family["longest_sides"]) == slices.longest_edge
