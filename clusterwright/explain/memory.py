"""Explanations of what memory is taken by: what tensors and the allocator hold, and what an optimizer keeps."""

from clusterwright.explain.records import Explanation, Input, total
from clusterwright.plan.text.words import probability_text
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.training import memory_margin
from clusterwright.sizing.training.optimizer import optimizers
from clusterwright.sizing.training.practice import FRAGMENTATION, practice_for
from clusterwright.units import percent

_MEMORY = "clusterwright/sizing/training/memory.py"
_MARGIN = "clusterwright/sizing/training/memory_margin.py"
_RESIDUALS = "catalog/calibration_memory.csv"
_OPTIMIZERS = "clusterwright/sizing/training/optimizer/optimizers.py"


def memory_numbers(plan: TrainingPlan, option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the explanations of memory beyond its sum."""
    fits = (
        ()
        if option.performance.fit_probability is None
        else (_usable(plan, option, option.performance.fit_probability),)
    )
    return (_allocated(option), _reserved(option), *fits, _optimizer(plan))


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.3f} GB"


def _allocated(option: TrainingOption) -> Explanation:
    performance = option.performance
    memory = performance.memory_bytes_per_gpu
    names = ("weights", "gradients", "optimizer", "activations", "logits", "communication")
    terms = tuple(Input(name=name, value=_gigabytes(getattr(memory, name)), source="explain memory") for name in names)
    return Explanation(
        number="memory_allocated",
        title="memory that tensors take on the fullest GPU",
        value=_gigabytes(performance.memory_allocated_bytes_per_gpu),
        equation=(
            " + ".join(names),
            total(tuple(term.value for term in terms), _gigabytes(performance.memory_allocated_bytes_per_gpu)),
        ),
        inputs=terms,
        sources=("torch.cuda.max_memory_allocated counts the same",),
    )


def _reserved(option: TrainingOption) -> Explanation:
    performance = option.performance
    memory = performance.memory_bytes_per_gpu
    allocated, reserved = (
        performance.memory_allocated_bytes_per_gpu,
        performance.memory_reserved_bytes_per_gpu,
    )
    return Explanation(
        number="memory_reserved",
        title="memory that the allocator holds on the fullest GPU",
        value=_gigabytes(reserved),
        equation=(
            "allocated × (1 + share lost to fragmentation)",
            f"{_gigabytes(allocated)} × (1 + {FRAGMENTATION}) = {_gigabytes(reserved)}",
        ),
        inputs=(
            Input(name="allocated", value=_gigabytes(allocated), source="explain memory_allocated"),
            Input(name="fragmentation", value=f"{FRAGMENTATION:g}", source=_MEMORY),
            Input(
                name="driver and collective library, beyond it",
                value=_gigabytes(memory.total - reserved),
                source=f"{_MEMORY}: context_bytes",
            ),
        ),
        sources=("SimuMax: 70.9 GiB reserved where 66.6 GiB were allocated",),
    )


def _usable(plan: TrainingPlan, option: TrainingOption, probability: float) -> Explanation:
    """Explain what a layout may be predicted to take; the residuals are those of the installed version."""
    performance = option.performance
    held, margin = option.cluster.hbm_bytes_per_gpu, performance.memory_margin
    band = memory_margin.residuals_for(plan.workload.framework, plan.workload.precision)
    asked = "none" if performance.memory_confidence is None else percent(performance.memory_confidence, digits=None)
    quantiles = f"{band.p10:+.3f}, {band.p50:+.3f}, {band.p90:+.3f} of {band.rows} peaks"
    return Explanation(
        number="memory_margin",
        title="memory that a layout may be predicted to take, so that it fits as probably as asked for",
        value=_gigabytes(held / margin),
        equation=(
            "memory of the accelerator / exp(residual at the probability asked for)",
            f"{_gigabytes(held)} / {margin:.5f} = {_gigabytes(held / margin)}",
        ),
        inputs=(
            Input(name="memory of the accelerator", value=_gigabytes(held), source=f"facts {option.cluster.instance}"),
            Input(name="asked for", value=asked, source="goals.memory_confidence"),
            Input(name="exp(residual)", value=f"{margin:.5f}", source=_MARGIN),
            Input(name="P10, P50, P90 of ln(measured / predicted)", value=quantiles, source=_RESIDUALS),
            Input(
                name="predicted",
                value=_gigabytes(performance.memory_bytes_per_gpu.total),
                source="explain memory",
            ),
            Input(name="fits with", value=probability_text(probability), source=f"{_MARGIN}: fit_probability"),
        ),
        sources=("clusterwright docs accuracy, memory",),
    )


def _optimizer(plan: TrainingPlan) -> Explanation:
    work = plan.workload
    shape = shape_of(work.architecture, sequence_length=work.sequence_length)
    chosen = optimizers.OPTIMIZERS[work.optimizer]
    practice = practice_for(work.framework, work.precision)
    moments, kept = optimizers.moments_under(chosen, shape, practice), optimizers.state_bytes(chosen, shape, practice)
    master, moved = optimizers.master_bytes(practice), optimizers.traffic_bytes(chosen, shape, practice)
    gradients = float(practice.gradient_bytes)
    share = optimizers.table_share(shape)
    return Explanation(
        number="optimizer_state",
        title=f"bytes per parameter that {chosen.name} keeps, before sharding",
        value=f"{kept:.4g} bytes",
        equation=(
            "fp32 weights + moments",
            f"{master:g} + {moments:.6g} = {kept:.6g}",
        ),
        inputs=(
            Input(name="fp32 weights", value=f"{master:g} bytes per parameter", source=_OPTIMIZERS),
            Input(
                name="moments", value=f"{moments:.6g} bytes per parameter", source="layers and tables, by their share"
            ),
            Input(name="moments in layers", value=_moments(chosen, chosen.moment_bytes), source=_OPTIMIZERS),
            Input(name="moments of tables", value=_moments(chosen, chosen.table_moment_bytes), source=_OPTIMIZERS),
            Input(name="tables", value=f"{share:.4f} of the parameters", source="explain parameters"),
            Input(
                name="an update moves",
                value=f"{gradients:g} × {chosen.gradient_reads:g} + 2 × {kept:.6g}"
                f" + {moved - gradients * chosen.gradient_reads - 2 * kept:g} = {moved:.6g} bytes per parameter",
                source=f"{_OPTIMIZERS}: traffic_bytes",
            ),
            Input(name="Newton-Schulz iterations", value=str(chosen.iterations), source=_OPTIMIZERS),
        ),
        sources=(
            "Adam: arXiv 1412.6980; with bf16 moments: arXiv 2412.19437",
            "Adafactor: arXiv 1804.04235; Muon: arXiv 2502.16982",
        ),
    )


def _moments(chosen: optimizers.Optimizer, each: float) -> str:
    return f"{each:g} bytes per row and column" if chosen.factored else f"{each:g} bytes per parameter"
