"""Small functions of options, differences, explanations and charges, each held without a whole plan."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from clusterwright.actual import reconcile
from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.diff import differences
from clusterwright.diff.causes import Effect, _left
from clusterwright.errors import InputError
from clusterwright.explain.breakeven import _explanation
from clusterwright.explain.data import _waiting
from clusterwright.explain.explanation import _demand, storage_numbers
from clusterwright.explain.sizing import _compute, _stage_words
from clusterwright.facility.bill import Bill
from clusterwright.facility.checklist import power
from clusterwright.finance import carbon, charge_streams, taxed
from clusterwright.plan import work
from clusterwright.plan.alternatives import answer_basis, offers
from clusterwright.plan.alternatives.hybrids import financings
from clusterwright.plan.alternatives.ranking import _counted, _of_mix
from clusterwright.plan.candidates import capacities, cloud_limits, consider
from clusterwright.plan.decide import _over_budget
from clusterwright.plan.owned import design as owned_design
from clusterwright.plan.owned.cost import _IDLE, _LOAD, _check_draw
from clusterwright.plan.target_network import node_as_asked
from clusterwright.plan.text.money import USD
from clusterwright.plan.without_effect import _services, _storage
from clusterwright.pricing import offer_lines
from clusterwright.sizing.records.job import ComputeTime
from clusterwright.sizing.training.practice import LEAN, STANDARD
from clusterwright.sweep import costs, space
from clusterwright.tco.chance.distributions import UncertainInput
from clusterwright.tco.chance.uncertainty import OwnBand, _of_user
from clusterwright.tco.finance_terms import FinanceTerms
from clusterwright.tco.formulas.payments import Financing
from clusterwright.tco.terms.records import Candidate, Parameter
from tests.stand_ins import stand_in
from tests.tco.examples import bare

_NODE = stand_in(id="i", gpus=8, accelerator=stand_in(id="h100"))
_ASKED = stand_in(economics=stand_in(reference_target="aws", runs=None))


def test_the_word_for_a_size_is_slice_on_tpus_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs in racks come in whole racks, TPUs in slices."""
    monkeypatch.setattr(cloud_limits, "hardware_limits", lambda _: [])
    monkeypatch.setattr(cloud_limits, "node_counts", lambda _: (1, 2, 4))
    blueprint = stand_in(targets=stand_in(gcp=stand_in(min_nodes=3, max_nodes=3, nodes_must_be=None)))
    for tpu_slice, word in ((stand_in(), "slice"), (None, "number of whole racks")):
        target = stand_in(target="gcp", tpu_slice=tpu_slice, node=stand_in(id="node"))
        (finding,) = cloud_limits.size_findings(blueprint, target)
        assert finding.id == "PLC011"
        assert f"is a {word} of node" in finding.message
        assert finding.help == "allow 2 or 4 nodes"


def test_the_block_that_covers_the_nodes_is_the_next_larger_one() -> None:
    """Of the sizes of a block those that are too small cover nothing."""
    capacity = stand_in(
        verified=True, node_counts=(1, 2, 4, 8), name="block", kind="capacity-block", placement="", most_days=None
    )
    option = stand_in(target="aws", nodes=5, file_system=None, calendar_days=1.0)
    target = stand_in(capacity=capacity, placement=None)
    (finding,) = cloud_limits.capacity_warnings(option, target, stand_in(name="run"))
    assert "8 cover the 5, and 3 are paid for without work" in finding.message


def test_a_band_of_days_is_that_of_the_size() -> None:
    """Both ends are the days times the factors of the run's time."""
    size = stand_in(
        reason="",
        set_values=(),
        band=(0.9, 1.2),
        goodput=0.5,
        kept_goodput=None,
        spot_goodput=None,
        sized=stand_in(point=stand_in(node=_NODE)),
    )
    candidate = Candidate(key="k", target="t", bill=Bill(target="t", lines=()), nodes=1, gpus=8, calendar_days=10.0)
    time = offers._offer(size, candidate).performance
    assert (time.calendar_days_low, time.calendar_days_high) == pytest.approx((9.0, 12.0))


