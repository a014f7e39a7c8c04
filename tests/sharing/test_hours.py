"""Hours that workloads claim, the cluster that suffices, what is lent, and how money is split."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.blueprint.sections.schedule import HOURS_A_WEEK, Hours
from clusterwright.plan.record import Option
from clusterwright.sharing.hours import (
    Claim,
    best_start,
    busiest,
    cluster_nodes,
    hour_text,
    hours_text,
    lent_shares,
    run_nodes_by_hour,
    segments,
    service_nodes_by_hour,
    worked_share,
)
from clusterwright.sharing.money import owned_usd, rented_usd, split
from clusterwright.tco.terms.records import CategoryCost

#: Hours of the example of docs/howto/shared-cluster.md.
_RATES = [8.0] * 12 + [2.0] * 12
_SERVICE = service_nodes_by_hour(_RATES, replicas=8, spare=0, gpus_per_replica=4, gpus_per_node=8, nodes=4)


def service(nodes: int = 4, *, begin: float = 0.0, end: float = 36.0) -> Claim:
    """Return the service of the example."""
    return Claim(
        name="chat",
        nodes_by_hour=_SERVICE,
        kept_nodes=nodes,
        from_month=begin,
        until_month=end,
        worked_node_hours=sum(_SERVICE),
    )


def run(
    nodes: int, *, start: int = 14, hours: int = 6, begin: float = 0.0, end: float = 36.0, worked: float = 0.0
) -> Claim:
    """Return a run that has its nodes every day."""
    return Claim(
        name="tune",
        nodes_by_hour=run_nodes_by_hour(Hours(start=start, hours=hours), nodes),
        kept_nodes=0,
        from_month=0.0,
        until_month=end,
        worked_node_hours=7.0 * 5 * nodes,
    )


class _Priced:
    """An option of which only money is asked."""

    def __init__(self, **usd: float) -> None:
        self.money = self
        self.horizon_usd: float | None = sum(usd.values())
        self.horizon_breakdown = tuple(
            CategoryCost(category=name, usd=amount, priced_usd=amount) for name, amount in usd.items()
        )


def priced(**usd: float) -> Option:
    """Return an option with these costs over the horizon, by category."""
    return _Priced(**usd)  # type: ignore[return-value]


def test_the_worked_example_by_hand() -> None:
    """The example of the page: 66 node-hours a day, 3 nodes free, 960 USD not 1,060, 833.68 and 126.32."""
    claims = (service(), run(2))
    assert sum(_SERVICE) == 7 * 66
    assert cluster_nodes(claims) == 4
    assert [int(one) for one in segments(claims)[0].free[13:23]] == [3] * 10
    assert lent_shares(claims) == {"tune": 1.0}
    usd = rented_usd({"chat": priced(compute=7 * 960.0), "tune": priced(compute=7 * 100.0)}, lent_shares(claims))
    assert usd == pytest.approx(7 * 960.0)
    paid = split(usd, claims)
    assert paid["chat"] == pytest.approx(7 * 833.68, abs=0.05)
    assert paid["tune"] == pytest.approx(7 * 126.32, abs=0.05)
    assert lent_shares((service(), run(4)))["tune"] == pytest.approx(0.75)
    assert cluster_nodes((service(), run(4))) == 5


def test_at_the_peak_a_run_adds_its_nodes() -> None:
    """In hours in which the service needs all nodes, nothing is lent and the cluster is the sum."""
    claims = (service(), run(2, start=2, hours=4))
    assert cluster_nodes(claims) == 6
    assert lent_shares(claims) == {"tune": 0.0}
    assert busiest(claims) == (2, ("chat", "tune"))


def test_one_after_the_other_takes_the_larger() -> None:
    """A training run that ends before the service begins shares its nodes: the larger of both suffices."""
    train = Claim(
        name="train",
        nodes_by_hour=run_nodes_by_hour(None, 6),
        kept_nodes=0,
        from_month=0.0,
        until_month=3.0,
        worked_node_hours=1.0,
    )
    assert cluster_nodes((train, service(begin=3.0))) == 6
    assert cluster_nodes((train, service(begin=2.9))) == 10


def test_no_service_lends_nothing() -> None:
    """Nodes that are rented by the hour for two runs cost the same shared or not, at any hours."""
    first, second = (
        run(2),
        Claim(
            name="other",
            nodes_by_hour=run_nodes_by_hour(Hours(start=1, hours=4), 3),
            kept_nodes=0,
            from_month=0.0,
            until_month=36.0,
            worked_node_hours=84.0,
        ),
    )
    assert cluster_nodes((first, second)) == 3
    lent = lent_shares((first, second))
    assert lent == {"tune": 0.0, "other": 0.0}
    assert rented_usd({"tune": priced(compute=10, storage=5), "other": priced(compute=20)}, lent) == 35


def test_storage_of_each_remains() -> None:
    """Nodes are lent: a run on them pays its storage, and on owned ones its energy unless that is counted."""
    options = {"chat": priced(compute=100.0, storage=10.0), "tune": priced(compute=50.0, storage=5.0)}
    assert rented_usd(options, {"tune": 1.0}) == 115.0
    other = priced(compute=500.0, storage=7.0, energy=3.0)
    assert owned_usd(priced(compute=1000.0), [other], always_on=True) == 1007.0
    assert owned_usd(priced(compute=1000.0), [other], always_on=False) == 1010.0


def test_an_unknown_cost_stays_unknown() -> None:
    """A workload without a known cost makes the cluster's unknown, and every part of it."""
    unknown = priced(compute=1.0)
    unknown.money.horizon_usd = None  # type: ignore[misc]
    assert rented_usd({"chat": unknown}, {}) is None
    assert owned_usd(priced(compute=1.0), [unknown], always_on=True) is None
    assert split(None, (service(), run(2))) == {"chat": None, "tune": None}


