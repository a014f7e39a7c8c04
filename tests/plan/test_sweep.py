"""Sweeps: the same points as the search alone, the same answers wherever they are computed, and nothing left out."""

import importlib.util
import itertools
import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.lookup import node_type_of_instance
from clusterwright.errors import InputError
from clusterwright.interface.sweeping import Request, answered, space_of
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.training.job import training_job
from clusterwright.plan.training.reliability import reliability_of
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.training.search import search
from clusterwright.sweep import run as sweep_run
from clusterwright.sweep.costs import DESIGNED_NODES, NOT_DESIGNED
from clusterwright.sweep.document import document, rows
from clusterwright.sweep.fronts import _marked, answers, facts, gathered
from clusterwright.sweep.records import Question, Scenario, Sweep, SweptPoint
from clusterwright.sweep.run import BATCH, batches, identity, processes, run
from clusterwright.sweep.space import (
    MOST_GPUS,
    NO_NODE_TYPE,
    NodeRange,
    chosen_ids,
    node_range,
    questions,
    scenarios,
    variations,
    without_node_type,
)

BLUEPRINT = Path(__file__).resolve().parents[2] / "blueprints" / "train-gpt3-175b.yaml"
CATALOGUE = load_catalogue()


def scenario(*set_values: str) -> Scenario:
    """Return the shipped blueprint, some of its values replaced."""
    return scenarios([BLUEPRINT], [], set_values, CATALOGUE)[0]


def asked(*names: str, sizes: NodeRange | None = None, of: Scenario | None = None) -> list[Question]:
    """Return the questions about some node types, all of which can be asked."""
    found, missing = questions(of or scenario(), CATALOGUE, names, sizes or NodeRange(most=64), facts().book)
    assert not missing
    return found


def made(found: list[Question]) -> Sweep:
    """Return the sweep of some questions of one scenario."""
    return gathered([found[0].scenario], run(found, jobs=1), [], catalogue="test")


def test_a_front_is_that_of_the_search() -> None:
    """Nodes, days and layout of each point are those that the search alone gives for that node type."""
    shipped = scenario()
    job = training_job(shipped.blueprint, Resolved(model=shipped.model, targets=()))
    node = node_type_of_instance(CATALOGUE, "p5.48xlarge")
    calibration = load_calibration()
    reliability = reliability_of(shipped.blueprint, calibration, model=shipped.model, node=node, spot=False)
    front = search(job=replace(job, max_nodes=64), node=node, calibration=calibration, reliability=reliability)
    points = made(asked("p5.48xlarge")).points
    assert [(point.nodes, point.calendar_days, point.layout) for point in points] == [
        (point.nodes, point.calendar_days, point.layout) for point in front.points
    ]
    assert all(before.calendar_days > after.calendar_days for before, after in itertools.pairwise(points))


def test_failures_and_spares_are_those_of_the_blueprint() -> None:
    """A plan and a sweep give the same days, and spare nodes are counted, in the range too."""
    changed = scenario("reliability.spare_nodes=3", "reliability.interruptions_per_1000_node_days=50")
    points = made(asked("p5.48xlarge", of=changed)).points
    assert max(point.nodes for point in points) <= 64
    plain = {point.nodes: point for point in EXAMPLE}
    same = [point for point in points if point.nodes - 3 in plain]
    assert same
    assert all(point.goodput < plain[point.nodes - 3].goodput for point in same)
    refused = answers(asked("p5.48xlarge", of=changed, sizes=NodeRange(most=3)))[0]
    assert refused.not_sized is not None
    assert "3 spare nodes of at most 3 leave none" in refused.not_sized.reason


def test_a_plan_of_the_same_target_agrees() -> None:
    """The size that a plan chooses is a point of the sweep, with the same days and the same cost of a run."""
    catalogue, shipped = CATALOGUE, scenario("targets.azure=null", "targets.gcp=null", "targets.onprem=null")
    resolved = resolve(shipped.blueprint, catalogue)
    assert isinstance(resolved, Resolved)
    option = decide(shipped.blueprint, resolved, Facts.open()).options[0]
    swept = [point for point in made(asked("p5.48xlarge", of=shipped)).points if point.nodes == option.cluster.nodes]
    assert [point.calendar_days for point in swept] == [option.performance.calendar_days]
    assert swept[0].run_usd == pytest.approx(option.money.run_usd, abs=0.01)