def test_no_other_provider_is_priced_where_none_is_wanted() -> None:
    """`tco.other_providers: none` asks nothing of the prices."""
    asked = stand_in(section=stand_in(other_providers="none"))
    assert not list(offers._price_only([], asked))


def test_providers_that_nobody_named_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them is no choice of one; a list is."""
    monkeypatch.setattr(offers, "_products", lambda *_: {"lambda": stand_in(sku="sku", accelerator="h100")})
    monkeypatch.setattr(offers, "_elsewhere", lambda *_, asked: asked)
    book = stand_in(in_force=lambda requests, _: [stand_in(point=stand_in(unit="hour"))] * len(requests))
    sizes = [stand_in(owned=False, spot_goodput=0.9, sized=stand_in(point=stand_in(node=_NODE)))]
    for wanted, is_asked in (("all", False), (("lambda",), True)):
        asked = stand_in(section=stand_in(other_providers=wanted), book=book, day=stand_in())
        assert set(offers._price_only(sizes, asked)) == {is_asked}


@pytest.mark.parametrize(
    ("asked", "term", "ranked"), [(True, "on_demand", True), (True, "spot", False), (False, "on_demand", False)]
)
def test_a_provider_is_an_answer_where_it_is_named_and_assured(
    monkeypatch: pytest.MonkeyPatch,
    asked: bool,
    term: str,
    ranked: bool,
) -> None:
    """Of providers with prices of GPUs alone, one that was asked for is ranked, and on spot none is."""
    candidate = Candidate(
        key="k", target="t", bill=Bill(target="t", lines=()), nodes=1, gpus=8, calendar_days=10.0, term=term
    )
    monkeypatch.setattr(offers, "_candidate", lambda *_: candidate)
    monkeypatch.setattr(offers, "_goodput", lambda *_: 0.9)
    near = stand_in(
        sized=stand_in(candidate=candidate, point=stand_in(node=_NODE)),
        target="aws",
        owned=False,
        reason="",
        set_values=(),
        band=(1.0, 1.0),
    )
    product = stand_in(gpus=8, sku="lambda/gpu", item="H100", provider="lambda")
    way = offers._elsewhere(near, product, f"lambda/{term}", term, "gpu_hour", asked=asked)
    assert way.candidate is not None
    assert way.candidate.competes == ranked
    assert bool(way.reason) != ranked


@pytest.mark.parametrize("shared", [True, False])
def test_the_band_of_cash_is_that_of_cash(shared: bool) -> None:
    """A share of what is bought has no cash, and the band of days stays that of the way."""
    names = "target term owned mixed nodes gpus calendar_days run_cash_usd run_share_usd horizon_usd horizon_usd_low"
    names += " horizon_usd_high npv_usd npv_usd_low npv_usd_high capex_usd usd_per_gpu_hour priced_share"
    cost = stand_in(
        **dict.fromkeys(names.split()) | {"npv_usd": 2.0},
        key="k",
        horizon_priced_share=None,
        competes=True,
        shared=shared,
        run_usd_low=1.0,
        run_usd_high=3.0,
    )
    way = _counted(_of_mix(stand_in(key="k", target="hybrid", nodes=1, gpus=8)), cost, stand_in(), (), _ASKED)
    assert (way.money.run_usd_low, way.money.run_usd_high) == ((None, None) if shared else (1.0, 3.0))
    assert (way.performance.calendar_days_low, way.performance.calendar_days_high) == (None, None)


def test_the_cheapest_way_is_held_against_the_budget() -> None:
    """Above it is a finding, at it and without one is none."""
    way = stand_in(ranked=True, run_usd=10.0, run_share_usd=None)
    for budget, found in ((9.0, ["TCO001"]), (10.0, []), (None, [])):
        plan = stand_in(goals=stand_in(budget_usd=budget), workload=stand_in(unit=stand_in(name="run")))
        assert [finding.id for finding in _over_budget(plan, [way])] == found


def test_a_hall_that_is_too_small_is_found_at_its_key() -> None:
    """The hall is a key of the site; so is a limit of power."""
    blueprint = stand_in(targets=stand_in(onprem=None))
    target = stand_in(node=stand_in(id="node"), target="onprem")
    for words, path in (("site.hall.racks", ("site", "hall")), ("site.power_limit", ("site", "power_limit"))):
        finding = consider._hall_too_small(stand_in(words=words, nodes=2), 3, target, blueprint)
        assert finding.path == path


def test_what_is_rented_has_no_hall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sizes are those of the target as it is."""
    monkeypatch.setattr(consider, "_front", lambda *_: ("point",))
    target = stand_in(system=None)
    assert consider._front_in_hall(stand_in(), stand_in(), stand_in(), target) == (("point",), target)


