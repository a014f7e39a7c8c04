"""Choosing: the cheapest point that meets the goal, never one of unknown cost, never one that cannot be had."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import RuleError
from clusterwright.plan import bounds
from clusterwright.plan import decide as decision
from clusterwright.plan.candidates import consider as candidates
from tests.stand_ins import stand_in

from .examples import SHIPPED, SMALL, plan_of, shipped


def point(key: str, nodes: int, days: float, *, broken: bool = False) -> Any:  # noqa: ANN401 - stands in for a Choice
    """Return what `_best` looks at of a choice."""
    design = stand_in(findings=("PWR001",)) if broken else stand_in(findings=())
    size = stand_in(nodes=nodes, calendar_days=days, node=stand_in(id="p5.48xlarge"))
    choice = stand_in(key=key, point=size, design=design, meets_goal=True)
    choice.compared = choice  # what is taken is the fastest of its size
    return choice


def days_high(size: Any) -> float:  # noqa: ANN401 - stands in for a SizedPoint
    """Return how far a size is from the goals, as the engine of training does."""
    return float(size.calendar_days_high)


def costs(owned: bool, **usd: float | None) -> Any:  # noqa: ANN401 - stands in for CandidateCost
    """Return what `_best` looks at of costs: the other total is turned round, so that it would choose otherwise."""
    return {
        key: stand_in(
            shared=owned,
            run_usd=None if value is None else (-value if owned else value),
            npv_usd=None if value is None else (value if owned else -value),
        )
        for key, value in usd.items()
    }


@pytest.mark.parametrize("owned", [False, True])
def test_the_cheapest_point_is_taken(owned: bool) -> None:
    """Rented by the cost of a run, owned by the present value of the horizon."""
    points = [point("a", 4, 9), point("b", 8, 5), point("c", 16, 3)]
    assert decision._best(points, costs(owned, a=3.0, b=2.0, c=4.0), days_high).key == "b"


@pytest.mark.parametrize("owned", [False, True])
def test_unknown_cost_never_wins(owned: bool) -> None:
    """A point without a price loses to any with one; if none has, the smallest is taken."""
    points = [point("a", 4, 9), point("b", 8, 5)]
    assert decision._best(points, costs(owned, a=None, b=1e12), days_high).key == "b"
    assert decision._best(points[::-1], costs(owned, a=None, b=None), days_high).key == "a"


def test_what_the_building_cannot_hold_comes_last() -> None:
    """A cluster that breaks a rule of the building is not taken while another stands, however cheap."""
    points = [point("a", 4, 9, broken=True), point("b", 8, 5)]
    assert decision._best(points, costs(True, a=1.0, b=9.0), days_high).key == "b"
    assert decision._best(points, costs(True, a=1.0, b=None), days_high).key == "b"


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.one_of(st.none(), st.floats(1, 1e9)), st.booleans()), min_size=1, max_size=12
    ),
    st.booleans(),
)
def test_no_point_is_better_than_the_best(rows: list[tuple[int, float | None, bool]], owned: bool) -> None:
    """Among points that the building holds, none with a known cost is cheaper than the one taken."""
    points = [point(str(index), nodes, 1.0, broken=broken) for index, (nodes, _, broken) in enumerate(rows)]
    by_key = {str(index): usd for index, (_, usd, _) in enumerate(rows)}
    best = decision._best(points, costs(owned, **by_key), days_high)
    usable = [index for index, (_, _, broken) in enumerate(rows) if not broken]
    pool = usable or range(len(rows))
    known = [usd for index in pool if (usd := by_key[str(index)]) is not None]
    assert int(best.key) in pool
    assert by_key[best.key] == (min(known) if known else None)


def _way(key: str, **values: Any) -> Any:  # noqa: ANN401 - stands in for an Alternative
    """Return what recommending looks at of a way."""
    known: dict[str, Any] = {"run_usd": None, "run_share_usd": None, "capex_usd": 0.0, "npv_usd": 1e9}
    return stand_in(**{"key": key, "ranked": True, "owned": False} | known | values)


def test_this_run_is_recommended_where_it_takes_least_cash() -> None:
    """Renting comes before buying for a single run; the cheapest rented way within the budget wins."""
    ways = [
        _way("onprem", owned=True, run_share_usd=1.0, capex_usd=1e7),
        *(_way(key, run_usd=usd) for key, usd in (("aws", 2e6), ("azure", 1e6), ("gcp", 3e6))),
        _way("spot", run_usd=1e5, ranked=False),
        _way("reserved", run_share_usd=1e5),
    ]
    answers = [decision.recommended(ways, budget) for budget in (None, 5e5, 0.5)]
    assert [answer and answer.key for answer in answers] == ["azure", "onprem", None]


def test_unknown_or_late_is_not_recommended() -> None:
    """A way that is not ranked, or of which no cost is known, is no answer."""
    ways = [_way("late", run_usd=1.0, npv_usd=1.0, ranked=False), _way("gcp", run_usd=1e12, npv_usd=1e15)]
    alone, kept = decision.recommended(ways, None), decision.recommended_horizon(ways)
    assert (alone and alone.key, kept and kept.key) == ("gcp", "gcp")
    assert decision.recommended(ways[:1], None) is None
    assert decision.recommended_horizon(ways[:1]) is None


@pytest.mark.parametrize("target", ["aws", "azure", "gcp"])
def test_a_looser_goal_never_costs_more_to_rent(target: str) -> None:
    """More days allow every size that fewer allow, so the cheapest run gets cheaper or stays."""
    usd = []
    for days in (6, 12, 30, 90):
        option = shipped(f"goals.finish_within={days} days").option(target)
        assert option is not None
        assert option.money.run_usd is not None
        if option.performance.meets_goal:
            assert option.performance.calendar_days_high <= days
            usd.append(option.money.run_usd)
    assert len(usd) >= 3
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(usd))


def test_a_higher_confidence_never_allows_more() -> None:
    """The sizes that meet a goal nine times in ten meet it five times in ten too."""
    sure, even = shipped("goals.confidence=0.95"), shipped("goals.confidence=0.5")
    for one, other in zip(sure.options, even.options, strict=True):
        assert {entry.nodes for entry in one.performance.front} <= {entry.nodes for entry in other.performance.front}


def test_sizes_to_own_that_are_left_out_would_not_win(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:  # noqa: ANN401
    """Billing every size leads to the same choice as billing only the smallest ones."""
    few = tmp_path / "blueprint.yaml"
    few.write_text(SMALL)
    cases = [
        (few, ()),
        (few, ("goals.finish_within=3 days", "workload.global_batch=1024")),
        (few, ("workload.model=llama-2-70b", "workload.tokens=500e9", "site.rack_power=60 kW")),
        (SHIPPED, ("goals.finish_within=15 days", "targets.aws=null", "targets.azure=null", "targets.gcp=null")),
    ]
    chosen = [plan_of(path, *overrides).option("onprem") for path, overrides in cases]
    monkeypatch.setattr(candidates, "OWNED_NODES_MARGIN", 1e9)
    monkeypatch.setattr(candidates, "OWNED_SIZES", 14)
    for (path, overrides), before in zip(cases, chosen, strict=True):
        after = plan_of(path, *overrides).option("onprem")
        assert before is not None
        assert after is not None
        assert sum(entry.run_share_usd is not None for entry in after.performance.front) > sum(
            entry.run_share_usd is not None for entry in before.performance.front
        )
        assert (before.cluster.nodes, before.money.npv_usd) == (after.cluster.nodes, after.money.npv_usd)


def test_rented_sizes_are_all_priced() -> None:
    """Every rented size that is shown has its cost; the chosen one costs least but for its layout's 2 %."""
    for target in ("aws", "azure", "gcp"):
        option = shipped().option(target)
        assert option is not None
        usd = [entry.run_usd for entry in option.performance.front]
        assert None not in usd
        least = min(value for value in usd if value is not None)
        assert option.money.run_usd is not None
        assert least <= option.money.run_usd * (1 + 1e-9) <= least * 1.02


