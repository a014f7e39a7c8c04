"""Small rules of plan, finance, explain, diff and sweep, each at and beside its limit, without a whole plan."""

import datetime as dt
from ipaddress import IPv4Network
from typing import Any

import pytest

from clusterwright.diff.causes import _put, _rest
from clusterwright.diff.differences import Change, Differences, _flat
from clusterwright.errors import InputError
from clusterwright.explain.data import _seconds
from clusterwright.explain.memory import _gigabytes
from clusterwright.finance.carbon import _check, _intensity
from clusterwright.finance.chance_words import _too_slow
from clusterwright.finance.scenario_measures import MEASURES
from clusterwright.plan.alternatives.answer_basis import _shares
from clusterwright.plan.alternatives.contracted import contract_key
from clusterwright.plan.candidates.cloud_addresses import RULES, _wrong, addresses_of_nodes
from clusterwright.plan.candidates.cloud_limits import _GB_PER_GIB
from clusterwright.plan.candidates.hardware import best_of_each, chosen_by_usd
from clusterwright.plan.currency import Currency
from clusterwright.plan.document import json_schema
from clusterwright.plan.findings.price_evidence import _horizon_usd, old_prices
from clusterwright.plan.text.money import USD, MoneyFormat
from clusterwright.plan.text.ranking import answers_text, paper_ways, reason_lines
from clusterwright.plan.text.training import layout_text
from clusterwright.plan.text.words import booking_text, on_demand_text
from clusterwright.sizing.records.job import Layout
from clusterwright.sweep.costs import _rounded
from clusterwright.sweep.space import NodeRange, _bounds
from clusterwright.tco.finance_terms import CarbonTerms
from tests.stand_ins import stand_in as _record


def test_addresses_of_nodes_and_file_servers() -> None:
    """A Lustre of 1,200 GiB takes one address for each 1,200 GiB and four beside; pods of AWS 12, of AKS 30 a node."""
    assert RULES["aws"].needed(nodes=4, file_system_gib=12_000_000) == 4 + 10_000 + 4
    assert RULES["aws"].needed(nodes=4, file_system_gib=1) == 4 + 1 + 4
    assert RULES["azure"].needed(nodes=4, file_system_gib=12_000_000) == 4
    assert addresses_of_nodes("aws", "kubernetes", 3) == 39
    assert addresses_of_nodes("azure", "kubernetes", 3) == 155
    assert addresses_of_nodes("aws", "slurm", 3) == 3


def test_a_network_with_too_few_addresses_is_distinguished_from_one_beside_whose_nodes_nothing_fits() -> None:
    """Fewer addresses than nodes is one message, enough of them in a network that is too small another."""
    option = _record(target="azure", scheduler="slurm", nodes=20)
    few = _wrong(option, RULES["azure"], IPv4Network("10.0.0.0/27"), 20)
    assert few == "gives 9 addresses to nodes, but 20 nodes need one each"
    assert "too small for the subnets beside" in _wrong(option, RULES["azure"], IPv4Network("10.0.0.0/26"), 20)


def test_a_gib_is_1_073741824_gb() -> None:
    """Prices per GB are held against sizes in GiB."""
    assert _GB_PER_GIB == 1.073741824


def test_hardware_that_meets_the_goal_comes_first_and_the_cheaper_of_it() -> None:
    """The chosen one is first, then what meets the goal and costs least; an unknown cost is last among its like."""

    def sized(name: str, *, meets_goal: bool) -> Any:  # noqa: ANN401 - stands in for a size
        entry = _record(key=name, meets_goal=meets_goal, point=_record(nodes=1, node=_record(id=name)))
        entry.compared = entry
        return entry

    chosen, *rest = best = [
        sized("dear", meets_goal=True),
        sized("cheap", meets_goal=True),
        sized("unknown", meets_goal=True),
        sized("late", meets_goal=False),
    ]
    usd = {"dear": 3.0, "cheap": 2.0, "unknown": None, "late": 1.0}
    costs = {name: _record(shared=False, run_usd=amount, npv_usd=None) for name, amount in usd.items()}
    several = [_record(sized=(entry,)) for entry in (*reversed(rest), chosen)]
    assert best_of_each(chosen, several, costs) == best  # type: ignore[arg-type]


