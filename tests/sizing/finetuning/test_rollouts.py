"""Generating answers for GRPO: the sum over lengths against single steps, its limits, and the memory of the engine."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.catalog.records import NodeType
from clusterwright.evidence.models import catalogued, find
from clusterwright.sizing.finetuning.calibration import Calibration, load_calibration
from clusterwright.sizing.finetuning.configuration import framework_of
from clusterwright.sizing.finetuning.job import FinetuneJob, FinetuneSize, Rollouts
from clusterwright.sizing.finetuning.rollouts import (
    Generators,
    answer_lengths,
    generated_time,
    generators,
    live_tokens,
    longest_of,
)
from clusterwright.sizing.finetuning.search import search
from clusterwright.sizing.serving.calibration import load_calibration as load_serving
from clusterwright.sizing.serving.columns import stacked
from clusterwright.sizing.serving.configuration import device_of
from clusterwright.sizing.serving.memory import cache_bytes
from clusterwright.sizing.serving.step import decode_step

CATALOGUE = load()
MODELS = catalogued(CATALOGUE)
H100 = CATALOGUE.accelerators["h100-sxm-80gb"]
CALIBRATION = replace(load_calibration(), serving=load_serving())
MIXED = Rollouts(
    answers=8,
    prompt_tokens=200.0,
    answer_tokens=600.0,
    answer_p95_tokens=1500.0,
    longest_answer_tokens=2048.0,
    updates=1,
    reference=False,
)
ALIKE = replace(MIXED, answer_p95_tokens=600.0)


def _job(rollouts: Rollouts | None = MIXED, **changes: object) -> FinetuneJob:
    model = find("Llama-3.1-8B", MODELS)
    assert model is not None
    filled = 1.0 if rollouts is None else rollouts.sequence_tokens / 2560
    job = FinetuneJob(
        model=model,
        framework=framework_of("trl"),
        method="lora",
        precision="bf16",
        rank=16.0,
        targets=None,
        trained_parameters=None,
        optimizer_bytes=None,
        recompute=True,
        preference=False,
        sequence_tokens=2560.0,
        filled=filled,
        global_batch=512,
        tokens=51.2e6,
        sequences=64_000.0,
        memory_confidence=0.95,
        rollouts=rollouts,
    )
    return replace(job, **changes)  # type: ignore[arg-type]


def _workers(rollouts: Rollouts, *sizes: tuple[int, float]) -> Generators:
    assert CALIBRATION.serving is not None
    return generators(_job(rollouts), H100, stacked([device_of(H100)]), sizes, CALIBRATION.serving)


def _step_by_step(workers: Generators, rollouts: Rollouts, *, slots: int, draws: int) -> float:
    """Return the mean seconds of a batch whose answers take places as they become free, one step after the other."""
    sequences = int(workers.sequences[0])
    longest = int(rollouts.longest_answer_tokens)
    one = workers.rows(np.zeros((1, 1), dtype=np.intp))
    contexts = np.array([0.0, 4096.0])
    steps = decode_step(
        one.model,
        one.device,
        one.place,
        one.factors,
        sequences=np.arange(1.0, slots + 1)[:, None],
        context=contexts[None, :],
    ).total
    generator = np.random.default_rng(7)
    seconds = []
    for _ in range(draws):
        lengths = np.rint(answer_lengths(rollouts).quantile(generator.random(sequences))).clip(1, longest)
        waiting = list(lengths)
        left = np.array([waiting.pop() for _ in range(min(slots, sequences))])
        done = np.zeros(len(left))
        spent = 0.0
        while len(left):
            context = rollouts.prompt_tokens + done.mean()
            low, high = steps[len(left) - 1]
            spent += low + (high - low) * context / contexts[1]
            left, done = left - 1, done + 1
            over = left <= 0
            new = [waiting.pop() for _ in range(min(int(over.sum()), len(waiting)))]
            left, done = np.concatenate([left[~over], new]), np.concatenate([done[~over], np.zeros(len(new))])
        seconds.append(spent)
    return float(np.mean(seconds) / workers.rate_scale[0])


@pytest.mark.parametrize(
    ("rollouts", "sequences", "slots"),
    [
        *((rollouts, count, count) for rollouts in (MIXED, ALIKE) for count in (4, 64, 256)),
        *((rollouts, count, slots) for rollouts in (MIXED, ALIKE) for count, slots in ((256, 64), (64, 8))),
        (MIXED, 128, 96),
    ],
)
def test_the_sum_over_lengths_is_that_of_single_steps(rollouts: Rollouts, sequences: int, slots: int) -> None:
    """Answers that start together, or wait for places: within 6 % of drawing them and adding up every step."""
    workers = _workers(rollouts, (1, float(sequences)))
    found = float(generated_time(workers, rollouts, slots=np.array([float(slots)])).decode_s[0])
    drawn = _step_by_step(workers, rollouts, slots=slots, draws=60 if sequences < 10 else 12)
    assert found == pytest.approx(drawn, rel=0.06)


def test_parts_of_lengths_have_all_steps_and_tokens() -> None:
    """One answer alone takes as many steps as it has tokens; of many the longest is the cut."""
    for rollouts in (MIXED, ALIKE):
        alone, of_many = longest_of(rollouts, np.array([1.0, 1e6]))
        assert alone == pytest.approx(rollouts.answer_tokens, rel=1e-6)
        assert of_many == pytest.approx(answer_lengths(rollouts).longest, rel=1e-3)


def test_few_places_take_longer_and_more_accelerators_less() -> None:
    """Half of the places, half of the accelerators or longer answers never make a batch faster."""

    def seconds(rollouts: Rollouts, size: tuple[int, float], slots: float) -> float:
        time = generated_time(_workers(rollouts, size), rollouts, slots=np.array([slots]))
        return float(time.total_s[0])

    whole = seconds(MIXED, (2, 128.0), 128.0)
    assert whole < seconds(MIXED, (2, 128.0), 32.0) < seconds(MIXED, (2, 128.0), 8.0)
    assert whole < seconds(MIXED, (1, 128.0), 128.0)
    assert seconds(replace(MIXED, answer_tokens=300.0, answer_p95_tokens=750.0), (2, 128.0), 128.0) < whole


def test_a_prompt_is_computed_once_for_its_answers() -> None:
    """Twice as many answers to half as many prompts take half of the prefill, and as long to decode."""
    prompts = replace(MIXED, prompt_tokens=2000.0)
    few, many = (
        generated_time(_workers(one, (1, 128.0)), one, slots=np.array([128.0]))
        for one in (prompts, replace(prompts, answers=16))
    )
    assert few.prefill_s[0] == pytest.approx(2 * many.prefill_s[0])
    assert few.decode_s[0] == pytest.approx(many.decode_s[0])


def _node(gpus: int = 8) -> NodeType:
    return NodeType(
        id="node",
        accelerator=H100,
        gpus=gpus,
        hbm_bytes_per_gpu=H100.hbm_bytes or 0.0,
        network_kind="none",
        network_bytes_per_s_per_gpu_one_way=0.0,
    )


def _size(job: FinetuneJob, calibration: Calibration = CALIBRATION, **node: int) -> FinetuneSize:
    return search(job, _node(**node), (1,), calibration)[-1]


def _held(rollouts: Rollouts | None, **changes: object) -> FinetuneJob:
    """Return a job whose layout is the same with rollouts and without."""
    return _job(rollouts, **{"gpus": 8, "tensor": 1, "sharding": "none", "micro_batch": 1, **changes})


def _training_s(size: FinetuneSize) -> float:
    """Return the seconds of an update without what comes before it."""
    return size.step_s * (1.0 - size.step.generating - size.step.scoring - size.step.reference)


SHORT = replace(MIXED, prompt_tokens=2000.0, answer_tokens=1.0, answer_p95_tokens=1.0, longest_answer_tokens=48.0)


def test_answers_of_one_token_leave_the_cost_of_training_and_a_forward_pass() -> None:
    """Without answers to generate a token costs what supervised training takes, and the pass that scores it."""
    generated = _size(_held(SHORT, sequence_tokens=2048.0, filled=2001 / 2048, global_batch=4096))
    given = _size(_held(None, sequence_tokens=2001.0, filled=1.0, global_batch=4096))
    assert generated.step.generating < 0.03
    assert _training_s(generated) == pytest.approx(_training_s(given), rel=0.02)
    # Forward, gradients of inputs, and all once more: a forward pass is a third of these.
    assert generated.step.scoring * generated.step_s == pytest.approx(_training_s(generated) / 3, rel=1e-6)


def test_longer_answers_take_a_larger_share_of_the_time() -> None:
    """A step of decoding reads all weights for few tokens; training computes all tokens at once."""
    shares = [
        _size(_held(replace(MIXED, answer_tokens=mean, answer_p95_tokens=mean))).step.generating
        for mean in (10.0, 100.0, 1000.0)
    ]
    assert shares == sorted(shares)
    assert shares[0] < 0.2 < shares[-1]


def test_a_reference_is_one_more_forward_pass() -> None:
    """As long as scoring, and a second copy of the weights only where all of them are trained."""
    alone, both = _size(_held(MIXED)), _size(_held(replace(MIXED, reference=True)))
    assert alone.step.reference == 0
    assert both.step.reference == pytest.approx(both.step.scoring)
    assert both.step_s - alone.step_s == pytest.approx(alone.step.scoring * alone.step_s)
    assert both.memory.weights == alone.memory.weights
    whole = {"method": "full", "sharding": "all"}
    one, two = (_size(_held(replace(MIXED, reference=given), **whole)) for given in (False, True))
    assert two.memory.weights == pytest.approx(2 * one.memory.weights)


def test_further_updates_share_one_generation() -> None:
    """Three updates of the same answers: a third of generating and of scoring each, and the same training."""
    once, thrice = _size(_held(MIXED)), _size(_held(replace(MIXED, updates=3)))
    assert _training_s(thrice) == pytest.approx(_training_s(once))
    for part in ("generating", "scoring"):
        assert getattr(thrice.step, part) * thrice.step_s == pytest.approx(getattr(once.step, part) * once.step_s / 3)


@settings(max_examples=25)
@given(
    answer=st.floats(1, 2000),
    spread=st.floats(1, 3.5),
    trained=st.tuples(st.integers(1, 4), st.booleans()),
    groups=st.integers(1, 64),
    full=st.booleans(),
)
def test_shares_of_a_step_sum_to_one(
    answer: float, spread: float, trained: tuple[int, bool], groups: int, full: bool
) -> None:
    """Whatever is generated: all parts of a step are shares, and those of a batch are its seconds."""
    updates, reference = trained
    rollouts = replace(
        MIXED, answer_tokens=answer, answer_p95_tokens=answer * spread, updates=updates, reference=reference
    )
    job = _job(rollouts, global_batch=64 * groups, method="full" if full else "lora")
    for size in search(job, _node(), (1,), CALIBRATION):
        assert sum(astuple(size.step)) == pytest.approx(1)
        assert min(astuple(size.step)) >= 0
        assert size.rollouts is not None
        assert 1 <= size.rollouts.slots <= size.rollouts.answers
        assert size.rollouts.workers * size.rollouts.answers == job.global_batch
        assert size.rollouts.generating_s == pytest.approx(size.step.generating * size.step_s * updates)
        before = size.step.scoring + size.step.reference
        assert size.rollouts.scoring_s == pytest.approx(before * size.step_s * updates)
        assert size.tokens_per_s.low < size.tokens_per_s.value < size.tokens_per_s.high


def test_the_engine_is_beside_the_run_with_weights_and_cache_of_its_own() -> None:
    """Its weights are a copy over the accelerators that generate together, its cache that of the answers in flight."""
    size = _size(_job(gpus=8, tensor=1, micro_batch=1))
    job, rollouts = _job(), size.rollouts
    assert rollouts is not None
    weights = 2 * float(np.asarray(job.model.shape.parameters)) / size.layout.generation_tensor
    assert weights < size.memory.serving_weights < weights + 5e9
    each = float(cache_bytes(job.model.shape, live_tokens(MIXED), cache_bytes=2.0)) / size.layout.generation_tensor
    assert size.memory.serving_cache == pytest.approx(rollouts.slots * each)
    held = sum(astuple(size.memory))
    assert size.memory_bytes.value == pytest.approx(held)
    engine = size.memory.serving_weights + size.memory.serving_cache
    assert rollouts.memory_share == pytest.approx(engine / (H100.hbm_bytes or 0))


def test_the_cache_shrinks_to_what_training_leaves() -> None:
    """On a smaller memory fewer answers are in flight, and the run takes longer; it fits with the same probability."""
    node = _node(gpus=1)
    job = _job(gpus=1, micro_batch=1)
    roomy, tight = (search(job, replace(node, hbm_bytes_per_gpu=size), (1,), CALIBRATION)[0] for size in (140e9, 72e9))
    assert roomy.rollouts is not None
    assert tight.rollouts is not None
    assert roomy.rollouts.slots > tight.rollouts.slots >= 1
    assert tight.fit_probability >= job.memory_confidence
    assert tight.rollouts.decode_s > roomy.rollouts.decode_s
    assert tight.step_s > roomy.step_s
    assert not search(job, replace(node, hbm_bytes_per_gpu=40e9), (1,), CALIBRATION)


def test_the_band_is_wider_than_those_of_both_engines_by_their_shares() -> None:
    """No GRPO run was measured: both err alike, and more than the rows by which each is known."""
    size, given = _size(_held(MIXED)), _size(_held(None)).tokens_per_s
    share, rate = size.step.generating, size.tokens_per_s
    engine = _workers(MIXED, (1, 64.0)).band
    for found, own, other in ((rate.high, given.high, engine[1]), (rate.low, given.low, engine[0])):
        known = 1 / ((1 - share) * given.value / own + share * np.exp(-other))
        assert abs(np.log(found / rate.value)) > 1.05 * abs(np.log(known))


#: Steps that NVIDIA publishes of NeMo RL 0.4 (docs/about/performance-summary.md of github.com/NVIDIA-NeMo/RL, GRPO on
#: policy, bf16 on DGX H100, seen 2026-11-29): model, accelerators, longest and mean sequence, s; and what they take at
#: most of the predicted time.
PUBLISHED = (
    ("Llama-3.1-8B", 16, (4096.0, 1060.0), 97.7, 1.5),
    ("Qwen3-32B", 32, (4096.0, 3206.0), 393.0, 1.5),
    ("Qwen3-30B-A3B", 32, (4096.0, 3154.0), 225.0, 2.3),
)


@pytest.mark.parametrize(("name", "gpus", "sequence", "measured_s", "most"), PUBLISHED)
def test_published_steps_take_longer_than_the_sum_of_known_passes(
    name: str, gpus: int, sequence: tuple[float, float], measured_s: float, most: float
) -> None:
    """Loading new weights, rewards and data are in them, and nothing was fitted to them; P95 of lengths is assumed."""
    model = find(name, MODELS)
    assert model is not None
    longest, mean = sequence
    answer = mean - 100
    rollouts = replace(
        MIXED,
        answers=32,
        prompt_tokens=100.0,
        answer_tokens=answer,
        longest_answer_tokens=longest,
        answer_p95_tokens=min(2.3 * answer, longest),
    )
    job = _job(
        rollouts,
        model=model,
        framework=framework_of("nemo"),
        method="full",
        sequence_tokens=longest + 100,
        gpus=gpus,
        filled=mean / (longest + 100),
        global_batch=2048,
        recompute=None,
    )
    node = replace(_node(), network_kind="infiniband", network_bytes_per_s_per_gpu_one_way=50e9)
    (size,) = search(job, node, (gpus // 8,), CALIBRATION)
    assert 1 < measured_s / size.step_s < most
