"""The acceptance test: every phase is there, and its numbers are those of the plan."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.onprem.documents import onprem_documents
from clusterwright.plan.training.record import TrainingPlan

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
SMALL = Path(__file__).parents[1] / "small.yaml"


@pytest.fixture(scope="module")
def steps(shipped_plan: TrainingPlan) -> dict[str, tuple[str, str]]:
    """Return (what to do, what to expect) by number."""
    option = next(option for option in shipped_plan.options if option.design.facility is not None)
    text = onprem_documents(shipped_plan, option, load())["acceptance.md"].content.decode()
    rows = [line.split(" | ") for line in text.splitlines() if re.match(r"\| \d+\.\d+ ", line)]
    return {row[0].strip("| "): (row[1], row[2].removesuffix(" | |")) for row in rows}


def test_the_fabric_is_that_of_the_plan(steps: dict[str, tuple[str, str]], shipped_plan: TrainingPlan) -> None:
    """Eight ports a DGX H100 and those of the fabric managers, each with its link, and every switch."""
    design = next(option.design.facility for option in shipped_plan.options if option.design.facility is not None)
    fabric = design.inventory.fabric
    links = fabric.node_leaf_cables + fabric.leaf_spine_cables + fabric.spine_core_cables
    ports = fabric.nodes * 8 + fabric.management_ports
    assert steps["4.1"][1] == f"{fabric.switches:,} switches, {ports:,} ports, {links:,} links"


def test_the_burn_in_has_the_predicted_speed_and_its_band(
    steps: dict[str, tuple[str, str]], shipped_plan: TrainingPlan
) -> None:
    """The band of speed is that of the run's days: the slowest speed gives the most days."""
    option = next(option for option in shipped_plan.options if option.design.facility is not None)
    speed, low, high = (int(number) for number in re.findall(r"\d+", steps["8.3"][1])[:3])
    assert speed == round(option.performance.tokens_per_s_per_gpu)
    assert low * option.performance.calendar_days_high == pytest.approx(
        speed * option.performance.calendar_days, rel=0.01
    )
    assert high * option.performance.calendar_days_low == pytest.approx(
        speed * option.performance.calendar_days, rel=0.01
    )


def test_losing_a_feed_is_tested_against_what_it_carries(steps: dict[str, tuple[str, str]]) -> None:
    """4 DGX H100 draw 40.8 kW: at power factor 0.95 two PDUs of three carry 21.5 kVA each, of 34.5 (415 V, 60 A)."""
    assert "21.5 of its 34.5 kVA" in steps["2.2"][1]


def test_a_lost_node_without_a_spare_is_waited_for(
    steps: dict[str, tuple[str, str]], shipped_plan: TrainingPlan
) -> None:
    """The shipped plan trains on all of its nodes: the job waits for the node; with a spare it goes on without it."""
    assert "waits in the queue" in steps["8.4"][1]
    assert "`reliability.spare_nodes`" in steps["8.4"][1]
    option = next(option for option in shipped_plan.options if option.design.facility is not None)
    spared = replace(
        option, performance=replace(option.performance, failures=replace(option.performance.failures, spare_nodes=2))
    )
    text = onprem_documents(shipped_plan, spared, load())["acceptance.md"].content.decode()
    assert f"on {option.cluster.nodes - 2} of the {option.cluster.nodes} nodes: 2 are spare" in text


def test_a_phase_carries_more_than_an_even_share(steps: dict[str, tuple[str, str]]) -> None:
    """Eight supplies on three phases put 33.6 A on a line when a PDU's breaker is open."""
    assert "no line more than 33.6 A" in steps["2.2"][1]


def test_an_accelerator_without_a_measured_value_says_so(shipped_plan: TrainingPlan) -> None:
    """No number is invented for the collectives of a system that no source measured."""
    option = next(option for option in shipped_plan.options if option.design.facility is not None)
    catalogue = load()
    systems = catalogue.systems | {"dgx-h100": replace(catalogue.systems["dgx-h100"], accelerator="a100-sxm-80gb")}
    text = onprem_documents(shipped_plan, option, replace(catalogue, systems=systems))["acceptance.md"].content.decode()
    assert "unknown for this accelerator" in text


def _fabric_steps(*values: str) -> dict[str, str]:
    """Return what is expected in the phase of the fabric, by what is done."""
    plan = plan_of(GPT3, ["targets.onprem.system=dgx-h100", *values], "onprem")
    page = onprem_documents(plan, plan.options[0], load())["acceptance.md"].content.decode()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| 4.")]
    return {row[1]: row[2] for row in rows}


def test_ethernet_is_measured_for_what_it_drops() -> None:
    """Links by the list that has them, counters before and after a load, nine tenths of each port's 400 Gb/s."""
    steps = _fabric_steps("targets.onprem.fabric.kind=roce")
    assert "links between switches" in steps["`lldpctl` on every switch against `cables.csv`"]
    writes = [expected for do, expected in steps.items() if "ib_write_bw" in do]
    assert writes[0] == "at least 360 of 400 Gb/s for every pair"
    noted, again = (next(do for do in steps if words in do) for words in ("before any load", "counters again"))
    assert "ethtool -S" in noted
    assert list(steps).index(noted) < list(steps).index(again)
    assert "no discards" in steps[again]


def test_leaves_are_those_that_there_are() -> None:
    """Several sets of leaves: one leaf and two; one leaf alone: no second one is asked for."""
    assert any("two nodes of one leaf, then of two leaves" in do for do in _fabric_steps())
    plan = plan_of(SMALL, ["targets.aws=null"], "onprem")
    page = onprem_documents(plan, plan.options[0], load())["acceptance.md"].content.decode()
    assert "`ib_write_bw` between two nodes, which are all on one leaf |" in page
    assert "two leaves" not in page