def test_cash_of_a_run_decides_unless_it_is_a_share() -> None:
    """What is bought or committed is chosen by the horizon's present value."""
    assert chosen_by_usd(_record(shared=False, run_usd=1.0, npv_usd=2.0)) == 1.0
    assert chosen_by_usd(_record(shared=True, run_usd=1.0, npv_usd=2.0)) == 2.0


def test_keys_of_contracts_count_from_two_without_a_gap() -> None:
    """A second and a third contract of one form have numbers of their own; a payment alone is no `contract`."""
    paid = _record(payment="all_upfront", discount=0.0, rate=None, commitment_per_year=None, term="reserved_3y")
    given = _record(payment=None, discount=0.1, rate=None, commitment_per_year=None, term="on_demand")
    key = "aws/reserved_3y/all_upfront"
    assert contract_key("aws", paid, ()) == key
    assert contract_key("aws", paid, (key, f"{key}_2")) == f"{key}_3"
    assert contract_key("aws", given, ()) == "aws/on_demand/contract"


def test_shares_of_the_basis_are_of_all_dollars() -> None:
    """Quoted, listed and estimated dollars add up to one; a vendor's document is a quote."""
    amounts = [
        _record(usd=10.0, basis="given", source="blueprint"),
        _record(usd=10.0, basis="documented", source="vendor"),
        _record(usd=30.0, basis="documented", source="list"),
        _record(usd=50.0, basis="assumed", source="estimate"),
    ]
    assert _shares(amounts, [_record(source="vendor")]) == pytest.approx((0.2, 0.3, 0.5))
    assert _shares([], []) == (None, None, None)


def test_assumed_prices_are_ordered_by_the_dollars_of_the_horizon() -> None:
    """What is paid by the hour counts its hours, by the month its months, once itself."""
    plan = _record(economics=_record(horizon_months=36.0, hours_per_month=730.0))
    option = _record(busy_fraction=0.5)

    def usd(charge: str, scales_with: str) -> float:
        return _horizon_usd(
            plan, option, _record(usd_per_period=2.0, line=_record(charge=charge, scales_with=scales_with))
        )

    assert usd("once", "nodes") == 2.0
    assert usd("monthly", "cluster") == 72.0
    assert usd("hourly", "cluster") == 72.0 * 730.0
    assert usd("hourly", "nodes") == 36.0 * 730.0


def test_prices_are_old_after_the_age_that_is_given() -> None:
    """A limit of a day and a half is told so, and passed by two days."""
    day = dt.date(2026, 10, 16)
    lines = [
        _record(line=_record(sku=name), last_seen=day - dt.timedelta(days=age)) for name, age in (("a", 1), ("b", 2))
    ]
    (found,) = old_prices([_record(lines=lines)], as_of=day, max_age_s=1.5 * 86400)
    assert found.message == "1 documented price is 2 days old"
    assert "last seen more than 2 days before" in found.help
    assert not old_prices([_record(lines=lines)], as_of=day, max_age_s=2 * 86400)


def test_the_schema_of_a_plan_takes_no_other_field() -> None:
    """Every object of the schema is closed."""
    schema = json_schema()
    objects = [entry for entry in schema["$defs"].values() if entry.get("type") == "object"]
    assert objects
    assert all(entry["additionalProperties"] is False for entry in objects)


def test_money_in_dollars_needs_no_word_about_its_currency() -> None:
    """Another currency is reported with its rate."""
    assert USD.note == ()
    euro = MoneyFormat(currency=Currency(code="EUR", usd=1.08, day="2026-10-16", source="ECB"))
    assert euro.note[1].startswith("All money in EUR: 1 EUR = 1.08 USD on 2026-10-16")


