"""Every explained number is calculated again from the equation that is shown, and every price names source and day."""

import dataclasses
import math
import re
from pathlib import Path

import pytest

from clusterwright.errors import InputError
from clusterwright.explain.explanation import find, names_of
from clusterwright.explain.offload import offload_numbers
from clusterwright.explain.records import Explanation
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.pricing.quoted import QuotedPrice
from tests.opened import explanations

from .examples import shipped

TARGETS = ("aws", "azure", "gcp", "onprem")
_UNITS = r"\s*(GB|USD( hourly| monthly| once)?|FLOP|GPUs|days|months|ms|s)\b"
_NUMBER = r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"


def calculated(line: str) -> tuple[float, float]:
    """Return both sides of an equation line: what it comes to when it is calculated, and what it says."""
    left, _, right = re.sub(r"(?<=\d),(?=\d{3})", "", re.sub(_UNITS, "", line)).rpartition(" = ")
    expression = left.replace("×", "*")
    expression = re.sub(r"√\(", "math.sqrt(", expression)
    expression = re.sub(r"\bexp\(", "math.exp(", expression)
    expression = expression.replace("^", "**")
    numbers = re.sub(r"math\.(sqrt|exp)|max(?=\([\d.]+, )|(?<=\d), ", "", expression)
    assert re.fullmatch(r"[0-9eE+\-*/(). ]*", numbers), expression
    return float(eval(expression, {"math": math})), float(right)  # noqa: S307 - digits and operators only, see above


def numbers_in(text: str) -> set[float]:
    """Return the numbers that stand in a text."""
    return {float(found.replace(",", "")) for found in re.findall(_NUMBER, text)}


def _option(target: str) -> TrainingOption:
    option = shipped().option(target)
    assert option is not None
    return option


@pytest.mark.parametrize("target", TARGETS)
def test_every_equation_comes_to_what_it_says(target: str) -> None:
    """The last line of every equation, calculated again, gives the number behind the equals sign."""
    for entry in explanations(shipped(), target):
        found, said = calculated(entry.equation[-1])
        assert found == pytest.approx(said, rel=2e-4, abs=0.06), entry.number


#: Plans whose explanations take the branches that the shipped one does not.
OTHERS = (
    ("workload.model=mixtral-8x7b", "workload.parallelism={expert: 8}"),
    ("workload.parallelism={recompute: full}",),
    ("targets.onprem.power_cap=500 W",),
)


@pytest.mark.parametrize(("sets", "target"), [*(((), target) for target in TARGETS), *((s, "onprem") for s in OTHERS)])
def test_every_equation_is_made_of_its_printed_inputs(sets: tuple[str, ...], target: str) -> None:
    """Each number of an equation stands among the printed inputs or in the rule: nothing explains itself."""
    for entry in explanations(shipped(*sets), target):
        shown = [
            *entry.equation[:-1],
            *(text for item in entry.inputs for text in (item.name, item.value, item.source)),
        ]
        left, _, right = entry.equation[-1].rpartition(" = ")
        assert numbers_in(left) <= numbers_in(" ".join(shown)), entry.number
        found, said = calculated(entry.equation[-1])
        assert found == pytest.approx(said, rel=2e-4, abs=0.06), entry.number
        unit = right.lstrip("-0123456789.,e+")
        (value, *_) = re.findall(_NUMBER, entry.value) or [""]
        if unit and entry.value == f"{value}{unit}":
            digits = len(value.partition(".")[2])
            rounding = 1e-3 * said if "e" in value else 0.51 * 10**-digits
            assert float(value.replace(",", "")) == pytest.approx(said, abs=rounding), entry.number