def test_on_demand_cost_is_the_price_times_the_hours() -> None:
    """The nodes of p5.48xlarge make up most of the run; of the rest, small services have no dated document."""
    for point in made(asked("p5.48xlarge")).points:
        price = facts().book.price("aws/p5.48xlarge", region="us-east-1", as_of=facts().book.newest_day)
        assert price is not None
        nodes_usd = price.point.usd * point.nodes * 24 * point.calendar_days
        assert point.run_usd is not None
        assert nodes_usd < point.run_usd < 1.2 * nodes_usd
        assert point.usd_per_gpu_hour == pytest.approx(point.run_usd / (point.gpus * 24 * point.calendar_days))
        assert point.priced_share is not None
        assert 0.999 < point.priced_share < 1.0


def test_what_is_not_priced_says_so() -> None:
    """Racks without a design and instance types without a documented price have no cost, never zero, and say why."""
    wide = scenario("workload.global_batch=1728")
    for point in made(asked("gb300-nvl72", "p5e.48xlarge", of=wide)).points:
        assert point.run_usd is None
        assert point.capex_usd is None
        assert not point.unbeaten
        assert ("whole rack" in point.cost_note) == (point.node_type == "gb300-nvl72")
        assert point.cost_note


def test_what_is_bought_costs_what_a_plan_says() -> None:
    """Purchase and share of a run are those of a plan of that size, and both rise with the size."""
    points = [point for point in made(asked("dgx-h100")).points if point.run_usd is not None]
    assert len(points) > 3
    size = points[0].nodes
    bound = scenario(
        "targets.aws=null",
        "targets.azure=null",
        "targets.gcp=null",
        f"targets.onprem.min_nodes={size}",
        f"targets.onprem.max_nodes={size}",
    )
    resolved = resolve(bound.blueprint, CATALOGUE)
    assert isinstance(resolved, Resolved)
    option = decide(bound.blueprint, resolved, Facts.open()).options[0]
    assert points[0].capex_usd == pytest.approx(option.money.capex_usd, abs=0.01)
    assert points[0].run_usd == pytest.approx(option.money.run_share_usd, abs=0.01)
    assert all(before.capex_usd < after.capex_usd for before, after in itertools.pairwise(points))


def test_designs_of_a_front_end_at_a_thousand_nodes() -> None:
    """The smallest size that meets the goal is designed, however large; what is beyond says how to ask for it."""
    shipped = scenario()
    points = made(asked("dgx-h100", sizes=NodeRange(most=600), of=shipped)).points
    designed = [point for point in points if point.run_usd is not None]
    assert sum(point.nodes for point in designed) <= DESIGNED_NODES
    first = next(point for point in points if point.meets_goal)
    assert first.run_usd is not None
    assert {point.cost_note for point in points if point.run_usd is None} == {NOT_DESIGNED}
    alone = made(asked("dgx-h100", sizes=NodeRange(least=points[-1].nodes, most=points[-1].nodes), of=shipped)).points
    assert alone[0].run_usd is not None


def test_a_building_that_is_too_small_is_the_reason() -> None:
    """What the hall cannot power has no cost but the rule's words."""
    points = made(asked("dgx-h100", of=scenario("site.power_limit=10 kW"))).points
    assert all("the hall has 10 kW" in point.cost_note and point.run_usd is None for point in points)


def test_points_are_marked_where_none_is_as_fast_for_less() -> None:
    """By the definition: unbeaten is what no other that is paid the same way matches in days and in cost."""
    points = made(asked("p5.48xlarge", "Standard_ND96isr_MI300X_v5", "dgx-h100")).points
    for point in points:
        beaten = point.run_usd is None or any(
            other.run_usd is not None
            and (other.target == "onprem") == (point.target == "onprem")
            and other.calendar_days <= point.calendar_days
            and other.run_usd <= point.run_usd
            and (other.calendar_days, other.run_usd) != (point.calendar_days, point.run_usd)
            for other in points
        )
        assert point.unbeaten == (not beaten)
    assert 0 < sum(point.unbeaten for point in points) < len(points)