def _way(key: str, *, run: float | None, npv: float | None, ranked: bool = False) -> Any:  # noqa: ANN401 - as above
    return _record(
        key=key,
        run_usd=run,
        npv_usd=npv,
        ranked=ranked,
        reason="why not",
        term=key.partition("/")[2],
        nodes=4,
        instance="x",
        calendar_days=8.0,
    )


def test_what_undercuts_one_of_the_answers_is_cheaper_on_paper() -> None:
    """Less cash of a run or less present value is enough; equal or unknown is not."""
    answer, kept = (
        _way("aws/on_demand", run=10.0, npv=90.0, ranked=True),
        _way("onprem", run=None, npv=20.0, ranked=True),
    )
    ways = [
        answer,
        kept,
        _way("a/spot", run=9.0, npv=30.0),
        _way("b/reserved_1y", run=None, npv=19.0),
        _way("c/spot", run=10.0, npv=20.0),
        _way("d/spot", run=None, npv=None),
    ]
    by_key = {way.key: way for way in ways}
    plan = _record(
        ranking=ways,
        options=(),
        recommended_key=answer.key,
        recommended_horizon_key=kept.key,
        alternative=by_key.get,
        planned=lambda _: None,
        workload=_record(unit=_record(asked="this run")),
    )
    assert [way.key for way in paper_ways(plan)] == ["a/spot", "b/reserved_1y"]
    assert answers_text(plan, answer.key) == "this run"
    assert answers_text(plan, kept.key) == "horizon"
    assert answers_text(plan, "a/spot") == ""


def test_reasons_stand_with_cash_or_with_present_value() -> None:
    """A way without cash of a run is named with its present value, and said to be."""
    ways = [_way("aws/spot", run=1e6, npv=5e6), _way("aws/reserved_1y", run=None, npv=2e6)]
    assert reason_lines(ways, USD) == ["AWS, spot $1.00 M; AWS, reserved 1y $2.00 M NPV: why not"]


def test_what_is_booked_is_stated_with_its_nodes_where_they_are_more() -> None:
    """A block of as many nodes names its days alone; without a block nothing is said."""
    block = _record(name="capacity block", nodes=8, days=5)
    assert booking_text(_record(booked=block, nodes=8)) == "capacity block of 5 days, paid whole"
    assert booking_text(_record(booked=block, nodes=6)) == "capacity block of 8 nodes for 5 days, paid whole"
    assert booking_text(_record(booked=None, nodes=8)) == ""


def test_the_price_on_demand_stands_beside_another_term_alone() -> None:
    """An answer on demand says it once; where it is unknown nothing is said; other sizes are named."""
    same, block = _way("aws/on_demand", run=2e6, npv=1.0), _way("aws/capacity_block", run=1e6, npv=1.0)
    known, unknown = _record(alternative={same.key: same}.get), _record(alternative={}.get)
    assert on_demand_text(known, block, USD) == "$2.00 M on demand"
    assert on_demand_text(known, same, USD) == ""
    assert on_demand_text(unknown, block, USD) == ""
    block.nodes = 8
    assert on_demand_text(known, block, USD) == "$2.00 M on demand with 4 nodes in 8 days"


def test_recomputed_layers_are_of_a_chunk_where_stages_have_chunks() -> None:
    """With one chunk for each stage they are of the stage."""

    def text_of(chunks: int) -> str:
        return layout_text(
            Layout(
                tp=1,
                sp=0,
                pp=4,
                vpp=chunks,
                dp=2,
                cp=1,
                ep=1,
                zero_stage=0,
                micro_batch=1,
                micro_batches=8,
                recompute="full",
                recompute_layers=3,
            )
        )

    assert "full recompute of 3 layers per stage" in text_of(1)
    assert "full recompute of 3 layers per chunk" in text_of(2)
    assert "2 chunks interleaved" in text_of(2)


def test_amounts_of_explanations_are_in_their_units() -> None:
    """GB are 1e9 bytes; a time that is unknown is said to be."""
    assert _gigabytes(2.5e9) == "2.500 GB"
    assert _seconds(0.25) == "0.25000 s"
    assert _seconds(None) == "unknown or not limited"