def test_most_nodes_is_the_tightest_limit(tmp_path: Any) -> None:  # noqa: ANN401
    """A cluster is no larger than the blueprint, the placement object or a capacity block allows."""
    path = tmp_path / "blueprint.yaml"
    path.write_text(SMALL.replace("region: us-east-1", "region: us-east-1\n    max_nodes: 70"))

    def limit(*overrides: str) -> tuple[int | None, str]:
        blueprint = load(path, overrides).blueprint
        resolved = resolve(blueprint, load_catalogue())
        assert isinstance(resolved, Resolved)
        return bounds.most_nodes(blueprint, resolved.targets[0])

    assert limit() == (70, "targets.aws.max_nodes")
    block = ("targets.aws.capacity=capacity-block", "targets.aws.reservation=cr-0123456789abcdef0")
    assert limit(*block) == (64, "one capacity block")
    azure = "targets.azure={instance: Standard_ND96isr_H100_v5, region: eastus}"
    most, what = limit("targets.aws=null", azure)
    assert most == load_catalogue().instances["Standard_ND96isr_H100_v5"].placement_max_nodes
    assert "scale set" in what
    assert all(
        entry.nodes <= 64
        for option in plan_of(path, *block).options
        if option.target == "aws"
        for entry in option.performance.front
    )


