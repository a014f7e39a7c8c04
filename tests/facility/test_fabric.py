"""Fabric sizes against NVIDIA's tables and against the identities of a fat-tree."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.facility.fabric.counts import AS_NEEDED, Fabric
from clusterwright.facility.fabric.size import PER_UNIT, size_fabric
from clusterwright.facility.fabric.uplinks import spines_for

PUBLISHED = Path(__file__).parents[1] / "published"


def _rows(file: str) -> list[dict[str, str]]:
    with (PUBLISHED / file).open(newline="") as stream:
        return list(csv.DictReader(stream))


def _sized(row: dict[str, str]) -> Fabric:
    nodes = int(row["nodes"])
    if row["fabric"].startswith("GB200"):
        # A row counts racks; 18 trays with 4 ports hang on the 4 leaves of each of the 8 racks of a unit.
        return size_fabric(
            nodes=nodes * 18, rails=4, radix=64, nodes_per_unit=144, leaf_per_unit=32, uplinks=18, rail_groups=PER_UNIT
        )
    with_ufm = row["fabric"] == "H100 Table 4"
    return size_fabric(nodes=nodes, rails=8, radix=64, management_ports=4 if with_ufm else 0)


@pytest.mark.parametrize("row", _rows("superpod_tables.csv"), ids=lambda row: f"{row['fabric']}-{row['su']}")
def test_superpod_tables(row: dict[str, str]) -> None:
    """Every row of NVIDIA's SuperPOD tables comes out of the one rule exactly."""
    fabric = _sized(row)
    assert (fabric.units, fabric.leaf, fabric.spine, fabric.core) == (
        int(row["su"]),
        int(row["leaf"]),
        int(row["spine"]),
        int(row["core"]),
    )
    for column in ("node_leaf_cables", "leaf_spine_cables", "spine_core_cables"):
        if row[column]:
            assert getattr(fabric, column) == int(row[column])


@pytest.mark.parametrize(
    ("units", "counts"),
    [(1, (8, 4, 0)), (2, (16, 10, 0)), (3, (24, 20, 0)), (5, (40, 20, 0)), (7, (56, 80, 28))],
)
def test_other_radix(units: int, counts: tuple[int, int, int]) -> None:
    """With 40-port switches (units of 20 nodes) the rule gives the counts that its steps give by hand."""
    fabric = size_fabric(nodes=20 * units, rails=8, radix=40)
    assert (fabric.leaf, fabric.spine, fabric.core) == counts


def test_transceivers_of_127_nodes() -> None:
    """127 DGX H100 with UFM need 1,536 switch and 508 node transceivers, as the reference bill says."""
    fabric = size_fabric(
        nodes=127, rails=8, radix=64, management_ports=4, ports_per_switch_cage=2, ports_per_node_cage=2
    )
    assert fabric.switch_optics == 1536
    assert fabric.node_optics == 508
    assert fabric.ports_free == 4


def test_full_unit_purchase() -> None:
    """Fewer nodes than a unit holds still buy the unit's leaves and leaf–spine cables."""
    full = size_fabric(nodes=32, rails=8, radix=64)
    part = size_fabric(nodes=20, rails=8, radix=64)
    assert (part.leaf, part.spine, part.leaf_spine_cables) == (full.leaf, full.spine, full.leaf_spine_cables)
    assert part.node_leaf_cables == 160


def test_as_needed_single_switch() -> None:
    """Eight nodes with eight ports fill one 64-port switch, and nothing else is bought as needed."""
    fabric = size_fabric(nodes=8, rails=8, radix=64, purchase=AS_NEEDED)
    assert (fabric.levels, fabric.leaf, fabric.spine, fabric.ports_free) == (1, 1, 0, 0)
    managed = size_fabric(nodes=4, rails=8, radix=64, management_ports=4, purchase=AS_NEEDED)
    assert (managed.leaf, managed.down_ports(0)) == (1, 4 * 8 + 4)