def test_one_change_of_any_kind_is_a_difference() -> None:
    """Two plans are the same only if inputs, work, assumptions, targets and breakevens are."""
    change = (Change(name="x", unit="", before=1, after=2),)
    none: dict[str, Any] = {
        "names": ("a", "b"),
        "inputs": (),
        "work": (),
        "assumptions": (),
        "targets": (),
        "breakevens": (),
    }
    fields = {name: value for name, value in none.items() if name in Differences.__dataclass_fields__}
    rest = {name: _record() for name in Differences.__dataclass_fields__.keys() - fields.keys()}
    assert Differences(**fields, **rest).same
    for name in ("inputs", "work", "assumptions", "targets", "breakevens"):
        assert not Differences(**{**fields, **rest, name: change}).same, name


def test_records_are_flattened_to_values_that_compare() -> None:
    """Unknown stays unknown, a day becomes its text, numbers stay numbers."""
    found = dict(_flat({"a": None, "b": [dt.date(2026, 10, 16), 1.5]}, "x"))
    assert found == {"x.a": None, "x.b.0": "2026-10-16", "x.b.1": 1.5}


def test_a_value_is_put_where_its_path_leads() -> None:
    """At any depth, and nowhere else."""
    values = {"a": {"b": {"c": 1, "d": 2}}, "e": 3}
    _put(values, ("a", "b", "c"), 9)
    _put(values, ("e",), 8)
    assert values == {"a": {"b": {"c": 9, "d": 2}}, "e": 8}


def test_what_changes_do_together_is_unknown_where_one_of_them_is() -> None:
    """The rest is the whole less its known parts."""
    assert _rest(10.0, [1.0, 2.0]) == 7.0
    assert _rest(10.0, [1.0, None]) is None
    assert _rest(None, [1.0]) is None


def test_carbon_of_a_grid_that_is_unknown_is_unknown() -> None:
    """A grid that nobody names is no mistake; a region that no table has gives no number."""
    terms = CarbonTerms()
    _check(terms, _record(options=()))
    grams, source = _intensity(terms, _record(target="aws", region="us-east-1"))
    assert grams is not None
    assert 50 < grams < 1000
    assert source
    assert _intensity(terms, _record(target="aws", region="nowhere-1")) == (None, "")
    with pytest.raises(InputError, match="carbon of the grid 'nowhere' is unknown"):
        _check(CarbonTerms(grid="nowhere"), _record(options=()))


def test_options_that_are_too_slow_are_counted() -> None:
    """One has its figures, several have theirs."""
    slow = [_record(key=key, probability_too_slow=0.25) for key in ("aws/on_demand", "onprem")]
    assert "its figures leave out" in _too_slow(_record(drawn=slow[:1]))[0]
    assert "their figures leave out" in _too_slow(_record(drawn=slow))[0]


def test_of_what_is_paid_less_is_better() -> None:
    """Every measure in USD ranks the least first."""
    assert all(measure.lower_is_better for name, measure in MEASURES.items() if name.startswith("usd_"))
    assert not MEASURES["providers"].lower_is_better


def test_sums_of_a_sweep_are_rounded_and_unknown_stays_unknown() -> None:
    """The last digits depend on what else was summed."""
    assert _rounded(1.23456, 2) == 1.23
    assert _rounded(None, 2) is None


def test_one_placement_limits_a_sweep() -> None:
    """Its nodes where it has a limit, else the accelerators of the largest cluster."""
    blueprint = _record(targets=_record(aws=None), software=_record(mig=None, sharing=None))
    place = _record(target="aws", node=_record(id="x", gpus=8, placement_max_nodes=None))
    bounds, limit = _bounds(blueprint, place, NodeRange())
    assert (bounds.most, limit) == (2048, "16,384 accelerators")
    place.node.placement_max_nodes = 4
    bounds, limit = _bounds(blueprint, place, NodeRange())
    assert (bounds.most, limit) == (4, "one placement holds")
