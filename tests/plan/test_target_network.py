"""A target's network and power cap, from the blueprint to the plan, its explanations and the design."""

import json
import re

import pytest

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.lookup import node_type_of_system
from clusterwright.cli.planning import plan_of
from clusterwright.explain.explanation import find
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.target_network import node_as_asked
from tests.opened import explanations

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
NETWORK = "targets.onprem.network"


def planned(*values: str, on: str = "onprem") -> Plan:
    """Return the plan of the shipped blueprint with values replaced, on one target."""
    return plan_of(GPT3, ["goals.finish_within=60 days", "targets.onprem.max_nodes=48", *values], on)


def option(*values: str, on: str = "onprem") -> Option:
    """Return its only option."""
    return planned(*values, on=on).options[0]


def problems_of(*values: str) -> list[tuple[str, str]]:
    """Return path and message of every problem of the shipped blueprint with values replaced."""
    found = resolve(load(GPT3, values).blueprint, load_catalogue())
    assert not isinstance(found, Resolved)
    return [(".".join(map(str, problem.path)), problem.message) for problem in found]


def test_what_says_nothing_changes_nothing() -> None:
    """An oversubscription of 1 and no more ways than two levels give the plan of a blueprint without a network."""
    plain = option()
    assert (plain.cluster.power_cap_w, plain.cluster.network.leaf_gpus) == (None, None)
    assert option(f"{NETWORK}.oversubscription=1", f"{NETWORK}.sharp=false") == plain


def test_a_narrow_fabric_is_slower_and_has_fewer_spines() -> None:
    """At 3:1 a leaf of 64 ports has 16 uplinks and 48 nodes below it."""
    plain, narrow = option(), option(f"{NETWORK}.oversubscription=3")
    assert narrow.cluster.network.leaf_gpus == 48 * 8
    assert plain.design.facility is not None
    assert narrow.design.facility is not None
    assert narrow.design.facility.fabric.uplinks_per_leaf == 16
    assert plain.design.facility.fabric.uplinks_per_leaf == 32
    wide = ("targets.onprem.max_nodes=256", "goals.finish_within=20 days")
    days = {point.nodes: point.calendar_days for point in option(*wide).performance.front}
    slower = {
        point.nodes: point.calendar_days for point in option(*wide, f"{NETWORK}.oversubscription=3").performance.front
    }
    both = days.keys() & slower.keys()
    assert all(slower[nodes] >= days[nodes] for nodes in both)
    assert any(slower[nodes] > days[nodes] for nodes in both if nodes > 48)


def test_tiers_apart() -> None:
    """Leaf and spine have ratios of their own; both arrive at the plan and at the design."""
    tiers = option(f"{NETWORK}.oversubscription.leaf=2", f"{NETWORK}.oversubscription.spine=1.5")
    assert (tiers.cluster.network.leaf_oversubscription, tiers.cluster.network.spine_oversubscription) == (2, 1.5)
    assert tiers.design.facility is not None
    assert tiers.design.facility.rules.leaf_oversubscription == 2


def test_a_power_cap_reaches_speed_power_and_energy() -> None:
    """Eight GPUs at 500 instead of 700 W take 1.6 kW off each node's 10.2 kW, and the run takes longer."""
    plain, capped = (
        option("targets.onprem.max_nodes=32"),
        option("targets.onprem.max_nodes=32", "targets.onprem.power_cap=500 W"),
    )
    assert capped.cluster.power_cap_w == 500
    assert capped.design.facility is not None
    assert capped.design.facility.power.compute_w == pytest.approx(capped.cluster.nodes * 8_600)
    assert plain.design.facility is not None
    assert plain.design.facility.power.compute_w == pytest.approx(plain.cluster.nodes * 10_200)
    assert (
        capped.performance.calendar_days * capped.cluster.nodes > plain.performance.calendar_days * plain.cluster.nodes
    )


def test_the_plan_tells_traffic_and_keeps_it() -> None:
    """Traffic and cap are in `plan.json`, the same twice, and are read back."""
    values = ("targets.onprem.power_cap=500 W", f"{NETWORK}.oversubscription=2", f"{NETWORK}.algorithms=[ring, tree]")
    plan = planned(*values)
    text = dumps(plan)
    assert text == dumps(planned(*values))
    assert loads(text) == plan
    told = json.loads(text)["options"][0]
    assert told["cluster"]["network"]["flat"] is True
    assert {"name", "ranks", "stride", "level", "way", "size_bytes", "bytes_per_s", "seconds", "times"} == set(
        told["performance"]["traffic"][0]
    )


def test_traffic_and_cap_are_explained() -> None:
    """The sum is that of its terms, each with level, bytes, bandwidth and algorithm; the cap with its equation."""
    plan = planned("targets.onprem.power_cap=500 W")
    known = explanations(plan, "onprem")
    traffic = find(known, "traffic")
    terms, _, total = traffic.equation[-1].replace(",", "").removesuffix(" s").partition(" = ")
    pairs = [re.findall(r"[\d.]+", term) for term in terms.removesuffix(" / 1000000").split(" + ")]
    assert sum(float(times) * float(us) / 1e6 for times, us in pairs) == pytest.approx(float(total), rel=2e-3)
    tensor = next(entry for entry in traffic.inputs if entry.name == "tensor")
    assert "GB/s" in tensor.value
    assert "MB among" in tensor.value
    assert tensor.source == "scale-up domain; two levels, a ring in each"
    cap = find(known, "power_cap_w")
    assert "(500 / 700)^0.427 = 0.866" in cap.equation[-1]


@pytest.mark.parametrize("value", [0.5, 65, "{spine: 0}", "narrow", "true"])
def test_ratios_that_no_switch_has(value: object) -> None:
    """Fewer downlinks than uplinks, more than a switch has, and what is no ratio at all."""
    with pytest.raises(BlueprintError) as caught:
        load(GPT3, (f"{NETWORK}.oversubscription={value}",))
    (problem,) = caught.value.problems
    assert problem.path[:4] == ("targets", "onprem", "network", "oversubscription")


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        ("targets.onprem.power_cap=800 W", "targets.onprem.power_cap", "above the 700 W"),
        ("targets.aws.power_cap=20 W", "targets.aws.power_cap", "too low"),
        (
            "targets.onprem.system=dgx-a100-640gb",
            "targets.onprem.network.nvlink_sharp",
            "no NVLink switches that reduce",
        ),
    ],
)
def test_what_a_target_cannot_do(value: str, path: str, said: str) -> None:
    """Each is a problem at its place in the blueprint."""
    found = problems_of(value, f"{NETWORK}.nvlink_sharp=true")
    assert any(where == path and said in message for where, message in found), found


def test_what_is_asked_of_one_system_leaves_other_nodes_alone() -> None:
    """A node type that a target does not speak of, and any of a target that is not there, stays as it is."""
    catalogue = load_catalogue()
    blueprint = load(GPT3, (f"{NETWORK}.oversubscription=3",)).blueprint
    asked, other = (node_type_of_system(catalogue, name) for name in ("dgx-h100", "dgx-b200"))
    assert node_as_asked(blueprint, "onprem", asked, catalogue).network.leaf_oversubscription == 3
    assert node_as_asked(blueprint, "onprem", other, catalogue) == other
    rented = load(GPT3, ("targets.onprem=null", "targets.gcp=null")).blueprint
    assert node_as_asked(rented, "onprem", asked, catalogue) == asked
