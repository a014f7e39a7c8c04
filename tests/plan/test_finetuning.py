"""A blueprint of kind `finetune` goes from method, data and goals to layouts, memory, time and dollars."""

import copy
import re
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from clusterwright.blueprint.load import load, load_values
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.workloads.finetuning import MATRICES, QLORA_PRECISIONS
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.render.answer import comparison_text, plan_text
from clusterwright.errors import InputError, RuleError
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.decide import decide
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.facts import Facts
from clusterwright.plan.finetuning.engine import finetuning_engine
from clusterwright.plan.finetuning.record import (
    FinetuningOption,
    FinetuningPlan,
    FinetuningPoint,
    finetuning_option,
    finetuning_plan,
)
from clusterwright.plan.text.money import USD
from clusterwright.sizing.finetuning.configuration import EVERY_MATRIX, QLORA_FORMATS
from clusterwright.sizing.finetuning.job import FinetuneSize
from clusterwright.sizing.finetuning.memory import WEIGHT_BYTES
from clusterwright.units import percent

from .examples import SHIPPED, shipped

_VALUES: dict[str, Any] = {
    "name": "tune",
    "workload": {
        "kind": "finetune",
        "model": "llama-3.1-8b",
        "method": "lora",
        "rank": 16,
        "targets": "all",
        "sequence_length": 2048,
        "global_batch": 32,
        "data": {"samples": 20_000, "mean_tokens": 512, "epochs": 2},
    },
    "targets": {"aws": {"instance": "p5.48xlarge", "region": "us-east-1", "max_nodes": 4}},
}
_SHIPPED = SHIPPED.parent
_ROLLOUTS = "workload.rollouts={answers: 8, prompt_tokens: 200, answer_tokens: {mean: 400, p95: 1000}}"
_GRPO = (
    "workload.objective=grpo",
    _ROLLOUTS,
    "workload.data.mean_tokens=null",
    "workload.framework=trl",
    "workload.parallelism.gpus=8",
)