def test_the_peak_is_a_fact_and_not_derived_from_the_mfu() -> None:
    """The MFU divides by the documented dense peak of the precision, whatever the MFU is."""
    plan = shipped()
    option = _option("aws")
    option = dataclasses.replace(option, performance=dataclasses.replace(option.performance, mfu=0.123))
    wrong = dataclasses.replace(plan, options=(option, *plan.options[1:]))
    entry = find(explanations(wrong, "aws"), "mfu")
    assert "989" in next(item.value for item in entry.inputs if "peak" in item.name).replace(".", "")
    found, said = calculated(entry.equation[-1])
    assert found == pytest.approx(said, rel=1e-3)
    assert said == pytest.approx(_option("aws").performance.mfu, abs=5e-5), (
        "the formula is calculated, not the plan's number shown"
    )
    assert [item.value for item in entry.inputs if item.name == "differs from the plan"] == ["0.1230"]


def test_another_fact_is_seen_in_the_explanation() -> None:
    """With half the documented peak the explanations of MFU, layer and days hold that peak and what follows from it."""
    plan = shipped()
    aws = _option("aws")
    assert aws.performance.compute is not None
    halved = dataclasses.replace(
        aws,
        performance=dataclasses.replace(
            aws.performance,
            compute=dataclasses.replace(
                aws.performance.compute, peak_flop_per_s=aws.performance.compute.peak_flop_per_s / 2
            ),
        ),
    )
    other = dataclasses.replace(plan, options=(halved, *plan.options[1:]))
    before, after = (find(explanations(entry, "aws"), "mfu") for entry in (plan, other))
    assert calculated(after.equation[-1])[1] == pytest.approx(2 * calculated(before.equation[-1])[1], abs=2e-4)
    assert any(item.name == "differs from the plan" for item in after.inputs)
    for number in ("compute_s", "layer_s", "calendar_days", "mfu", "flop_per_token"):
        assert not any(item.name == "differs from the plan" for item in find(explanations(plan, "aws"), number).inputs)


def test_another_price_is_seen_in_the_explanation() -> None:
    """Money counted with twice the price of the dearest part is explained with it, and differs from the plan's."""
    plan, option = shipped(), _option("onprem")
    dearest = max(option.money.lines, key=lambda line: line.line.quantity * (line.unit_usd or 0.0))
    assert dearest.unit_usd is not None
    quote = QuotedPrice(
        sku=dearest.line.sku,
        unit=dearest.line.unit,
        usd=2 * dearest.unit_usd,
        price=2 * dearest.unit_usd,
        currency="USD",
        usd_per_currency=1.0,
        rate_on="",
        vendor="a vendor",
        quoted_on=plan.as_of,
        lead_time_weeks=None,
        file="quotes.csv",
        line=2,
    )
    dearer = dataclasses.replace(plan, economics=dataclasses.replace(plan.economics, quotes=(quote,)))
    before, after = (find(explanations(entry, "onprem"), "run_share_usd") for entry in (plan, dearer))
    assert not any(item.name == "differs from the plan" for item in before.inputs)
    assert any(item.name == "differs from the plan" for item in after.inputs)
    assert calculated(after.equation[-1])[1] > 1.3 * calculated(before.equation[-1])[1]


def test_a_gpu_hour_and_its_share_are_calculated_from_the_cost_of_the_run() -> None:
    """Twice the cost of a run is twice the cost of a GPU-hour in the explanation, whatever the plan holds."""
    plan = shipped()
    aws = _option("aws")
    assert aws.money.run_usd is not None
    doubled = dataclasses.replace(
        plan,
        options=(
            dataclasses.replace(aws, money=dataclasses.replace(aws.money, run_usd=2 * aws.money.run_usd)),
            *plan.options[1:],
        ),
    )
    before, after = (find(explanations(entry, "aws"), "usd_per_gpu_hour") for entry in (plan, doubled))
    assert calculated(after.equation[-1])[1] == pytest.approx(2 * calculated(before.equation[-1])[1], abs=2e-4)
    assert any(item.name == "differs from the plan" for item in after.inputs)
    assert any(item.name == "differs from the plan" for item in find(explanations(doubled, "aws"), "run_usd").inputs)


