"""The hall bounds what is sized: a plan never stands in more racks than there are places."""

import pytest

from clusterwright.errors import RuleError
from clusterwright.plan.record import Option, Plan

from .examples import SHIPPED, plan_of

ONLY = ("targets={onprem: {system: dgx-h100}}",)


def _owned(plan: Plan) -> Option:
    return next(option for option in plan.options if option.target == "onprem")


@pytest.mark.parametrize("places", [20, 14])
def test_a_hall_that_is_large_enough(places: int) -> None:
    """The plan meets the goal and stands within the places that there are: 40 days take 36 nodes, in 12 racks."""
    option = _owned(plan_of(SHIPPED, *ONLY, "goals.finish_within=40 days", f"site.hall.racks={places}"))
    assert option.design.facility is not None
    assert option.performance.meets_goal
    assert option.design.facility.racks <= places
    assert option.design.facility.findings == ()


def test_a_hall_that_is_too_small_for_the_goal() -> None:
    """The fastest cluster that the hall holds is shown with what is missed, and the key that limits it."""
    plan = plan_of(SHIPPED, *ONLY, "site.hall.rows=1", "site.hall.racks_per_row=6")
    option = _owned(plan)
    assert option.design.facility is not None
    assert not option.performance.meets_goal
    assert option.design.facility.racks <= 6
    assert [finding.id for finding in plan.findings] == ["GOAL001"]
    assert "site.hall.racks" in plan.findings[0].help


@pytest.mark.parametrize(
    ("overrides", "rule"),
    [
        (("site.hall.racks=2",), "HAL001"),
        (("site.hall.racks=3",), "HAL005"),
        (("site.power_limit=5 kW",), "PWR001"),
        (("site.ups.power=5 kVA",), "PWR002"),
        (("site.hall.door_height=1.9 m",), "HAL002"),
        (("site.cooling=immersion",), "CLG002"),
        (("site.cooling=direct-to-chip", "site.rack_power=90 kW", "site.hall.floor_load=100 kg/m2"), "RCK003"),
    ],
)
def test_a_hall_that_cannot_hold_the_job(overrides: tuple[str, ...], rule: str) -> None:
    """Nothing is planned, and the finding says what binds and what would do."""
    with pytest.raises(RuleError) as caught:
        plan_of(SHIPPED, *ONLY, *overrides)
    assert rule in [finding.id for finding in caught.value.findings]
    assert all(finding.help for finding in caught.value.findings)


def test_a_number_that_was_asked_for_is_named() -> None:
    """Where the blueprint asks for more nodes than the hall holds, the way out is that number, not another system."""
    with pytest.raises(RuleError) as caught:
        plan_of(SHIPPED, *ONLY, "site.hall.racks=6", "targets.onprem.min_nodes=64")
    assert "lower targets.onprem.min_nodes" in caught.value.findings[0].help


def test_the_choice_takes_what_fits() -> None:
    """Of several systems the one whose racks the hall holds is taken: B200 needs fewer of them than A100."""
    systems = "targets={onprem: {allowed_systems: [dgx-a100-640gb, dgx-b200]}}"
    option = _owned(plan_of(SHIPPED, systems, "site.hall.racks=16", "site.rack_power=60 kW", "site.rack_height=52 U"))
    assert option.design.facility is not None
    assert option.design.facility.system == "dgx-b200"
    assert option.design.facility.racks <= 16


def test_air_cooled_servers_gain_nothing_from_cold_plates() -> None:
    """A rack of DGX H100 in a hall with cold plates is still cooled by air."""
    option = _owned(plan_of(SHIPPED, *ONLY, "site.cooling=direct-to-chip", "site.rack_power=90 kW"))
    assert option.design.facility is not None
    assert option.design.facility.site.cooling_limit_w == 57.2e3