@settings(deadline=None, max_examples=200)
@given(
    nodes=st.integers(1, 8),
    start=st.integers(0, 23),
    hours=st.integers(1, 24),
    spare=st.integers(0, 3),
    rates=st.lists(st.floats(0.01, 100), min_size=24, max_size=24),
    compute=st.floats(0, 1e6),
    other=st.floats(0, 1e6),
)
def test_sharing_costs_no_more_than_apart(  # noqa: PLR0917 - drawn
    nodes: int, start: int, hours: int, spare: int, rates: list[float], compute: float, other: float
) -> None:
    """Rented, shared costs never exceed separate ones; where nothing overlaps with the service's need, all is lent."""
    by_hour = service_nodes_by_hour(
        rates, replicas=8, spare=spare, gpus_per_replica=8, gpus_per_node=8, nodes=8 + spare
    )
    chat = Claim(
        name="chat",
        nodes_by_hour=by_hour,
        kept_nodes=8 + spare,
        from_month=0.0,
        until_month=12.0,
        worked_node_hours=1.0,
    )
    claims = (chat, run(nodes, start=start, hours=hours, end=12.0))
    lent = lent_shares(claims)
    assert 0.0 <= lent["tune"] <= 1.0
    chat_usd, tune_usd = priced(compute=1e6, storage=other), priced(compute=compute, storage=other)
    shared = rented_usd({"chat": chat_usd, "tune": tune_usd}, lent)
    separate = 1e6 + compute + 2 * other
    assert shared is not None
    assert shared <= separate * (1 + 1e-12)
    size = cluster_nodes(claims)
    assert max(8 + spare, nodes) <= size <= 8 + spare + nodes
    fits = all(one + two <= 8 + spare for one, two in zip(by_hour, claims[1].nodes_by_hour, strict=True))
    assert (size == 8 + spare) == fits
    assert (lent["tune"] == pytest.approx(1.0)) == fits
    paid = split(shared, claims)
    assert sum(one for one in paid.values() if one is not None) == pytest.approx(shared)


@given(rates=st.lists(st.floats(0.01, 100), min_size=24, max_size=24), replicas=st.integers(1, 50))
def test_a_service_needs_all_at_its_peak_and_never_more(rates: list[float], replicas: int) -> None:
    """The busiest hour and its neighbours need every node, and no hour needs less than one replica."""
    by_hour = service_nodes_by_hour(
        rates, replicas=replicas, spare=1, gpus_per_replica=8, gpus_per_node=8, nodes=replicas + 1
    )
    peak = rates.index(max(rates))
    assert len(by_hour) == HOURS_A_WEEK
    assert {by_hour[peak], by_hour[peak + 1], by_hour[peak - 1]} == {replicas + 1}
    assert min(by_hour) >= 2
    assert max(by_hour) == replicas + 1


def test_replicas_of_several_nodes() -> None:
    """A replica of 16 accelerators on nodes of 8 takes two nodes, also in the quiet hours."""
    by_hour = service_nodes_by_hour(
        [4.0] * 12 + [0.1] * 12, replicas=4, spare=1, gpus_per_replica=16, gpus_per_node=8, nodes=10
    )
    assert by_hour[5] == 10
    assert by_hour[17] == 4


def test_hours_wrap_and_are_shown() -> None:
    """Hours over midnight, over Sunday, and of every day are claimed and said."""
    late = Hours(days=["sunday"], start=22, hours=6)
    assert late.claimed == {166, 167, 0, 1, 2, 3}
    assert hours_text(late) == "Sunday 22:00 to 04:00"
    assert hours_text(Hours(start=0, hours=5)) == "every day 00:00 to 05:00"
    assert hour_text(0) == "Monday 00:00"
    assert best_start((service(), run(2)), 6) == (13, 3)
    assert worked_share((service(),), 4, 1.0) == pytest.approx(7 * 66 / (4 * 730))