def test_keys_that_the_storage_system_does_not_use_are_named() -> None:
    """A system without Lustre and with one kind of box."""
    design = stand_in(lustre=None, front=None, name="boxes")
    asked = stand_in(model_fields_set={"files", "front_box"}, files=1, front_box=1)
    blueprint = stand_in(targets=stand_in(onprem=stand_in(storage=asked)))
    option = stand_in(facility=stand_in(inventory=stand_in(storage=design)))
    paths = {finding.path[-1] for finding in _storage(blueprint, [option])}
    assert paths == {"files", "front_box"}


def test_addresses_of_services_are_of_kubernetes() -> None:
    """With Slurm the key changes nothing; where it is not given nothing is said."""
    for cidr, found in (("10.0.0.0/16", 1), (None, 0)):
        azure = stand_in(scheduler="slurm", network=stand_in(service_cidr=cidr))
        assert len(list(_services(stand_in(targets=stand_in(azure=azure))))) == found


def test_a_loan_keeps_its_rate() -> None:
    """Financing is at the rate that is given, else at none."""
    found = financings(
        [stand_in(kind="loan", rate=rate, share=None, term=None, residual=None) for rate in (0.08, None)]
    )
    assert [way.rate_per_year for way in found.values()] == [0.08, 0.0]


def test_equipment_that_draws_more_while_it_waits_is_refused() -> None:
    """At any end of the bands."""

    def share(key: str, value: float) -> Parameter:
        return Parameter(
            key=key, value=value, low=value, high=value, unit="", basis="given", reason="r", source="blueprint"
        )

    with pytest.raises(InputError, match="more than the 50 %"):
        _check_draw({_IDLE: share(_IDLE, 0.9), _LOAD: share(_LOAD, 0.5)})
    _check_draw({_IDLE: share(_IDLE, 0.4), _LOAD: share(_LOAD, 0.5)})