def _resolved(*overrides: str, values: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - resolved or problems
    blueprint = load_values(values or _VALUES, overrides, name="tune.yaml").blueprint
    return blueprint, resolve(blueprint, load_catalogue())


@cache
def _plan(*overrides: str) -> FinetuningPlan:
    blueprint, resolved = _resolved(*overrides)
    assert isinstance(resolved, Resolved), resolved
    return finetuning_plan(decide(blueprint, resolved, _facts()))


@cache
def _facts() -> Facts:
    return Facts.open()


def _aws(*overrides: str) -> FinetuningOption:
    option = _plan(*overrides).option("aws")
    assert option is not None
    return option


@cache
def _front(*overrides: str) -> tuple[FinetuningPoint, ...]:
    """Return the sizes on AWS without their dollars."""
    blueprint, resolved = _resolved(*overrides)
    assert isinstance(resolved, Resolved), resolved
    (target,) = resolved.targets
    most = blueprint.targets.aws.max_nodes
    return finetuning_engine(blueprint, resolved, _facts()).front(blueprint, target, NodeBounds(most=most))


def _size(*overrides: str) -> FinetuneSize:
    """Return the size with the fewest nodes."""
    return _front(*overrides)[0].size


def _warned(*overrides: str) -> set[str]:
    blueprint, resolved = _resolved(*overrides)
    return {warning.id for warning in finetuning_engine(blueprint, resolved, _facts()).warnings(blueprint, ())}


def _ids(*overrides: str, values: dict[str, Any] | None = None) -> list[str | None]:
    _, problems = _resolved(*overrides, values=values)
    if isinstance(problems, Resolved):
        return []
    return [problem.id for problem in problems]


def test_low_rank_matrices_have_the_published_number_of_weights() -> None:
    """PEFT prints 41,943,040 trained weights for rank 16 on all linear layers of 8B, 207,093,760 of 70B."""
    assert _size().trained_parameters == 41_943_040
    assert _size("workload.model=llama-3.1-70b").trained_parameters == 207_093_760


def test_a_run_takes_its_start_and_its_updates_over_goodput() -> None:
    """Calendar time is start + updates x time of one / goodput; an update has the batch's sequences."""
    option, work = _aws("economics.runs_per_month=4"), _plan("economics.runs_per_month=4").workload
    assert work.tokens == 20_000 * 512 * 2
    assert option.performance.steps == 313  # 10,000 packed sequences of 2,048 in batches of 32, rounded up
    seconds = (
        option.performance.start_s + option.performance.steps * option.performance.step_s / option.performance.goodput
    )
    assert option.performance.calendar_days == pytest.approx(seconds / 86400)
    assert option.performance.step_s == pytest.approx(32 * 2048 / option.performance.tokens_per_s.value)
    assert (
        option.performance.calendar_days_low < option.performance.calendar_days < option.performance.calendar_days_high
    )
    layout = option.performance.layout
    assert layout.micro_batch * layout.data * layout.accumulation == 32


def test_memory_fits_with_the_probability_that_is_asked_for() -> None:
    """The terms sum to the prediction; a layout that fits with less than the confidence is never taken."""
    option = _size()
    terms = [getattr(option.memory, name) for name in type(option.memory).__slots__]
    assert sum(terms) == pytest.approx(option.memory_bytes.value)
    for confidence in (0.5, 0.95, 0.999):
        point = _front(
            f"goals.memory_confidence={confidence}", "targets.aws.instance=g6e.xlarge", "targets.aws.max_nodes=1"
        )[0]
        assert point.size.fit_probability >= confidence
        assert point.size.memory_bytes.value <= point.node.hbm_bytes_per_gpu


def test_whole_nodes_are_paid_for_and_stated() -> None:
    """One accelerator of eight does the work, eight are billed, and a warning says which are idle."""
    plan = _plan("workload.parallelism.gpus=1", "targets.aws.max_nodes=1")
    option = _aws("workload.parallelism.gpus=1", "targets.aws.max_nodes=1")
    assert (
        option.performance.layout.gpus,
        option.performance.idle_gpus,
        option.cluster.gpus,
        option.cluster.nodes,
    ) == (1, 7, 8, 1)
    assert option.money.run_usd is not None
    assert option.money.usd_per_gpu_hour is not None
    assert option.money.run_usd > option.money.usd_per_gpu_hour * 8 * option.performance.calendar_days * 24 * 0.99
    assert "FTN021" in {warning.id for warning in plan.warnings}


def test_a_node_of_one_card_needs_no_network() -> None:
    """Instances without a fabric work alone, and are never taken twice."""
    front = _front("targets.aws.instance=g6e.xlarge")
    assert [(point.nodes, point.gpus, point.size.layout.gpus) for point in front] == [(1, 1, 1)]


def test_frozen_weights_in_four_bits_take_less_memory() -> None:
    """Weights of 8B in NF4 are a fraction of those in bf16, as their bytes are."""
    full, small = _size("workload.parallelism.gpus=1"), _size("workload.parallelism.gpus=1", "workload.method=qlora")
    inside = small.memory.weights / full.memory.weights
    assert WEIGHT_BYTES["nf4-dq"] / 2 < inside < 0.45


def test_dropping_to_a_frozen_reference_adds_its_forward_passes() -> None:
    """DPO computes both answers, and each once more: with as many sequences a pass, rates differ by that pass alone."""
    held = ("workload.parallelism.gpus=8", "workload.gradient_checkpointing=true", "workload.data.mean_tokens=2048")
    alone = _size(*held, "workload.parallelism.micro_batch=2", "workload.packing=false")
    pairs = _size(*held, "workload.parallelism.micro_batch=1", "workload.objective=dpo", "workload.global_batch=16")
    assert pairs.layout.micro_batch == alone.layout.micro_batch == 2
    # Forward, gradients of inputs, and all once more: three passes, the reference is a fourth.
    assert alone.tokens_per_s.value / pairs.tokens_per_s.value == pytest.approx(4 / 3)
    assert pairs.steps * 32 == 2 * 40_000


def test_a_full_run_with_a_reference_holds_two_copies() -> None:
    """Where all weights are trained, the frozen reference is a second copy of them."""
    held = ("workload.method=full", "workload.rank=null", "workload.targets=null", "workload.parallelism.gpus=8")
    one, two = _size(*held), _size(*held, "workload.objective=dpo", "workload.packing=null")
    assert two.memory.weights == pytest.approx(2 * one.memory.weights)


def test_samples_that_are_not_packed_are_padded() -> None:
    """Without packing every sample takes a sequence: a quarter of the rate where a quarter of it is filled."""
    held = ("workload.parallelism.gpus=8", "workload.parallelism.micro_batch=4", "workload.gradient_checkpointing=true")
    packed, padded = _size(*held), _size(*held, "workload.packing=false")
    assert padded.tokens_per_s.value == pytest.approx(packed.tokens_per_s.value / 4)
    assert padded.steps == 20_000 * 2 // 32


def test_no_size_of_the_front_is_beaten() -> None:
    """More nodes are only looked at where they end sooner."""
    front = _front()
    assert len(front) > 1
    for fewer, more in pairwise(front):
        assert fewer.nodes < more.nodes
        assert fewer.calendar_days > more.calendar_days


def test_full_fine_tuning_takes_several_nodes() -> None:
    """All weights of 70B with their states do not fit on eight cards of 80 GB; on sixteen or more, divided, they do."""
    held = ("workload.model=llama-3.1-70b", "workload.method=full", "workload.rank=null", "workload.targets=null")
    size = _size(*held, "workload.optimizer=adamw")
    assert size.nodes > 1
    assert size.layout.sharding != "none"
    assert size.trained_parameters == pytest.approx(70.55e9, rel=0.01)
    with pytest.raises(RuleError) as refused:
        _front(*held, "workload.optimizer=adamw", "targets.aws.max_nodes=1")
    assert [finding.id for finding in refused.value.findings] == ["FTN011"]


def test_what_fits_nowhere_names_the_smallest_configuration_that_holds_it() -> None:
    """LoRA of 70B fits on no card of 24 GB: the help names cards that do."""
    with pytest.raises(RuleError) as refused:
        _front("workload.model=llama-3.1-70b", "targets.aws.instance=g6.xlarge")
    (finding,) = refused.value.findings
    assert finding.id == "FTN010"
    assert "the smallest configuration of the catalogue that holds it is" in (finding.help or "")
    assert "method: qlora" in (finding.help or "")


def test_a_held_layout_that_does_not_fit_is_named() -> None:
    """Where the run fits without what the blueprint holds, that is the advice."""
    held = ("workload.parallelism.gpus=1", "workload.method=full", "workload.rank=null", "workload.targets=null")
    with pytest.raises(RuleError) as refused:
        _front(*held, "workload.optimizer=adamw", "workload.model=qwen2.5-32b")
    assert "remove what holds the layout" in (refused.value.findings[0].help or "")


def test_prompts_make_groups_of_answers_and_those_updates() -> None:
    """20,000 prompts twice, eight answers each, in batches of 32, twice: the tokens of every update count."""
    plan = _plan(*_GRPO, "workload.rollouts.updates=2")
    option, work = plan.options[0], plan.workload
    assert work.tokens == 20_000 * 2 * 8 * (200 + 400) * 2
    assert option.performance.steps == 20_000 * 2 * 8 // 32 * 2
    assert option.performance.step_s == pytest.approx(32 * 600 / option.performance.tokens_per_s.value)
    assert "20,000 prompts × 2 epochs × 8 answers × 2 updates" in work.amount_text
    assert "GRPO" in work.method_text


def test_flop_of_answers_are_those_of_their_passes() -> None:
    """LoRA of one update: forward, gradients, scoring; answers and an eighth of their prompts are generated."""
    generated, given = _plan(*_GRPO).workload, _plan("workload.parallelism.gpus=8").workload
    each = given.flop_per_token / 2
    assert generated.flop_per_token == pytest.approx(each * (2 + 1 + (400 + 200 / 8) / 600))
    again = _plan(*_GRPO, "workload.rollouts.updates=2", "workload.rollouts.reference=true").workload
    assert again.flop_per_token == pytest.approx(each * (2 + (2 + (400 + 200 / 8) / 600) / 2))


def test_what_is_generated_is_stated_with_its_share(tmp_path: Any) -> None:  # noqa: ANN401 - a path
    """The answer has the share of generating and a warning; details have the batch; limits name both parts."""
    plan = _plan(*_GRPO)
    option = plan.options[0]
    step = option.performance.step
    assert "FTN023" in {warning.id for warning in plan.warnings}
    assert f"generating answers {percent(step.generating)}" in option.performance.limited_by
    brief, details = (
        " ".join(plan_text(plan, tmp_path / "tune.yaml", details=given, money=USD).split()) for given in (False, True)
    )
    assert f"generating answers with vLLM beside training takes {percent(step.generating)} of the time" in brief
    assert "a batch: 4 prompts × 8 answers" in details
    assert "vLLM's cache" in details


def test_generated_answers_are_read_back_as_they_were_written() -> None:
    """plan.json holds how answers are generated."""
    plan = _plan(*_GRPO)
    assert plan.options[0].performance.rollouts is not None
    assert loads(dumps(plan)) == plan


def test_a_framework_without_measurements_is_taken_with_a_wider_band() -> None:
    """An unknown framework is a warning, and its band holds that of a measured one."""
    known, other = _size(), _size("workload.framework=homemade")

    def width(option: FinetuneSize) -> float:
        return option.tokens_per_s.high / option.tokens_per_s.low

    assert width(other) > width(known)
    assert "FTN020" in _warned("workload.framework=homemade")
    assert "FTN020" not in _warned()
    assert "FTN020" in _warned("workload.framework=unsloth")


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("workload.method=qlora", "workload.precision=bf16"), "FTN001"),
        (("workload.method=lora", "workload.precision=nf4"), "FTN001"),
        (("workload.precision=nvfp4",), "FTN003"),
        (("workload.rank=2048",), "FTN004"),
        (("workload.data.mean_tokens=4096",), "FTN005"),
        (("workload.sequence_length=1000000",), "FTN005"),
        (("workload.method=full",), "FTN006"),
        (("workload.trainable=1 %",), "FTN006"),
        (("workload.objective=dpo", "workload.packing=true"), "FTN006"),
        (("workload.parallelism.tensor=3",), "FTN007"),
        (("workload.parallelism.gpus=7",), "FTN007"),
        (("goals.first_token=1 s",), "KIND001"),
        (("data.workers=4",), "KIND001"),
        (("workload.objective=grpo",), "FTN009"),
        ((_ROLLOUTS,), "FTN009"),
        ((*_GRPO, "workload.packing=true"), "FTN006"),
        ((*_GRPO, "workload.data.mean_tokens=512"), "FTN006"),
        ((*_GRPO, "workload.data.samples=null", "workload.data.tokens=1e6"), "FTN006"),
        ((*_GRPO, "workload.global_batch=36"), "FTN007"),
        ((*_GRPO, "workload.rollouts.longest_answer=1900"), "FTN012"),
        ((*_GRPO, "workload.rollouts.prompt_tokens=1700"), "FTN012"),
        ((*_GRPO, "workload.rollouts.prompt_tokens=5000"), "FTN012"),
        ((*_GRPO, "workload.rollouts.longest_answer=300"), "FTN012"),
    ],
)
def test_what_excludes_itself_is_refused(overrides: tuple[str, ...], expected: str) -> None:
    """Each mistake is a problem with its id."""
    assert expected in _ids(*overrides)