def test_as_needed_trims_uplinks() -> None:
    """Ten nodes bought as needed get two spines and as many uplinks as downlinks."""
    fabric = size_fabric(nodes=10, rails=8, radix=64, purchase=AS_NEEDED)
    assert (fabric.leaf, fabric.spine, fabric.leaf_spine_cables) == (8, 2, 80)


def test_management_ports_open_a_unit() -> None:
    """A unit full of nodes has no port for a subnet manager, so four ports cost a second unit."""
    assert size_fabric(nodes=32, rails=8, radix=64).units == 1
    assert size_fabric(nodes=32, rails=8, radix=64, management_ports=4).units == 2


@given(
    nodes=st.integers(1, 1000),
    rails=st.sampled_from([1, 2, 4, 8]),
    radix=st.sampled_from([36, 40, 64, 128, 144]),
    management_ports=st.integers(0, 4),
    purchase=st.sampled_from(["full-units", AS_NEEDED]),
)
def test_identities(*, nodes: int, rails: int, radix: int, management_ports: int, purchase: str) -> None:
    """No switch has more cables than ports, trunks are equal, and uplinks never fall short of downlinks."""
    fabric = size_fabric(
        nodes=nodes,
        rails=rails,
        radix=radix,
        management_ports=management_ports,
        purchase=purchase,
        infiniband=False,
    )
    down = [fabric.down_ports(leaf) for leaf in range(fabric.leaf)]
    assert sum(down) == fabric.node_leaf_cables == nodes * rails + management_ports
    between = fabric.leaf_spine_cables + fabric.spine_core_cables
    assert fabric.switch_optics == fabric.node_leaf_cables + 2 * between, "one in each cabled port of a switch"
    if fabric.levels == 1:
        assert fabric.node_leaf_cables <= radix
        return
    assert max(down) + fabric.uplinks_per_leaf <= radix
    assert max(down) <= fabric.uplinks_per_leaf
    assert fabric.uplinks_per_leaf % fabric.spine_per_group == 0
    assert fabric.leaf_spine_cables <= fabric.spine * (radix if fabric.levels == 2 else radix // 2)
    assert fabric.spine_core_cables <= fabric.core * radix
    assert fabric.ports_free >= 0
    groups = [fabric.group_of(leaf) for leaf in range(fabric.leaf)]
    assert set(groups) == set(range(fabric.groups))
    assert max(groups.count(group) for group in set(groups)) <= fabric.leaf_per_group


def test_spines_none() -> None:
    """Where not even one cable per spine suffices there is no answer."""
    assert spines_for(leaves=64, uplinks=32, spine_down_ports=32) is None


def test_limits_are_named() -> None:
    """Limits of LIDs, levels and ports are refused with the way out."""
    with pytest.raises(InputError, match="LIDs") as caught:
        size_fabric(nodes=6000, rails=8, radix=64)
    assert "planes" in (caught.value.help or "")
    with pytest.raises(InputError, match="three levels"):
        size_fabric(nodes=2000, rails=8, radix=32, infiniband=False)
    with pytest.raises(InputError, match="downlinks per leaf"):
        size_fabric(nodes=64, rails=8, radix=64, nodes_per_unit=40)
    with pytest.raises(InputError, match="uplinks"):
        size_fabric(nodes=64, rails=8, radix=64, uplinks=64)
    with pytest.raises(InputError, match="evenly"):
        size_fabric(nodes=64, rails=8, radix=64, leaf_per_unit=12)
    with pytest.raises(InputError, match="needs nodes"):
        size_fabric(nodes=0, rails=8, radix=64)


def test_a_node_with_more_links_than_a_leaf_has_downlinks_is_refused() -> None:
    """Four links of each rail to one leaf of four ports, of which two are uplinks: not even one node fits a unit."""
    with pytest.raises(InputError, match="a unit of 1 node needs 4 downlinks per leaf, a leaf has 2"):
        size_fabric(nodes=4, rails=1, radix=4, links_per_rail=4)