def test_target_that_does_not_fit_is_a_finding_of_the_others_plan() -> None:
    """One target without a layout that fits leaves the others planned."""
    plan = shipped("targets.aws.max_nodes=1")
    assert [option.target for option in plan.options] == ["azure", "gcp", "onprem"]
    assert [finding.id for finding in plan.findings] == ["MEM001"]
    assert plan.findings[0].message.startswith("aws: ")


def test_nothing_that_fits_is_an_error_with_every_reason() -> None:
    """If no target fits, every target's reason is reported."""
    limits = [f"targets.{target}.max_nodes=1" for target in ("aws", "azure", "gcp", "onprem")]
    with pytest.raises(RuleError) as caught:
        plan_of(SHIPPED, *limits)
    assert [finding.id for finding in caught.value.findings] == ["MEM001"] * 4


def test_given_data_set_sizes_storage() -> None:
    """Storage is sized for the data set that the blueprint gives, else for the tokens."""
    derived, given_size = shipped(), shipped("storage.dataset=50 TB")
    for before, after in zip(derived.options, given_size.options, strict=True):
        assert after.design.storage.dataset_bytes == 50e12
        assert after.design.storage.capacity_bytes > before.design.storage.capacity_bytes
        assert after.design.storage.checkpoint_bytes_kept == before.design.storage.checkpoint_bytes_kept


def test_months_of_720_hours() -> None:
    """GPU nodes are paid for the hours worked: months of 720 hours cost 720/730 of those of 730.

    Storage is paid by the month, however long it is.
    """
    usual, short = shipped().option("aws"), shipped("economics.hours_per_month=720").option("aws")
    assert usual is not None
    assert short is not None
    before, after = ({part.category: part.usd for part in entry.money.horizon_breakdown} for entry in (usual, short))
    assert after["compute"] == pytest.approx(before["compute"] * 720 / 730)
    assert after["storage"] == pytest.approx(before["storage"])
    assert shipped("economics.hours_per_month=720").economics.hours_per_month == 720


def test_the_band_of_money_is_no_narrower_than_that_of_days() -> None:
    """What is rented by the hour costs more the longer a run takes, in every total that is shown."""
    for option in shipped().options:
        if option.cluster.it_power_w is not None:
            continue
        days = option.performance.calendar_days_high / option.performance.calendar_days_low
        assert option.money.run_usd_high / option.money.run_usd_low >= days - 1e-9  # type: ignore[operator]
        nodes = {entry.category: entry.usd for entry in option.money.horizon_breakdown}["compute"]
        for name in ("horizon_usd", "npv_usd"):
            low, high = getattr(option.money, f"{name}_low"), getattr(option.money, f"{name}_high")
            share = nodes / (option.money.horizon_usd or 1.0)
            assert high - low >= share * getattr(option.money, name) * (days - 1) * 0.8