@pytest.mark.parametrize(
    ("target", "refused"),
    [
        ({"gcp": {"instance": "ct6e-standard-8t", "region": "us-east5"}}, True),
        ({"aws": {"instance": "trn2.48xlarge", "region": "us-east-2"}}, True),
        ({"onprem": {"system": "mi300x-8gpu"}}, False),
        ({"aws": {"instance": "p5.48xlarge", "region": "us-east-1"}}, False),
    ],
)
def test_qlora_needs_kernels_that_unpack_its_formats(target: dict[str, Any], refused: bool) -> None:
    """Bitsandbytes has kernels for GPUs, none for TPU and Trainium; LoRA in 16 bits is refused on none of them."""
    values = {**copy.deepcopy(_VALUES), "targets": target}
    values["workload"]["method"] = "qlora"
    assert ("FTN008" in _ids(values=values)) is refused
    assert "FTN008" not in _ids("workload.method=lora", values=values)


@pytest.mark.parametrize(
    ("rollouts", "said"),
    [
        ("{answers: 1, prompt_tokens: 200, answer_tokens: 400}", "greater than or equal to 2"),
        ("{answers: 8, prompt_tokens: -1, answer_tokens: 400}", "greater than or equal to 1"),
        ("{answers: 8, answer_tokens: 400}", "prompt_tokens"),
        ("{answers: 8, prompt_tokens: 200}", "answer_tokens"),
        ("{answers: 8, prompt_tokens: 200, answer_tokens: {mean: 400, p95: 100}}", "below the mean"),
        ("{answers: 8, prompt_tokens: 200, answer_tokens: 400, updates: 0}", "greater than or equal to 1"),
        ("{answers: 8, prompt_tokens: 200, answer_tokens: 400, reward: 'a b'}", "pattern"),
        ("{num_generations: 8, prompt_tokens: 200, answer_tokens: 400}", "it is called answers here"),
    ],
)
def test_rollouts_that_cannot_be_are_refused(rollouts: str, said: str) -> None:
    """Groups of one, negative lengths, lengths that lack, impossible distributions, names that no function has."""
    with pytest.raises(BlueprintError, match=re.escape(said)):
        _resolved(*_GRPO[:1], f"workload.rollouts={rollouts}", *_GRPO[2:])