def test_breakeven_of_every_pair_is_explained() -> None:
    """An owned target has one against each rented target; a rented one has its own; with the months of the plan."""
    plan = shipped()
    months = {entry.rented_key: entry.months for entry in plan.breakevens}
    owned = [entry for entry in explanations(plan, "onprem") if entry.number.startswith("breakeven")]
    assert len(owned) == len(months) == 3
    for target, wanted in months.items():
        entry = find(explanations(plan, target), "breakeven")
        assert calculated(entry.equation[-1])[0] == pytest.approx(wanted, abs=1e-3)
        assert target in entry.title
    short = shipped("economics.horizon=6 months")
    entry = find(explanations(short, "onprem"), "breakeven")
    assert entry.value == "not within the horizon"
    found, said = calculated(entry.equation[-1])
    # Both terms and their difference are shown to the cent: each is rounded by up to half a cent.
    assert found == pytest.approx(said, abs=0.016)
    assert said > 0


def test_a_number_that_a_target_lacks_says_when_there_is_one() -> None:
    """Without anything owned there is no breakeven, and without offload no time of it: the help says what gives one."""
    rented = [
        entry
        for entry in explanations(shipped(), "aws")
        if entry.number not in ("host_memory", "offload_time") and not entry.number.startswith("breakeven")
    ]
    for name, wanted in (("breakeven_months", "targets.onprem"), ("offload_s", "workload.offload")):
        with pytest.raises(InputError) as raised:
            find(tuple(rented), name, "train")
        assert wanted in (raised.value.help or "")
    with pytest.raises(InputError) as raised:
        find(tuple(rented), "breakevn")
    assert "breakeven" not in (raised.value.help or "").partition("?")[0]


@pytest.mark.parametrize(("sets", "target"), [*(((), target) for target in TARGETS), *((s, "onprem") for s in OTHERS)])
def test_sources_in_the_code_are_where_they_say(sets: tuple[str, ...], target: str) -> None:
    """A module, table or page that an explanation names exists, and so does the function after its colon."""
    root = Path(__file__).parents[2]
    for entry in explanations(shipped(*sets), target):
        for text in (*entry.sources, *(item.source for item in entry.inputs)):
            for path, name in re.findall(
                r"((?:clusterwright|catalog|tco|pricing|docs)/[\w/-]+\.\w+)(?:: ([a-z_]\w+))?", text
            ):
                assert (root / path).exists(), (entry.number, path)
                assert f"def {name}" in (root / path).read_text() or not (name and path.endswith(".py")), (path, name)


@pytest.mark.parametrize("target", TARGETS)
def test_equations_end_in_the_plans_numbers(target: str) -> None:
    """What the equations come to is what the plan holds."""
    option = _option(target)
    assert option.performance.compute is not None
    assert option.performance.compute.total_s == pytest.approx(option.performance.step.compute_s, rel=1e-12)
    known = {entry.number: entry for entry in explanations(shipped(), target)}
    expected = {
        "parameters": float(shipped().workload.parameters),
        "flop_per_token": shipped().workload.flop_per_token,
        "step_time": option.performance.step.total_s,
        "compute_s": option.performance.step.compute_s,
        "layer_s": option.performance.compute.layer_s * 1e3,
        "mfu": option.performance.mfu,
        "calendar_days": option.performance.calendar_days,
        "memory": option.performance.memory_bytes_per_gpu.total / 1e9,
        "memory_by_stage": option.performance.memory_bytes_per_gpu.total / 1e9,
        "memory_allocated": option.performance.memory_allocated_bytes_per_gpu / 1e9,
        "memory_reserved": option.performance.memory_reserved_bytes_per_gpu / 1e9,
        "memory_margin": option.cluster.hbm_bytes_per_gpu / option.performance.memory_margin / 1e9,
        "optimizer_state": 12.0,
        "traffic": sum(entry.seconds * entry.times for entry in option.performance.traffic),
        "goodput": option.performance.goodput,
        "checkpoint": option.performance.failures.checkpoint_interval_s,
        "checkpoints_kept": option.design.storage.checkpoint_bytes_kept / 1e9,
        "data_loading": option.performance.data.stall_s,
        "data_read": option.performance.data.read_bytes_per_s / 1e9,
        "read_bandwidth": option.design.storage.read_bytes_per_s / 1e9,
        "startup": option.performance.data.startup_s,
        "nodes": float(option.cluster.gpus),
        "runs_in_horizon": option.money.runs_in_horizon,
        "run_usd" if target != "onprem" else "run_share_usd": option.money.run_cost_usd,
        "horizon_usd": option.money.horizon_usd,
        "capex_usd": option.money.capex_usd,
        "npv_usd": option.money.npv_usd,
        "usd_per_gpu_hour": option.money.usd_per_gpu_hour,
        "priced_share": option.money.priced_share,
    }
    if option.design.facility is not None:
        expected["storage_boxes"] = float(option.design.facility.inventory.storage.boxes)
    for number, value in expected.items():
        assert calculated(known[number].equation[-1])[0] == pytest.approx(value, rel=2e-4, abs=0.06), number
    others = {number for number in known if number.startswith("breakeven")}
    assert known.keys() - expected.keys() - others == {line.line.sku for line in option.money.lines}


