"""What a blueprint asks of nodes to buy and of their fabric: held against the catalogue, and handed to the design."""

from pathlib import Path

import pytest

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import ClusterwrightError
from clusterwright.plan.target_network import design_rules

SHIPPED = Path(__file__).resolve().parents[2] / "blueprints" / "train-gpt3-175b.yaml"


def resolved(*overrides: str) -> Resolved | tuple[Problem, ...]:
    """Resolve the shipped blueprint with some of its values replaced."""
    return resolve(load(SHIPPED, overrides).blueprint, load_catalogue())


@pytest.mark.parametrize(
    ("override", "path", "said"),
    [
        ("fabric.switch=sn56000", "targets.onprem.fabric.switch", "no switch is called 'sn56000'"),
        ("fabric.switch=sn2201", "targets.onprem.fabric.switch", "is an out-of-band switch"),
        ("fabric={switch: sn5600, kind: infiniband}", "targets.onprem.fabric.switch", "is for roce"),
    ],
)
def test_switches_are_held_against_the_catalogue(override: str, path: str, said: str) -> None:
    """An unknown switch, one for management and one of another kind are problems at their place."""
    problems = resolved(f"targets.onprem.{override}")
    assert not isinstance(problems, Resolved)
    assert [".".join(map(str, problem.path)) for problem in problems] == [path]
    assert said in problems[0].message
    assert problems[0].help


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("fabric.topology=dragonfly", "a dragonfly topology has no leaf per rail"),
        ("fabric.kind=omnipath", "omnipath"),
        ("fabric.planes=0", "greater than or equal to 1"),
        ("fabric.buy_for_units=-1", "greater than or equal to 1"),
        ("fabric.plans=2", "no key 'plans'"),
        ("node.power=11", "no unit"),
        ("node.power=-1 kW", "greater than 0"),
        ("{allowed_systems: [dgx-h100, dgx-b200], node: {power: 9 kW}}", "several systems"),
    ],
)
def test_what_is_no_fabric_or_node_is_refused(override: str, said: str) -> None:
    """Topologies without rules, kinds that do not exist, and numbers without sense or unit are refused by name."""
    separator = "=" if override.startswith("{") else "."
    with pytest.raises(ClusterwrightError) as caught:
        load(SHIPPED, (f"targets.onprem{separator}{override}",))
    assert said in repr(vars(caught.value)) + str(caught.value)


def test_the_kind_of_fabric_reaches_sizing() -> None:
    """RoCE on a DGX, asked for or by the switch, is the network that traffic is timed on."""
    for override in ("fabric.kind=roce", "fabric.switch=sn5600"):
        found = resolved(f"targets.onprem.{override}")
        assert isinstance(found, Resolved)
        owned = next(target for target in found.targets if target.target == "onprem")
        assert owned.node.network_kind == "roce"


def test_the_choice_reaches_the_design() -> None:
    """Wishes and told facts hold for the system that is named, by any of its names, and for no other."""
    catalogue = load_catalogue()
    asked = (
        "targets.onprem.system=dgx-a100",
        "targets.onprem.fabric={buy_for_units: 3}",
        "targets.onprem.node.power=6 kW",
    )
    blueprint = load(SHIPPED, asked).blueprint
    found = resolve(blueprint, catalogue)
    assert isinstance(found, Resolved)
    node = next(target.node for target in found.targets if target.target == "onprem")
    rules = design_rules(blueprint, node, catalogue)
    assert (rules.fabric.buy_for_units, rules.node.power_w) == (3, 6000.0)
    other = next(target.node for target in found.targets if target.target == "aws")
    assert design_rules(blueprint, other, catalogue).fabric.buy_for_units is None