def test_data_is_given_once() -> None:
    """Samples and tokens together, or neither, are refused."""
    values = copy.deepcopy(_VALUES)
    values["workload"]["data"] = {"samples": 10, "tokens": 100}
    with pytest.raises(BlueprintError, match="both say"):
        _resolved(values=values)
    values["workload"]["data"] = {"epochs": 1}
    with pytest.raises(BlueprintError, match="neither is given"):
        _resolved(values=values)


def test_every_mistake_is_reported_at_once() -> None:
    """A wrong format, a rank above the width and impossible data are three problems of one answer."""
    found = _ids(
        "workload.method=qlora", "workload.precision=bf16", "workload.rank=5000", "workload.data.mean_tokens=1e6"
    )
    assert {"FTN001", "FTN004", "FTN005"} <= set(found)


def test_frameworks_names_of_matrices_are_ours() -> None:
    """q_proj and v_proj are query and value; all-linear is every matrix."""
    blueprint, _ = _resolved('workload.targets=["q_proj", "v_proj"]')
    assert blueprint.workload.targets == ["query", "value"]
    blueprint, _ = _resolved("workload.targets=all-linear")
    assert blueprint.workload.targets == list(MATRICES)


def test_names_are_those_of_the_engine() -> None:
    """Formats and matrices of the blueprint are those that sizing knows."""
    assert set(QLORA_PRECISIONS) == set(QLORA_FORMATS)
    assert set(MATRICES) == EVERY_MATRIX