@pytest.mark.parametrize("target", TARGETS)
def test_every_stage_is_explained(target: str) -> None:
    """One line per stage with its layers; the fullest is the memory that is reported, term by term."""
    option = _option(target)
    entry = find(explanations(shipped(), target), "memory_by_stage")
    stages = [item for item in entry.inputs if item.name.startswith("stage ")]
    assert len(stages) == option.performance.layout.pp == len(option.performance.memory_by_stage)
    fullest = max(option.performance.memory_by_stage, key=lambda stage: stage.memory.total)
    assert fullest.memory == option.performance.memory_bytes_per_gpu
    assert sum(stage.layers for stage in option.performance.memory_by_stage) == 96
    # 1F1B holds p micro-batches on the first stage, interleaved p (1 + (p - 1)/(p v)): Korthikanti et al. 2022, 4.2.3.
    stage_count, chunks = option.performance.layout.pp, option.performance.layout.vpp
    beyond = (stage_count - 1) / (stage_count * chunks) if option.performance.layout.schedule == "interleaved" else 0.0
    in_flight = stage_count * (1 + beyond)
    assert f"{96 // stage_count} layers; {in_flight:.4g} micro-batches in flight" in entry.inputs[0].source


@pytest.mark.parametrize("target", TARGETS)
def test_every_price_names_source_and_day(target: str) -> None:
    """A price's explanation covers all lines that it is charged on, and says where it is from and since when."""
    option = _option(target)
    known = {entry.number: entry for entry in explanations(shipped(), target)}
    for line in option.money.lines:
        entry = known[line.line.sku]
        same = [other for other in option.money.lines if other.line.sku == line.line.sku]
        quantity = sum(other.line.quantity for other in same)
        assert line.unit_usd is not None
        assert calculated(entry.equation[-1])[1] == pytest.approx(quantity * line.unit_usd, abs=0.01)
        shown = [item for item in entry.inputs if item.name == "price"]
        assert line.basis in shown[0].value
        assert line.price_date in shown[0].value
        assert line.source
        assert line.source == shown[0].source


def test_an_unknown_price_is_stated() -> None:
    """Where a price is missing, totals are explained as unknown and the line says so."""
    plan = shipped("economics.as_of=2015-01-01")
    known = {entry.number: entry for entry in explanations(plan, "aws")}
    assert known["run_usd"].value == "unknown"
    assert "missing" in known["run_usd"].equation[-1]
    assert known["aws/p5.48xlarge"].value == "unknown"
    assert known["aws/p5.48xlarge"].equation[-1] == "unknown: no price"


