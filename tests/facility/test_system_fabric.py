"""Fabrics of systems without a blueprint, against published tables."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.errors import ClusterwrightError
from clusterwright.facility.fabric.system import SystemFabric, fabric_of_system

PUBLISHED = Path(__file__).parents[1] / "published"
CATALOGUE = load()


def _sized(system: str, switch: str, **more: object) -> SystemFabric:
    return fabric_of_system(
        system=lookup.system(CATALOGUE, system),
        switch=lookup.switch(CATALOGUE, switch),
        **more,  # type: ignore[arg-type]
    )


def _rows(file: str) -> list[dict[str, str]]:
    with (PUBLISHED / file).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("row", _rows("superpod_b300.csv"), ids=lambda row: f"{row['table']}-{row['su']}")
def test_tables_of_b300(row: dict[str, str]) -> None:
    """The rule gives the tables of DGX B300 on both fabrics: 144-port InfiniBand, and two planes of split Ethernet."""
    sized = _sized("dgx-b300", row["switch"], units=int(row["su"]), planes=int(row["planes"]))
    counts = sized.counts()
    assert sized.nodes == int(row["nodes"])
    for name in ("leaf", "spine", "node_leaf_cables", "leaf_spine_cables"):
        if row[name]:
            assert counts[name] == int(row[name])


@pytest.mark.parametrize("row", _rows("superpod_tables.csv"), ids=lambda row: f"{row['fabric']}-{row['su']}")
def test_tables_by_system(row: dict[str, str]) -> None:
    """The tables of H100, B200 and GB200 come out with the system's name, units and nodes alone."""
    system = {"H100": "dgx-h100", "B200": "dgx-b200", "GB200": "gb200-nvl72"}[row["fabric"].split(" ")[0]]
    sized = _sized(system, "qm9700", units=int(row["su"]), nodes=int(row["nodes"]))
    counts = sized.counts()
    assert sized.gpus == int(row["gpus"])
    for name in ("leaf", "spine", "core", "node_leaf_cables", "leaf_spine_cables", "spine_core_cables"):
        if row[name]:
            assert counts[name] == int(row[name])


def test_a_whole_a100_superpod() -> None:
    """140 DGX A100 on 40-port switches: 56 leaves, 80 spines, 28 cores, 1,120 cables on each level."""
    counts = _sized("dgx-a100", "qm8790", units=7).counts()
    assert [counts[name] for name in ("leaf", "spine", "core")] == [56, 80, 28]
    assert {counts[name] for name in ("node_leaf_cables", "leaf_spine_cables", "spine_core_cables")} == {1120}


def test_oversubscription_moves_ports_down() -> None:
    """At 3:1 a 128-port leaf has 32 uplinks, so that a unit holds 96 nodes and 100 nodes take two."""
    sized = _sized("dgx-h100", "sn5600", nodes=100, oversubscription=3.0)
    assert (sized.radix, sized.fabric.uplinks_per_leaf, sized.fabric.units) == (128, 32, 2)
    assert sized.counts()["leaf_spine_cables"] == 16 * 32


def test_more_units_than_nodes_need() -> None:
    """Four units bought for 40 nodes have the switches of four units and the cables of 40 nodes and UFM."""
    counts = _sized("dgx-h100", "qm9700", units=4, nodes=40).counts()
    assert (counts["leaf"], counts["spine"], counts["leaf_spine_cables"]) == (32, 16, 1024)
    assert counts["node_leaf_cables"] == 40 * 8 + 4


@given(units=st.integers(1, 24), system=st.sampled_from(["dgx-a100", "dgx-h100", "dgx-b300"]))
def test_full_units_are_not_oversubscribed(*, units: int, system: str) -> None:
    """Without oversubscription no level of full units carries fewer links than the nodes have ports."""
    switch = {"dgx-a100": "qm8790", "dgx-h100": "qm9700", "dgx-b300": "q3400"}[system]
    sized = _sized(system, switch, units=units)
    counts = sized.counts()
    assert counts["node_leaf_cables"] == counts["leaf_spine_cables"] == sized.nodes * 8
    assert sized.fabric.levels == 2 or counts["spine_core_cables"] >= sized.nodes * 8


@pytest.mark.parametrize(
    ("system", "switch", "more", "said"),
    [
        ("dgx-h100", "qm9700", {}, "needs its size"),
        ("dgx-h100", "qm9700", {"units": 2, "nodes": 65}, "65 nodes do not fit 2 units of 32"),
        ("dgx-h100", "qm9700", {"units": 2, "nodes": 0}, "0 nodes do not fit 2 units of 32"),
        ("dgx-h100", "qm8790", {"units": 1}, "has slower ones"),
        ("dgx-h100", "sn2201", {"units": 1}, "out-of-band switch"),
        ("dgx-h100", "qm9700", {"units": 1, "oversubscription": 0.5}, "more uplinks than downlinks"),
        ("gb200-nvl72", "qm9700", {"units": 1, "oversubscription": 2.0}, "as many uplinks as downlinks"),
        ("gb300-nvl72", "q3400", {"units": 1}, "whole rack"),
        ("dgx-h100", "qm9700", {"nodes": 6000}, "LIDs"),
    ],
)
def test_refused_by_name(system: str, switch: str, more: dict[str, object], said: str) -> None:
    """What cannot be sized is refused with the reason and a way out."""
    with pytest.raises(ClusterwrightError, match=said) as caught:
        _sized(system, switch, **more)
    assert caught.value.help