def test_runs_a_month_are_runs_of_the_horizon() -> None:
    """Four runs a month are 144 in 36 months, and a month costs what they do."""
    monthly = _plan("economics.runs_per_month=4")
    assert monthly.options[0].money.runs_in_horizon == pytest.approx(144)
    assert monthly.options[0].money.month_usd == pytest.approx((monthly.options[0].money.horizon_usd or 0) / 36)
    with pytest.raises(BlueprintError, match="both give the work"):
        _resolved("economics.runs_per_month=4", "economics.runs=144")


def test_a_plan_is_read_back_as_it_was_written() -> None:
    """plan.json of fine-tuning gives the same record."""
    plan = _plan("economics.runs_per_month=4")
    assert loads(dumps(plan)) == plan


def test_answer_and_comparison_tell_layout_memory_and_dollars(tmp_path: Any) -> None:  # noqa: ANN401 - a path
    """The answer names layout, probability of fit, rate, result and a month; the comparison the runs."""
    plan = _plan("economics.runs_per_month=4")
    text = plan_text(plan, tmp_path / "tune.yaml", details=True, money=USD)
    for word in (
        "LoRA r 16",
        "fits with",
        "tokens/s",
        "trains 41.9 M weights",
        "a month",
        "hours",
        "Memory",
    ):
        assert word in text
    assert "runs" in comparison_text(plan, USD)


def test_plans_of_other_kinds_do_not_fine_tune() -> None:
    """Asking a training plan for what fine-tuning has is an error in words."""
    with pytest.raises(InputError, match="do not fine-tune"):
        finetuning_plan(shipped())
    with pytest.raises(InputError, match="does not fine-tune"):
        finetuning_option(shipped().options[0])


@pytest.mark.parametrize("name", ["finetune-llama3-70b-lora", "finetune-llama3-8b-qlora", "finetune-llama3-70b-full"])
def test_shipped_blueprints_meet_their_goals(name: str) -> None:
    """Every shipped blueprint of fine-tuning has an answer on every target."""
    blueprint = load(_SHIPPED / f"{name}.yaml").blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    plan = decide(blueprint, resolved, _facts())
    assert not plan.findings
    assert all(option.performance.meets_goal for option in plan.options)