def test_rented_run_is_its_lines_for_its_hours() -> None:
    """The cost of a rented run is what its lines cost per hour and month, for the calendar hours."""
    option = _option("aws")
    hours = option.performance.calendar_days * 24
    amounts = [
        (line.usd_per_period or 0) * hours / (1 if line.line.charge == "hourly" else 730) for line in option.money.lines
    ]
    assert option.money.run_usd == pytest.approx(sum(amounts), rel=1e-9)


def test_keys_of_the_plan_find_their_explanation() -> None:
    """Numbers are found by the names that `plan.json` has for them."""
    for target, of_a_run in (("aws", "run_usd"), ("onprem", "run_share_usd")):
        known = explanations(shipped(), target)
        for key, number in names_of("train").also.items():
            if number in {"host_memory", "offload_time"}:
                continue
            assert find(known, key, "train").number == (of_a_run if number in {"run_usd", "run_share_usd"} else number)
        assert find(known, "mfu").title


@pytest.mark.parametrize(("asked", "meant"), [("mfuu", "mfu"), ("calender_days", "calendar_days")])
def test_misspelt_number_gets_a_suggestion(asked: str, meant: str) -> None:
    """An unknown number is refused with the closest names."""
    with pytest.raises(InputError) as caught:
        find(explanations(shipped(), "aws"), asked)
    assert caught.value.help is not None
    assert meant in caught.value.help


def test_target_that_the_plan_lacks() -> None:
    """Only targets of the plan are explained."""
    with pytest.raises(InputError, match="no target 'moon'"):
        explanations(shipped(), "moon")


def test_explanations_have_everything() -> None:
    """No entry is without title, value, rule and source."""
    plan: TrainingPlan = shipped()
    entries: list[Explanation] = [entry for target in TARGETS for entry in explanations(plan, target)]
    assert all(entry.title and entry.value and len(entry.equation) == 2 and entry.sources for entry in entries)


@pytest.mark.parametrize("moved", ["optimizer", "activations", "[optimizer, parameters, activations]"])
def test_what_is_offloaded_is_explained(moved: str) -> None:
    """Host memory and the time that offloading adds come to the plan's numbers."""
    plan = shipped(f"workload.memory.offload={moved}", "workload.model=llama-2-7b", "goals={}")
    for option in plan.options:
        need = option.performance.offload
        assert need is not None
        assert set(need.what) == set(moved.strip("[]").split(", "))
        known = {entry.number: entry for entry in explanations(plan, option.target)}
        found, said = calculated(known["host_memory"].equation[-1])
        assert found == pytest.approx(said, rel=2e-4)
        assert found == pytest.approx(need.host_bytes_per_node / 1e9, rel=2e-4)
        found, said = calculated(known["offload_time"].equation[-1])
        assert found == pytest.approx(option.performance.step.offload_s, abs=1e-4)
        # Derived from what is known of the step, not from the result that is explained.
        other = dataclasses.replace(
            option,
            performance=dataclasses.replace(
                option.performance, step=dataclasses.replace(option.performance.step, offload_s=9.0)
            ),
        )
        _, time = offload_numbers(plan, other)
        assert time.equation == known["offload_time"].equation
        assert time.inputs == known["offload_time"].inputs
        found, _ = calculated(known["step_time"].equation[-1])
        assert found == pytest.approx(option.performance.step.total_s, rel=2e-4)
        assert find(tuple(known.values()), "offload", "train").number == "host_memory"
    assumed = {entry.key for entry in plan.parameters}
    assert ("host_update_gb_per_s_per_node" in assumed) is ("optimizer" in moved)


def test_muon_is_explained() -> None:
    """The bytes of an optimizer with two kinds of moments come to what memory was computed with."""
    plan = shipped("workload.optimizer=muon", "workload.model=llama-2-7b", "goals={}")
    entry = find(explanations(plan, "aws"), "optimizer_state")
    found, _ = calculated(entry.equation[-1])
    assert 8 < found < 8.4
    assert any(item.name == "Newton-Schulz iterations" and item.value == "5" for item in entry.inputs)