@given(st.lists(st.tuples(st.integers(1, 5), st.none() | st.integers(1, 5)), max_size=8))
def test_marks_hold_for_any_costs(values: list[tuple[int, int | None]]) -> None:
    """Whatever the days and costs, a marked point matches or beats every priced one, and no mark beats another."""
    template = EXAMPLE[0]
    points = _marked(
        [
            replace(template, calendar_days=float(days), run_usd=None if usd is None else float(usd))
            for days, usd in values
        ]
    )
    marks = [(point.calendar_days, point.run_usd or 0.0) for point in points if point.unbeaten]
    assert len({days for days, _ in marks}) == len(marks) == len({usd for _, usd in marks})
    for point in points:
        if point.run_usd is not None:
            assert any(days <= point.calendar_days and usd <= point.run_usd for days, usd in marks)
        else:
            assert not point.unbeaten


EXAMPLE: tuple[SweptPoint, ...] = made(asked("p5.48xlarge")).points


def test_sizes_stay_within_the_range() -> None:
    """Every point has as many nodes as asked; what the range leaves out is reported, not dropped."""
    points = made(asked("p5.48xlarge", sizes=NodeRange(least=20, most=48))).points
    assert {point.nodes for point in points} <= set(range(20, 49))
    whole = {point.nodes for point in EXAMPLE if 20 <= point.nodes <= 48}
    assert {point.nodes for point in points} == whole


def test_a_range_that_nothing_divides_into_says_so() -> None:
    """Where no layout has a size of the range, the reason says what was asked."""
    result = answers(asked("p5.48xlarge", sizes=NodeRange(least=63, most=63)))[0]
    assert not result.points
    assert result.not_sized is not None
    assert "with at least 63 nodes as given" in result.not_sized.reason


def test_a_range_bounds_the_search() -> None:
    """A size that a smaller one beats is a point where the range leaves the smaller one out, with its own best days."""
    alone, both = (
        {
            least: answers(asked("p5.48xlarge", sizes=NodeRange(least=least, most=most or least)))[0].points
            for least in of
        }
        for of, most in (((48, 96, 98), None), ((96,), 98))
    )
    whole = {point.nodes: point.calendar_days for point in EXAMPLE}
    assert [point.calendar_days for point in alone[48]] == [whole[48]]
    assert [point.nodes for point in both[96]] == [96]
    assert [point.nodes for point in alone[98]] == [98]
    assert alone[98][0].compared_days > alone[96][0].compared_days


def test_the_default_range_ends_at_16384_accelerators() -> None:
    """Without a range, clusters have up to 16,384 accelerators, or as many as one placement holds."""
    found, _ = questions(scenario(), CATALOGUE, ["p5.48xlarge", "gb300-nvl72", "p5.4xlarge"], NodeRange(), facts().book)
    assert [(question.bounds.most or 0) * question.place.node.gpus for question in found] == [
        MOST_GPUS,
        MOST_GPUS // 72 * 72,
        MOST_GPUS,
    ]
    limited, _ = questions(scenario(), CATALOGUE, ["Standard_ND96isr_H100_v5"], NodeRange(), facts().book)
    assert limited[0].bounds.most == CATALOGUE.instances["Standard_ND96isr_H100_v5"].placement_max_nodes


def test_more_nodes_than_a_placement_holds_is_a_reason() -> None:
    """A range that starts beyond the limit of a node type is reported with that limit."""
    found, missing = questions(
        scenario(), CATALOGUE, ["Standard_ND96isr_H100_v5"], NodeRange(least=1000, most=2000), facts().book
    )
    assert not found
    assert missing[0].reason == "1000 nodes are more than one placement holds"


def test_the_blueprints_limit_of_nodes_holds() -> None:
    """The sizes that a target allows bound the node types that it names, not others."""
    limited = scenario("targets.aws.max_nodes=40", "targets.aws.min_nodes=8", "targets.aws.nodes_must_be=power of two")
    found = asked("p5.48xlarge", "p5en.48xlarge", of=limited)
    assert [(question.bounds.least, question.bounds.most) for question in found] == [(8, 40), (1, 64)]
    assert {point.nodes for point in made(found[:1]).points} <= {8, 16, 32}
    assert {point.nodes for point in made(found[1:]).points} - {8, 16, 32}


def test_contradictions_of_a_variation_are_shown_at_their_place() -> None:
    """A varied value that another constraint excludes ends the sweep before the work, with its path."""
    with pytest.raises(BlueprintError) as caught:
        scenarios([BLUEPRINT], ["workload.parallelism.data=4,5"], [], CATALOGUE)
    assert "does not divide into 5 data-parallel replicas" in caught.value.render()