def test_a_hall_is_bounded_by_the_power_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two limits of which one is given, the other bounds nothing."""
    site = stand_in(places=None, power_limit_w=100e3, plant=stand_in(ups_va=None))
    asked = {}
    rules = stand_in(node=None)
    monkeypatch.setattr(owned_design, "site_of", lambda *_: site)
    monkeypatch.setattr(owned_design, "_check_room", lambda *_: None)
    monkeypatch.setattr(owned_design, "rules_of", lambda *_: rules)
    monkeypatch.setattr(owned_design, "as_told", lambda system, _: system)
    monkeypatch.setattr(owned_design, "node_power_w", lambda *_: 10e3)
    monkeypatch.setattr(owned_design, "most_nodes", lambda **given: asked.update(given) or 7)
    limit = owned_design.hall_limit(stand_in(site=None), stand_in(), stand_in(), stand_in())
    assert limit is not None
    assert (asked["most"], limit.nodes, limit.words) == (10, 7, "site.power_limit")


def test_a_target_that_the_blueprint_lacks_leaves_the_node_as_it_is() -> None:
    """Nothing is asked of it."""
    node = stand_in(id="node")
    assert node_as_asked(stand_in(targets=stand_in(aws=None)), "aws", node, stand_in()) is node


def test_hours_of_an_owned_cluster_are_months_times_hours() -> None:
    """36 months of 730 h, of which a run takes 10 days, are 109.5 runs where the work does not grow."""
    economics = stand_in(horizon=36 * 730 * 3600.0, hours_per_month=730.0)
    assert work._most_runs(stand_in(economics=economics, tco=TcoSection()), 10.0) == pytest.approx(109.5)


def test_runs_that_are_given_make_the_utilisation() -> None:
    """10 runs of 10 days in 36 months of 730 h are 9.13 %; without, the utilisation is that of the blueprint."""
    given = bare(runs=10.0, horizon_months=36, utilisation=0.5)
    reference = stand_in(calendar_days=10.0, target="aws")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "reference", lambda _: reference)
        assert work.with_reference(given, []).utilisation == pytest.approx(2400 / (36 * given.hours_per_month))
        without = bare(horizon_months=36, utilisation=0.5)
        assert work.with_reference(without, []).utilisation == 0.5


def test_the_answer_at_half_the_work_is_that_of_half_the_utilisation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Utilisation and runs are halved."""
    asked: list[Any] = []

    class Half:
        def __init__(self, *given: object, **_: object) -> None:
            asked.append(given[1])

        def costs(self) -> list[Any]:
            return []

    monkeypatch.setattr(answer_basis, "Ledger", Half)
    ledger = stand_in(economics=bare(utilisation=0.5, runs=8.0), candidates=(), book=None, mixes=(), basis_amounts=list)
    assert not answer_basis.bases(ledger, max_age_s=86400.0)
    assert (asked[0].utilisation, asked[0].runs) == (0.25, 4.0)


def test_the_demand_of_storage_names_what_it_asks_for() -> None:
    """Capacity and rates that are known; the others are left out."""
    demand = stand_in(
        capacity_bytes=2e12, read_bytes_per_s=None, write_bytes_per_s=3e9, origin="checkpoints", source="s"
    )
    assert _demand(demand).value == "2.00 TB, 3.00 GB/s write"


def test_boxes_of_both_kinds_are_added_where_a_system_has_two() -> None:
    """One kind is itself; two are a sum."""
    for front, terms in ((None, "3 = 3"), (stand_in(), "3 + 2 = 5")):
        storage = stand_in(
            data_boxes=3,
            front_boxes=2,
            front=front,
            boxes=3 if front is None else 5,
            name="n",
            system="s",
            demands=(),
            rules=(),
            binding=("read",),
        )
        (found,) = storage_numbers(stand_in(facility=stand_in(inventory=stand_in(storage=storage))))
        assert found.equation[1] == terms


def test_memory_of_a_stage_is_in_gb() -> None:
    """States, activations and logits alike."""
    memory = stand_in(weights=1e9, gradients=2e9, optimizer=4e9, activations=5.5e9, logits=0.25e9)
    entry = stand_in(expert_layers=0, layers=8, micro_batches_in_flight=4, memory=memory)
    assert "states 7.00, activations 5.50, logits 0.25 GB" in _stage_words(entry)