def test_every_node_type_and_accelerator_is_sized_or_reported() -> None:
    """Of the whole catalogue, each node type gives points or a reason, and so does each accelerator without one."""
    ids, lonely = chosen_ids(CATALOGUE)
    shipped = scenario()
    found, missing = questions(shipped, CATALOGUE, ids, NodeRange(), facts().book)
    result = gathered([shipped], run(found, jobs=1), [*missing, *without_node_type(shipped, lonely)], catalogue="test")
    sized = {point.node_type for point in result.points}
    told = {entry.node_type for entry in result.not_sized if entry.node_type}
    assert sized | told == set(CATALOGUE.instances) | set(CATALOGUE.systems)
    assert not sized & told
    seen = {point.accelerator for point in result.points} | {entry.accelerator for entry in result.not_sized}
    assert seen == set(CATALOGUE.accelerators)
    assert all(entry.reason for entry in result.not_sized)
    assert {entry.accelerator for entry in result.not_sized if entry.reason == NO_NODE_TYPE} == set(lonely)


def test_regions_are_those_with_a_price() -> None:
    """The blueprint's region where it has a price, else the cloud's reference region, else one that has a price."""
    names = ["p6-b300.48xlarge", "p5.48xlarge", "p5e.48xlarge"]
    names += ["Standard_ND96isr_H100_v5", "Standard_ND96isr_MI300X_v5"]
    found = asked(*names, of=scenario("targets.aws.region=us-west-2", "targets.azure=null"))
    regions = {question.place.node.id: question.place.region for question in found}
    assert regions["p6-b300.48xlarge"] == "us-west-2"  # the blueprint's
    assert regions["p5.48xlarge"] == "us-east-1"  # of reference, since us-west-2 has no price for it
    assert regions["Standard_ND96isr_H100_v5"] == "eastus"  # of reference, the blueprint names none
    assert regions["Standard_ND96isr_MI300X_v5"] in ("eastus2", "westus3")  # the only ones with a price
    assert regions["p5e.48xlarge"] == "us-west-2"  # has no price on demand, so where the blueprint is


def test_answers_do_not_depend_on_who_computes_them() -> None:
    """One process, two processes and another order of batches give the same points to the last digit."""
    names = ["p5.48xlarge", "p4d.24xlarge", "dgx-h100", "a3-megagpu-8g"] * 6
    found = asked(*names)
    assert len(batches(found)) > 1
    alone = run(found, jobs=1)
    assert run(found, jobs=2) == alone
    assert [answers([question])[0] for question in found[:4]] == alone[:4]