def test_the_printed_equation_of_computation_gives_its_result() -> None:
    """Measured over predicted × micro-batches × (layers × layer + recomputed × again + head), all in ms."""
    of = ComputeTime(
        layer_s=0.010,
        recompute_s=0.003,
        multiplications_s=0.002,
        streaming_s=0.0005,
        experts_s=0.0,
        attention_passes=3.0,
        attention_s=0.0004,
        overhead_s=0.001,
        expert_launch_s=0.0,
        measured_over_predicted=1.1,
        micro_batches=16,
        layers=12.0,
        recomputed_layers=0.0,
        head_s=0.5,
        peak_flop_per_s=1e15,
        speed_share=1.0,
    )
    layout = stand_in(recomputed_layers=0)
    option = stand_in(
        compute=of, step=stand_in(compute_s=1.1 * 16 * (12 * 0.010 + 0.5)), layout=layout, power_cap_w=None
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clusterwright.explain.sizing.layout_text", lambda _: "")
        line = _compute(option)[0].equation[1]
    left, _, right = line.removesuffix(" s").partition(" = ")
    value = eval(left.replace("×", "*").replace(" ms", "").replace(",", ""))  # noqa: S307 - of digits and signs
    assert value == pytest.approx(float(right), rel=1e-4)


def test_what_shared_storage_takes_is_in_the_printed_wait() -> None:
    """The preparation is the slowest of the three."""
    feed = stand_in(
        workers_s=1.0,
        node_s=None,
        shared_s=5.0,
        workers=4,
        prefetch_batches=2,
        pause_s=0.5,
        ready_share=0.1,
        stall_s=3.0,
        worker_bytes_per_s=1e6,
        loading_ranks=8,
        limited_by="storage",
        bytes_per_token=2.0,
        workers_needed=4,
        node_bytes_per_s_needed=1.0,
        shared_bytes_per_s_needed=1.0,
        staged=False,
        ranks_per_node=8,
    )
    option = stand_in(data=feed, step=stand_in(total_s=5.0, data_loading_s=3.0), layout=stand_in(dp=8))
    plan = stand_in(workload=stand_in(global_batch_sequences=64, sequence_length=8))
    assert _waiting(plan, option).equation[1].startswith("max(0, 5.00000 - (2.00000 - 0.50000) - 0.50000) = 3.00000")


def test_breakeven_is_between_the_months_that_both_have() -> None:
    """Owning is above until month 2 and below from month 3."""
    paid = {"own": {1.0: 9.0, 2.0: 10.0, 3.0: 11.0}, "rent": {1.0: 4.0, 2.0: 8.0, 3.0: 12.0}}
    pair = stand_in(
        owned_key="own", rented_key="rent", months=2.6667, months_low=None, months_high=None, utilisation=None
    )
    found = _explanation(pair, "breakeven", paid, USD)
    assert found.equation[1].startswith("2 + (3 - 2) × ")


@pytest.mark.parametrize(("share", "words"), [(None, "share unknown"), (0.0, "no heat into liquid")])
def test_heat_into_liquid_is_unknown_or_none(
    monkeypatch: pytest.MonkeyPatch,
    share: float | None,
    words: str,
) -> None:
    """A system whose share no source gives is not one without any."""
    monkeypatch.setattr(power, "heat_of", lambda **_: stand_in(air_w=1e3, liquid_w=0.0))
    monkeypatch.setattr(power, "cdu_count", lambda *_: None)
    site = stand_in(cooling=None, cooling_limit_w=None, air_rise_c=10.0, water_rise_c=10.0)
    design = stand_in(site=site, power=stand_in(compute_w=1e3, it_w=1e3))
    found = list(power.cooling_items(design, [stand_in(power_w=1e3, name="r")], stand_in(liquid_heat_fraction=share)))
    assert found[-1].found == words


def test_differences_are_those_of_values_that_changed() -> None:
    """Each with both values; equal ones are none."""
    changes = list(differences._changes({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 3.0}))
    assert [(one.name, one.before, one.after) for one in changes] == [("b", 2.0, 3.0)]


def test_categories_come_in_the_order_of_their_dollars(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was not there before is counted from 0."""
    sides: dict[str, dict[str, float]] = {"before": {"old": 0.5}, "after": {"new": 10.0, "old": 11.0}}
    for name in ("_figures", "_quantities"):
        monkeypatch.setattr(differences, name, lambda _: {})
    monkeypatch.setattr(differences, "_prices", lambda _: {})
    monkeypatch.setattr(differences, "_common", lambda *given: given)
    monkeypatch.setattr(differences, "_figures", lambda _: ())
    monkeypatch.setattr(differences, "_categories", lambda side: sides[side])
    before: Any = "before"
    after: Any = "after"
    found = differences._target("aws", before, after)
    assert found is not None
    assert [change.name for change in found.categories] == ["old", "new"]


def test_what_changes_do_together_is_left_of_the_days() -> None:
    """The days of the whole less those of each change alone."""
    whole = Effect(target="aws", nodes=2, calendar_days=3.5, run_usd=None, horizon_usd=None, npv_usd=None)
    assert _left(whole, ()).calendar_days == 3.5


def test_a_list_price_is_one_of_the_same_unit() -> None:
    """Without a price in force, or with one of another unit, there is none."""
    line = stand_in(line=stand_in(sku="s", region="r", charge="hourly", unit="hour"))
    for point, found in (
        (None, {}),
        (stand_in(charge="hourly", unit="hour", usd=2.0), {("s", "r"): 2.0}),
        (stand_in(charge="monthly", unit="month", usd=2.0), {}),
    ):
        price = None if point is None else stand_in(point=point)
        money = stand_in(book=stand_in(in_force=lambda *_, price=price: [price]), as_of=None)
        assert charge_streams._list_prices([line], money) == found


def test_a_loan_or_a_lease_is_the_one_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With either the comparison after tax is that of it; without, there is none."""
    monkeypatch.setattr(taxed, "with_loan", lambda *_, **given: ("loan", given["months"]))
    monkeypatch.setattr(taxed, "with_lease", lambda *_, **given: ("lease", given["kind"]))
    loan = Financing(kind="loan", rate_per_year=0.05, months=12)
    lease = Financing(kind="finance_lease", rate_per_year=0.05)
    mine = stand_in(key="k", npv_after_tax_usd=1.0)
    for financing, found in ((loan, ("loan", 12)), (lease, ("lease", "finance")), (None, None)):
        assert taxed._financed(FinanceTerms(financing=financing), stand_in(), mine) == found


def test_emissions_by_place_take_power_and_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """KWh times grams; unknown where either is."""
    monkeypatch.setattr(carbon, "_embodied", lambda *_: (None, ""))
    plan = stand_in(finance=FinanceTerms(), workload=stand_in(unit_tokens=None))
    for kwh, grams, kilograms in ((1000.0, 400.0, 400.0), (None, 400.0, None), (1000.0, None, None)):
        monkeypatch.setattr(carbon, "_intensity", lambda *_, grams=grams: (grams, "source"))
        cost = stand_in(owned=True, key="onprem", runs_in_horizon=2.0)
        option = stand_in(owned_kwh=kwh, target="onprem", accelerator="a", region="")
        assert carbon._emissions(plan, stand_in(), cost, option).location_kg == kilograms


def test_published_memory_keeps_a_third_of_what_is_gathered() -> None:
    """What published runs come down to is between none and what plans assume."""
    assert 0 < LEAN.gathered_share < STANDARD.gathered_share


def test_owners_look_at_every_size_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the smallest that meets the goal up, then the smaller ones down to the first."""
    monkeypatch.setattr(costs, "_bought", lambda *given: given[2].nodes)
    front = [stand_in(nodes=nodes) for nodes in (1, 2, 3, 4, 5)]
    found = [index for index, _ in costs._owned(stand_in(), stand_in(), front, [False, False, False, True, True])]
    assert found == [3, 4, 2, 1, 0]


def test_a_sweep_reads_no_file_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blueprint with such a file is refused; one without an owned target, or without the file, is swept."""
    monkeypatch.setattr(space, "model_of", lambda *_: None)
    monkeypatch.setattr(space, "contradictions", lambda *_: ())
    monkeypatch.setattr(space, "contradictions_of_model", lambda *_: ())

    def swept(onprem: object) -> str:
        blueprint = stand_in(
            targets=stand_in(onprem=onprem), name="n", workload=stand_in(kind="train", model="gpt3-175b")
        )
        return space._scenario(stand_in(blueprint=blueprint), (), stand_in()).name

    assert swept(None) == "n"
    assert swept(stand_in(parts=None)) == "n"
    with pytest.raises(InputError, match="does not read the file"):
        swept(stand_in(parts="parts.csv"))


def _utilisation(**band: float) -> UncertainInput:
    known = {
        "utilisation": UncertainInput(key="utilisation", low=0.5, high=1.5, reason="r", source="s", most=2.0),
    }
    return _of_user(OwnBand(key="utilisation", **band), known, {"utilisation": 0.5})


def test_a_band_is_within_what_there_is_and_holds_its_value() -> None:
    """More than 100 % of the hours is refused, and a band beside its own value."""
    assert _utilisation(low=0.4, high=1.0).high == 2.0
    with pytest.raises(InputError, match="exceeds 100 %"):
        _utilisation(low=0.4, high=1.2)
    with pytest.raises(InputError, match="outside its band"):
        _utilisation(low=0.6, high=0.9)
    with pytest.raises(InputError, match="outside its band"):
        _utilisation(low=0.3, high=0.4)


def test_commitments_are_for_the_nodes_that_are_had_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever other kinds of capacity a cloud has."""
    monkeypatch.setattr(
        capacities,
        "_under",
        lambda *_, name, kind, held: capacities.OtherCapacity(
            key=f"{name}/{kind}", blueprint=stand_in(), several=(stand_in(kind=kind),), set_values=(), held=held
        ),
    )
    monkeypatch.setattr(capacities, "_committed", lambda entry, term: stand_in(kind=entry.kind, term=term))
    blueprint = stand_in(targets=stand_in(aws=stand_in(capacity="spot", model_fields_set=set())))
    considered: Any = {"aws": [stand_in(kind="spot")]}
    found = capacities.other_capacities(blueprint, stand_in(), stand_in(), considered)
    committed = [entry for entry in found if entry.key.rpartition("/")[2] in capacities.COMMITTED_TERMS]
    assert committed
    assert {one.kind for entry in committed for one in entry.several} == {"on-demand"}  # type: ignore[attr-defined]


def test_lines_of_a_bill_whose_differences_are_alike_to_a_cent_come_by_what_was_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tenth of a cent more is no larger difference."""
    planned = {"small": (1.004, 10.0), "large": (1.001, 20.0)}
    monkeypatch.setattr(reconcile, "_expected", lambda *_, **__: (planned, {}))
    monkeypatch.setattr(reconcile, "_found", lambda *_, **__: {})
    monkeypatch.setattr(
        reconcile,
        "_variance",
        lambda name, *_: stand_in(
            line=name, difference_usd=planned[name][0], planned_usd=planned[name][1], actual_usd=0.0
        ),
    )
    monkeypatch.setattr(reconcile, "target_of", lambda _: "aws")
    plan = stand_in(economics=stand_in(hours_per_month=730.0, horizon_months=36))
    span = stand_in(provider="AWS", start=dt.datetime(2026, 1, 1), end=dt.datetime(2026, 2, 1))  # noqa: DTZ001
    found = reconcile._of_option(plan, stand_in(target="aws", lines=()), [], [], [span], cost="billed", rates={})
    assert [line.line for line in found.lines] == ["large", "small"]


def test_a_document_that_cannot_be_searched_says_so_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is removed afterwards need not have been written."""

    def failing(*_: object) -> None:
        raise InputError("no line can be read", help="fetch it again")

    document = tmp_path / "offers.csv"
    document.write_text('"SKU","Price"\n"a","1"\n')
    monkeypatch.setattr(offer_lines, "_run", failing)
    with pytest.raises(InputError, match="no line can be read"):
        offer_lines.write_lines(
            document, tmp_path / "table.csv", first_line=0, cells=("a",), endings=(), columns={"sku": True}
        )