@pytest.fixture(scope="module")
def dask_address() -> Iterator[str]:
    """A Dask cluster of two processes on loopback."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("the extra dask is not installed: no module distributed")
    from distributed import LocalCluster  # noqa: PLC0415 - an extra

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", worker_dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_gives_the_same_answers(dask_address: str) -> None:
    """The same function on another cluster's workers returns equal answers, in the same order."""
    found = asked(*["p5.48xlarge", "dgx-h100", "a3-megagpu-8g"] * 8)
    assert run(found, dask=dask_address) == run(found, jobs=1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_dask_workers_of_another_version_are_refused(dask_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers with other facts would give other answers, so nothing is sent to them."""
    monkeypatch.setattr(sweep_run, "identity", lambda: (str(os.getpid()), "another in each process"))
    with pytest.raises(InputError, match="does not have this program"):
        run(asked("p5.48xlarge"), dask=dask_address)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_no_scheduler_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address where nobody listens is reported after a short wait."""
    pytest.importorskip("distributed", reason="the extra dask is not installed: no module distributed")
    monkeypatch.setattr(sweep_run, "_CONNECT_TIMEOUT_S", 1)
    for address in ("tcp://127.0.0.1:9", "nonsense://x", "tcp://"):
        with pytest.raises(InputError, match="no Dask scheduler answers"):
            run(asked("p5.48xlarge"), dask=address)


def test_a_missing_extra_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, the message says how to install it."""

    def nothing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(sweep_run, "import_module", nothing)
    with pytest.raises(InputError, match="needs the package distributed") as caught:
        run(asked("p5.48xlarge"), dask="tcp://127.0.0.1:9")
    assert caught.value.help is not None
    assert "clusterwright[dask]" in caught.value.help


def test_workers_are_checked_one_by_one() -> None:
    """No worker, a worker without the program, and one with other facts are each named."""
    with pytest.raises(InputError, match="has no workers"):
        sweep_run._check_workers({}, "tcp://x")
    for other in (ImportError("No module named 'clusterwright'"), ("0.0.0", "other")):
        with pytest.raises(InputError, match="worker w2 does not have this program"):
            sweep_run._check_workers({"w1": identity(), "w2": other}, "tcp://x")
    sweep_run._check_workers({"w1": identity()}, "tcp://x")


def test_batches_hold_one_scenario_and_keep_the_order() -> None:
    """Pieces have at most so many questions, all of one scenario, and put together they are the questions."""
    both = scenarios([BLUEPRINT], ["workload.global_batch=1536,3072"], [], CATALOGUE)
    found = [question for entry in both for question in asked(*["p5.48xlarge"] * (BATCH + 5), of=entry)]
    parts = batches(found)
    assert [len(part) for part in parts] == [BATCH, 5, BATCH, 5]
    assert [question for part in parts for question in part] == found
    assert all(len({question.scenario.varied for question in part}) == 1 for part in parts)


def test_few_batches_stay_in_one_process() -> None:
    """Starting processes takes a second, which a few batches are not worth."""
    assert processes(0) == processes(2) == 1
    assert processes(10_000) >= 1


def test_questions_travel() -> None:
    """A question and its answer survive being sent to another process."""
    question = asked("p5.48xlarge")[0]
    sent = pickle.loads(pickle.dumps(question))  # noqa: S301 - our own bytes
    assert answers([sent]) == answers([question])


@pytest.mark.parametrize("text", ["8..512", "1..1", " 3..4 "])
def test_ranges_are_read(text: str) -> None:
    """A..B is from A to B, both included."""
    least, most = (int(part) for part in text.split(".."))
    assert node_range(text) == NodeRange(least=least, most=most)


@pytest.mark.parametrize("text", ["", "8", "8..", "..8", "9..8", "0..8", "-1..8", "1..100001", "a..b", "1.5..2"])
def test_wrong_ranges_are_refused(text: str) -> None:
    """Empty, reversed and unreadable ranges name the option and what was given."""
    with pytest.raises(InputError, match="--nodes"):
        node_range(text)


def test_variations_are_every_combination() -> None:
    """Two values by three are six scenarios, the first path slowest; none is one scenario."""
    found = variations(["a=1,2", "b=x,y,z"])
    assert [tuple(value for _, value in entry) for entry in found] == [
        ("1", "x"),
        ("1", "y"),
        ("1", "z"),
        ("2", "x"),
        ("2", "y"),
        ("2", "z"),
    ]
    assert variations([]) == [()]


@pytest.mark.parametrize("option", ["", "a", "a=", "=1", "a=1,,2", "a=1,1"])
def test_wrong_variations_are_refused(option: str) -> None:
    """An option without path, without values or with a value twice is named."""
    with pytest.raises(InputError, match="--vary"):
        variations([option])


def test_varied_values_reach_the_blueprint() -> None:
    """Each scenario carries its value, in the order given."""
    found = scenarios([BLUEPRINT], ["workload.tokens=1e9,2e9"], [], CATALOGUE)
    assert [entry.blueprint.workload.tokens for entry in found] == [1e9, 2e9]  # type: ignore[union-attr]
    assert [entry.label for entry in found] == [
        "train-gpt3-175b, workload.tokens=1e9",
        "train-gpt3-175b, workload.tokens=2e9",
    ]


def test_unknown_paths_are_refused_with_a_suggestion() -> None:
    """A path that the blueprint has not is reported before anything is computed."""
    with pytest.raises(BlueprintError) as caught:
        scenarios([BLUEPRINT], ["workload.precison=bf16,fp8"], [], CATALOGUE)
    assert "there is no key 'precison' here" in caught.value.render()
    assert "did you mean 'precision'?" in caught.value.render()


def test_too_many_scenarios_are_refused() -> None:
    """A product that would run for days is refused before it starts."""
    many = ",".join(str(number) for number in range(1, 10_002))
    with pytest.raises(InputError, match="10,001 scenarios"):
        scenarios([BLUEPRINT], [f"workload.global_batch={many}"], [], CATALOGUE)


def test_blueprints_are_told_apart_by_name() -> None:
    """Two blueprints of one name would give rows that nobody can tell apart."""
    with pytest.raises(InputError, match="the same name"):
        scenarios([BLUEPRINT, BLUEPRINT], [], [], CATALOGUE)
    with pytest.raises(InputError, match="the same name"):
        scenarios([BLUEPRINT, BLUEPRINT], ["workload.tokens=1e9,2e9"], [], CATALOGUE)


def test_node_types_are_chosen_by_name() -> None:
    """Accelerators and node types are found by the names people write, in the catalogue's order."""
    ids, lonely = chosen_ids(CATALOGUE, accelerators=["H100", "max-1550-128gb"])
    assert {"p5.48xlarge", "dgx-h100"} <= set(ids)
    assert lonely == ["max-1550-128gb"]
    assert chosen_ids(CATALOGUE, instances=["DGX H100", "P5.48XLARGE"]) == (["p5.48xlarge", "dgx-h100"], [])


def test_wrong_choices_are_refused() -> None:
    """Unknown names, and both kinds of names at once."""
    with pytest.raises(InputError, match="no accelerator is called 'h1000'"):
        chosen_ids(CATALOGUE, accelerators=["h1000"])
    with pytest.raises(InputError, match="no instance type or system is called 'p55'"):
        chosen_ids(CATALOGUE, instances=["p55"])
    with pytest.raises(InputError, match="both given"):
        chosen_ids(CATALOGUE, accelerators=["H100"], instances=["p5.48xlarge"])


def test_a_precision_that_an_accelerator_lacks_is_a_reason_not_an_end() -> None:
    """fp8 sizes H100 and leaves A100 with its reason."""
    found = asked("p4d.24xlarge", "p5.48xlarge", of=scenario("workload.precision=fp8"))
    without, sized = answers(found)
    assert without.not_sized is not None
    assert "no fp8" in without.not_sized.reason
    assert sized.points


def test_a_system_that_cannot_be_sized_is_a_reason() -> None:
    """What is bought has a reason too where no layout divides: 1,024 sequences over racks of 72 accelerators."""
    result = answers(asked("gb300-nvl72", of=scenario("workload.global_batch=1024", "workload.model=mixtral-8x7b")))[0]
    assert not result.points
    assert result.not_sized is not None
    assert "no layout" in result.not_sized.reason


def test_a_job_that_does_not_fit_is_a_reason() -> None:
    """GPT-3 on one p4d.24xlarge does not fit, and the reason says by how much."""
    result = answers(asked("p4d.24xlarge", sizes=NodeRange(most=1)))[0]
    assert result.not_sized is not None
    assert "does not fit" in result.not_sized.reason or "no layout" in result.not_sized.reason


def test_fronts_of_runs_are_asked_of_runs_alone(tmp_path: Path) -> None:
    """A service has other points: whoever asks for fronts of runs is told, before anything is computed."""
    path = tmp_path / "serve.yaml"
    path.write_text(
        "name: serving\nworkload: {kind: serve, model: llama-3-8b}\n"
        "traffic: {requests_per_s: 1, input_tokens: {mean: 9, p95: 9}, output_tokens: {mean: 9, p95: 9}}\n"
        "targets: {onprem: {system: dgx-h100}}\n"
    )
    space = space_of(Request(sources=(path,), instances=("dgx-h100",)))
    with pytest.raises(InputError, match="services are swept by the command alone"):
        answered(space)


def test_the_document_is_plain_json() -> None:
    """The document survives JSON without NaN, has every point, and says what each scenario was."""
    sweep = made(asked("p5.48xlarge", "dgx-h100"))
    again = json.loads(json.dumps(document(sweep), allow_nan=False))
    assert again["schema"] == 1
    assert len(again["points"]) == len(sweep.points)
    assert again["scenarios"][0]["parameters"] == 174_604_259_328
    assert again["points"][0]["layout"]["tp"] == sweep.points[0].layout.tp


def test_rows_have_the_same_columns_with_and_without_points() -> None:
    """A node type that was not sized is a row too, with its reason and nothing else but its names."""
    sized, none = made(asked("p5.48xlarge")), made(asked("p4d.24xlarge", sizes=NodeRange(most=1)))
    first, last = rows(sized)[0], rows(none)[0]
    assert set(first) == set(last)
    assert first["not_sized_reason"] is None
    assert last["not_sized_reason"]
    assert last["nodes"] is None


def test_loading_gives_the_blueprint_of_the_scenario() -> None:
    """A scenario without variation is the blueprint as `plan` reads it."""
    assert scenario().blueprint == load(BLUEPRINT).blueprint
