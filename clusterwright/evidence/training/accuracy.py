"""The page `docs/evidence/accuracy.md`: how far predictions are from published runs, from the calibration's figures."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from zlib import crc32

import numpy as np

from clusterwright.evidence.rows import REQUIRED, NotExpressed
from clusterwright.evidence.training import band_parts
from clusterwright.evidence.training.band_parts import LeftOut
from clusterwright.evidence.training.learning import Calibrated, HeldOut
from clusterwright.evidence.training.runs import Run
from clusterwright.evidence.training.validate import Score, score
from clusterwright.sizing.columns import Array
from clusterwright.sizing.hardware.bands import EVERY, LONG_FROM_TOKENS, NARROW_UP_TO, UNNAMED
from clusterwright.sizing.hardware.calibration import DENSE, EXPERTS
from clusterwright.sizing.training.memory_margin import KNOWN, load_residuals
from clusterwright.units import percent

#: Probability at which a plan takes a layout (`goals.memory_confidence`).
_FITS = 0.95
_tenths = partial(percent, digits=1)
_HEAD = """# How accurate the training engine is

Written by `python -m clusterwright.evidence.training.calibrate RUNS.csv...`; do not edit by hand.

Every prediction below is of a run whose whole source was left out: a publisher's runs of one family of software are
predicted with numbers and effects fitted on the other sources alone. Errors are of tokens per second per GPU,
|predicted/measured - 1|, since "TFLOP/s per GPU" is counted in three incompatible ways by the sources. The baseline is
a constant MFU per accelerator, precision, and dense or mixture of experts (the median of the other sources'), which
published planners do not clearly beat.

Two things are judged. A *run* names its software, and what other sources show of that release or family is used; this
is what `validate` does. A *plan* does not name it. "In band" counts the rows inside the band that promises 80 %, its
parts fitted without the source of the row; "P90/P10" is the median ratio of its ends.

The same layout republished in another software release differs by 5.5 % in the median and 30 % at the 90th percentile,
so that a median error below about 5 % across sources means little.
"""

_MODEL = """
## How a prediction is made

1. Seconds of a step from the layout: multiplications with an efficiency that grows with rows and width, attention,
   memory-bound work, experts with grouped multiplications and all-to-all, traffic by link, pipeline bubble, optimizer.
   The numbers are fitted per stack (`megatron`: tensor, pipeline, expert and data parallelism; `fsdp`: sharding without
   a pipeline) on all its runs, then per accelerator generation close to the stack's. What is measured or known of an
   accelerator or a software is taken from tables instead, see below.
2. Effects on top, shrunk towards zero the fewer runs show them: of the vendor, the accelerator and its precision, the
   architecture and (for runs whose software is named) its family, its lineage on a generation, its release, and what
   each quarter added to software that is released by year and month. Names are matched exactly
   (`catalog/software_families.csv`); a release that was never measured is as its family. What the runs of one source
   have in common is estimated beside them and never predicted with, so that one large file does not speak for all.
3. Numbers and effects are found together: ln(tokens per second) is linearised in the numbers, and both are the best
   linear unbiased prediction under normal priors, with Student's t noise so that odd runs count less. An open choice
   of a published run (recomputation, micro-batch, chunks) is the fastest that fits with sparing use of memory.
4. The band is a sum of parts (`catalog/calibration_bands.csv`): one that every prediction has, and one for each thing
   that is not known or lies far from what was measured; `few sources` is of accelerator generations that fewer than ten
   sources have measured with the kind of model (`catalog/calibration_sources.csv`).

Terms beyond fitted numbers, and the median error of runs without and with each, sources left out: one was switched off
at a time, the numbers were fitted again, and errors were taken about the median of all sources. Effects were
held less closely than now, so that figures compare terms with one another, not with the tables above.

| term | formula | from | without and with it |
|---|---|---|---|
| multiplications | a share of the fastest one measured on the accelerator, not of its documented peak | \
`catalog/matmul_rates.csv`: tables of *Machine Learning Engineering*, AMD's achievable FLOPs, device times on TPU; a \
kindred chip's share where none was measured, else the median | MI250X 39.0 and 4.8 %, TPU 17.3 and 15.4 %, Gaudi 17.1 \
and 15.1 %, generations left out 9.0 and 7.9 % |
| attention | a share of the bf16 peak by kernel and generation | `catalog/attention_kernels.csv`: FlashAttention 2 \
and 3, Azure's benchmarks | 32k tokens and more 24.2 and 6.1 %, all 8.7 and 6.9 % |
| attention that writes its scores | all keys multiplied, ten bytes per score moved | Korthikanti et al. 2022, \
software before fused kernels | DeepSpeed of 2021 27.0 and 18.0 %, Trainium 10.8 and 7.5 %, but V100 9.5 and 15.1 % |
| eager and compiled software | each byte of memory-bound work moves more, or less, often | fitted | hidden width up \
to 2,048 9.1 and 5.7 % |
| overlap | software that hides no tensor-parallel traffic | `catalog/calibration_software.csv` | Trainium 9.8 and \
7.5 % |
| overlap | software that hides no data-parallel traffic | `catalog/calibration_software.csv` | DeepSpeed of 2021 62.2 \
and 18.0 %, MI250X 10.9 and 4.8 % |
| transfers between stages that the sender waits for | `2 v m` transfers at 1 GB/s between nodes, 3 inside, none \
hidden | nanotron | nanotron 34.8 and 6.9 %, at P90 380 and 84 % |
| ZeRO-3 | each gather of a layer, or of each of its parameters, waits for its ring | DeepSpeed of 2021 gathered \
parameters one by one | DeepSpeed of 2021 47.6 and 18.0 % |
| overhead of a step | about 30 ms, whatever the model | fitted | hidden width up to 2,048 6.4 and 5.7 % |
| power | peaks documented at another power: `(power/full)^x` | `peak_power_w` of the catalogue | H100 of 500 W 29.8 \
and 14.2 % |
"""

_COLUMNS = """
## Check or calibrate on runs of your own

`clusterwright validate training RUNS.csv [--json]` predicts every row of a CSV file and says what it cannot express and
why; a mistyped or impossible row is named with line and column, and the exit code is then 2. `clusterwright calibrate
RUNS.csv -o FOLDER` keeps the shipped numbers and adds the effects that your runs show on top of them; files of
`clusterwright probe` may be named beside the runs ([probe](probe.md)); with `--anew` it
fits everything from your file alone and writes this page for it. Plans use the folder when the environment variable
`CLUSTERWRIGHT_CALIBRATION` names it. The columns are
{columns}; and where they apply `n_experts`, `top_k`, `ep`, `etp`, `cp`, `sp`, `vpp`, `micro_batch`, `zero_or_fsdp`
(`fsdp`, `zero3` or a ZeRO stage), `mem_gib` or `peak_mem_gib`, `mem_kind` (what the peak counts), `device_mem_gib`,
`outcome` (`oom` of a layout that ran out of memory), `model`, `notes`. For a mixture of experts `ffn_hidden` is the
width of one expert.
"""

_MEMORY = """
## Memory

`validate training` predicts every published peak as its source counts it (tensors, with the allocator's reserve, or
all that the driver shows) with what is known of the run's software (`catalog/calibration_software.csv`: copies of the
states, scores that attention keeps, bytes of a logit), and says how likely the layout is to fit. It prints under
`memory` the error of the peaks, how many layouts that ran have a chance below 5 % (`ran_refused`) and how many that
ran out of memory one below 50 % (`oom_refused`), and the Brier score of these chances; rows without throughput count
here alone. `--predictions OUT.csv` writes each prediction with P10, P90 and the chance to fit. The residuals behind
the chances are those of 125 published peaks of 12 publishers, by whether the states of the software are known and
whether the source says what it counts (`catalog/calibration_memory.csv`). A new publisher lies farther from the
others than they from one another: the tails beyond the ends are the widest, 8 % on each side in the place of 10 %, at
which publishers that are left out hold 80 %. With whole publishers left out of the residuals and of that choice, the
error is 4.3 % in the median and 19.9 % at P90, 81 % of the peaks are inside the band that promises 80 % (85 % in the
mean of publishers), one of 795 layouts that ran is refused (DeepSeek-V3 on 512 TPU v5p), and neither of two that ran
out of memory; the Brier score is 0.066 (`python -m clusterwright.evidence.training.memory_bands RUNS.csv...`). Of
these two, one source does not state its recomputation, and the layout fits with full recomputation; the other is
predicted within 1 % of the memory of its card. P90 is 1.32 times P10 in the median. The shipped residuals:

{margins}

By publisher, each left out, in band: SimuMax 22 of 22, torchtitan 12 of 12, Primus 11 of 13, nanotron 9 of 10, GPT-2
on one GPU 9 of 9, LUMI 5 of 5, one-GPU fine-tuning and torchtune 3 of 3, Megatron-Patch 1 of 1, but BigScience 23 of
39, Megatron-DeepSpeed 1 of 2 and KempnerForge 2 of 6 (it takes 9 to 39 % more than predicted where much of an H200 is
free). As `validate training` counts them, 84 % of 86 and 70 % of 44 peaks of two tables of published runs are in the
band; most outside in the second are on V100 and MI300X. Of 38 peaks of [our own](probe.md#steps-of-our-own), from
which no residual comes but three facts do, 74 % are in it.

What moved the error, sources left out (before: 8.8 % in the median, 22.7 % at P90, 91 % in band, one refused):

| changed | because |
|---|---|
| the allocator loses 5 % of the states too, not of activations alone | whole-device peaks of eight sources lay above |
| DeepSpeed's forks of Megatron keep 1.3 times the activations of fused kernels | 176 B on A100, 175 B on MI250X |
| Megatron-LM's states count as known (2 + 4 + 12 bytes) | 22 peaks on B200 are met within 3 % |
| residuals of unknown software are those of all runs, as if theirs were unknown | 46 runs of 5 sources said little |
| one recipe in ten is leaner than its software's default | recipes turn on options that rows do not name |
| XLA holds a third of a layer while it computes it again | DeepSeek-V3 on 512 TPU v5p ran |
| a GPU alone has 0.75 GiB of context, not 4 | the driver on an H100 and an H200; GPT-2 on one card |
| logits take 12 bytes, and gradients come as activations go, under transformers | our own steps on one GPU |
| a policy that recomputes by operation keeps no more for being eager | torchtitan without a compiler |

A mixture of recomputed and kept activations for rows that leave recomputation open was tried and left out: it makes
the Brier score worse (0.028 of it come from these rows at even chances, 0.003 with the leanest choice).

The pooled median is helped by 34 peaks of `training_runs.csv`, most of one source (2.0 %, in sample); of 44 peaks of
`training_memory.csv` it is 8.0 %.

These figures of memory are not wholly held out. Four constants were chosen on the same peaks and outcomes: the factor
1.3, the 5 %, the one recipe in ten, and the share of a layer that XLA holds. Leaving a publisher out leaves it out of
the residuals and the tails only.

A plan takes a layout where it fits with `goals.memory_confidence` (95 % by default; 50 % is the median): its memory
as predicted, times exp of the residual at that probability, is no more than the accelerator has. `explain
memory_margin` shows it. A plan counts what the named software keeps (states, logits, activations of eager execution),
as published peaks were counted. A software that was not measured has the wide residuals of unknown software, and so a
larger margin; a blueprint without `workload.framework` is launched as Megatron-LM, whose states are known.
"""


_LIMITS = """
## What to trust, and what not

- The larger errors are of software, not of layouts: DeepSeek-V3 on 256 GB200 in bf16 ran at 958 tokens/s per GPU in
  one recipe and at 3,139 in a later one, Qwen3 30B on 16 H100 at 5,113 in NeMo 26.02 and at 9,058 in 26.02.01. No
  formula meets both. Much of the P90 of mixtures of experts is made of such runs.
- The deviations of effects, of priors and of the noise were chosen by leaving sources, generations and vendors out of
  the same files, among some hundreds of combinations, most of which differ by less than a twentieth of the error. What
  is printed here leaves each source out of the numbers, the effects and the parts of its band, but not out of that
  choice.
- Mixtures of experts are known worst: 94 of 140 runs are of one source, whose recipes differ by more between two
  releases than other sources differ from it. Tried on them and left out, since sources, generations and vendors that
  were left out were predicted no better: launches that take longer in scaled formats (twice, three times), a second
  streaming pass of block scales for every eight-bit recipe, the efficiency of grouped multiplications from 0.55 to
  0.93, tokens per expert of half-saturation from 32 to 300, four to nine passes of permutation, 0.15 to 0.5 of the
  all-to-all hidden, effects of experts by generation, precision and lineage, and an effect of the architecture twice
  to four times as wide (better with generations left out, worse with sources).
- Tried for all models and left out: numbers of a generation that move as far as those of a stack, effects of the
  lineage alone, of the generation alone, of the vendor by kind, of the family by generation or by kind, of the stack by
  vendor, wider and narrower effects of sources; attention of TPU at 0.35 of the peak; attention that is slower on short
  sequences and narrow heads; layers that XLA moves to the host instead of computing them again (TPU 13 to 12 % at P90,
  17 to 19 % in the median); bands as wide as the predictive variance; parts of bands fitted as exact quantiles.
  What helped most: tables of what was measured in the place of fitted numbers, stack numbers held close to their
  priors, families of software matched by name, and effects of the vendor.
- Half-saturation that grows with the square root of the peak was taken out again: with it generations left out are
  predicted better (8.2 for 9.0 %), sources worse (6.9 for 6.5 %), and V100 is too fast, far from peaks that show it.
- AMD, TPU, Trainium, Gaudi and V100 are known from one to four sources each: leaving one of them out leaves little.
  V100 has published runs in which tensor parallelism over two GPUs takes twice as long as its links explain.
- GPT-3 on 512 TPU v5p ran at what would be 84 % of the bf16 peak without any recomputation; no term explains it.
- Rows may state their network (`network_gbit_per_s_per_node`, or a note such as `4 x 100 Gb/s per node`); others are
  taken with that of the usual nodes of their accelerator.
"""


def document(calibrated: Calibrated, skipped: Sequence[NotExpressed]) -> str:
    """Return the page in Markdown.

    Args:
        calibrated: what was learnt and how it was judged.
        skipped: rows that are not predicted.
    """
    parts = [
        _HEAD,
        _kinds(calibrated),
        _families(calibrated),
        _beyond(calibrated),
        _parts(calibrated),
        _LIMITS,
        _MODEL,
        _effects(calibrated),
        _sources(calibrated),
        _worst(calibrated),
        _skipped(skipped),
        _columns(),
    ]
    return "\n".join(parts)


def summary(calibrated: Calibrated) -> list[str]:
    """Return the errors by kind of model in a line each."""
    lines = []
    for kind in (DENSE, EXPERTS):
        rows = _rows(calibrated, lambda run, kind=kind: run.kind == kind)  # type: ignore[misc]
        if rows:
            engine = _score(calibrated, rows, _errors(calibrated, named=True))
            plain = _score(calibrated, rows, calibrated.baseline_errors)
            lines.append(
                f"{kind}: {engine.rows} runs left out source by source, median error {_tenths(engine.median_error)} "
                f"(constant MFU {_tenths(plain.median_error)}), P90 {_tenths(engine.p90_error)}"
            )
    return lines


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _rows(calibrated: Calibrated, chosen: Callable[[Run], bool]) -> list[int]:
    return [index for index, run in enumerate(calibrated.runs) if chosen(run)]


def _score(calibrated: Calibrated, rows: Sequence[int], errors: Array) -> Score:
    return score([calibrated.runs[index] for index in rows], errors[list(rows)])


def _errors(calibrated: Calibrated, *, named: bool, held: HeldOut | None = None) -> Array:
    """Return ln(measured/predicted) about the median that predictions take."""
    held = held or calibrated.held_out
    errors = held.release_known if named else held.release_unknown
    held_parts = (EVERY,) if named else (EVERY, UNNAMED)
    return np.asarray(errors - sum(calibrated.bands[name].middle for name in held_parts if name in calibrated.bands))


_KINDS: tuple[tuple[str, Callable[[Run], bool]], ...] = (
    ("all", lambda _: True),
    (DENSE, lambda run: run.kind == DENSE),
    (EXPERTS, lambda run: run.kind == EXPERTS),
    (f"{LONG_FROM_TOKENS // 1024}k tokens and more", lambda run: float(run.shape.sequence) >= LONG_FROM_TOKENS),
    (f"hidden width up to {NARROW_UP_TO:,}", lambda run: run.model.hidden <= NARROW_UP_TO),
)
_HEADER = ("rows", "sources", "median", "P90", "bias", "baseline median", "baseline P90", "in band", "P90/P10")


def _line(
    calibrated: Calibrated, chosen: Callable[[Run], bool], *, named: bool, inside: tuple[Array, Array]
) -> list[str]:
    rows = _rows(calibrated, chosen)
    errors = _errors(calibrated, named=named)
    engine, plain = _score(calibrated, rows, errors), _score(calibrated, rows, calibrated.baseline_errors)
    held, ratio = inside
    return [
        str(engine.rows),
        str(len({calibrated.runs[index].left_out_as for index in rows})),
        _tenths(engine.median_error),
        _tenths(engine.p90_error),
        _tenths(float(np.expm1(-np.median(errors[rows]))), signed=True),
        _tenths(plain.median_error),
        _tenths(plain.p90_error),
        percent(float(held[rows].mean())),
        f"{float(np.median(ratio[rows])):.2f}",
    ]


def _inside(calibrated: Calibrated) -> dict[bool, tuple[Array, Array]]:
    """Return for runs and plans whether each lies in its band, and the ratio of the band's ends.

    The parts are fitted on the sources of other folds, of which there are eight.
    """
    count = len(calibrated.runs)
    whole = calibrated.left_out
    of_source = {True: whole[:count], False: whole[count : 2 * count]}
    found = {named: (np.zeros(count), np.zeros(count)) for named in of_source}
    folds = np.array([crc32(run.left_out_as.encode()) % 8 for run in calibrated.runs])
    for fold in sorted(set(folds)):
        others = [row for row in whole if crc32(row.source.encode()) % 8 != fold]
        bands = band_parts.fitted(others) if others else calibrated.bands
        for named, rows in of_source.items():
            mine = np.flatnonzero(folds == fold)
            chosen: list[LeftOut] = [rows[index] for index in mine]
            found[named][0][mine] = band_parts.inside(chosen, bands)
            found[named][1][mine] = [
                np.exp(sum(bands[name].low + bands[name].high for name in (EVERY, *row.parts) if name in bands))
                for row in chosen
            ]
    return found


def _kinds(calibrated: Calibrated) -> str:
    """Return the errors of runs and plans by kind of model."""
    inside = _inside(calibrated)
    table = [
        [told, name, *_line(calibrated, chosen, named=named, inside=inside[named])]
        for told, named in (("run", True), ("plan", False))
        for name, chosen in _KINDS
        if _rows(calibrated, chosen)
    ]
    return "\n## Sources left out\n\n" + _table(("what", "kind", *_HEADER), table)


def _families(calibrated: Calibrated) -> str:
    """Return the errors of runs by vendor, generation and kind."""
    inside = _inside(calibrated)[True]
    table = []
    for vendor in sorted({run.vendor for run in calibrated.runs}):
        generations = sorted({run.generation for run in calibrated.runs if run.vendor == vendor})
        for generation in generations:
            for kind in (DENSE, EXPERTS):

                def chosen(run: Run, of: tuple[str, str, str] = (vendor, generation, kind)) -> bool:
                    return (run.vendor, run.generation, run.kind) == of

                if _rows(calibrated, chosen):
                    line = _line(calibrated, chosen, named=True, inside=inside)
                    table.append([vendor, generation, kind, *line])
    return "\n## Sources left out, by accelerator\n\n" + _table(("vendor", "generation", "kind", *_HEADER), table)


def _beyond(calibrated: Calibrated) -> str:
    """Return the errors with a whole generation or vendor left out, and with other runs of the source known."""
    table = []
    for told, held in (
        ("its generation", calibrated.unseen_generation),
        ("its vendor", calibrated.unseen_vendor),
        ("its model on its accelerator, of all sources", calibrated.same_sources),
    ):
        errors = _errors(calibrated, named=True, held=held)
        for name, chosen in _KINDS[:3]:
            rows = _rows(calibrated, chosen)
            if rows:
                engine = _score(calibrated, rows, errors)
                line = [str(engine.rows), _tenths(engine.median_error), _tenths(engine.p90_error)]
                table.append([told, name, *line])
    return "\n## More and less left out\n\n" + _table(("left out is", "kind", "rows", "median", "P90"), table)


def _parts(calibrated: Calibrated) -> str:
    table = [
        [name, _tenths(np.expm1(-part.low), signed=True), _tenths(np.expm1(part.high), signed=True), str(part.rows)]
        for name, part in calibrated.bands.items()
    ]
    note = (
        "\nThe median is moved by "
        + " and ".join(
            f"{_tenths(np.expm1(part.middle), signed=True)} ({name})"
            for name, part in calibrated.bands.items()
            if part.middle
        )
        + ".\n"
    )
    return "\n## Parts of a band\n\n" + _table(("part", "below", "above", "rows"), table) + note


def _effects(calibrated: Calibrated) -> str:
    effects = calibrated.learnt.effects
    rows = [[kind.replace("_", " "), f"{value:.3f}"] for kind, value in sorted(effects.deviations.items())]
    rows.append(["one run", f"{effects.noise:.3f}"])
    return "\n" + _table(("effect", "standard deviation (ln)"), rows)


def _sources(calibrated: Calibrated) -> str:
    errors = _errors(calibrated, named=True)
    rows = []
    for source in sorted({run.left_out_as for run in calibrated.runs}):
        chosen = _rows(calibrated, lambda run, source=source: run.left_out_as == source)  # type: ignore[misc]
        found = _score(calibrated, chosen, errors)
        publisher, _, family = source.rpartition("|")
        rows.append(
            [
                publisher,
                family,
                str(found.rows),
                _tenths(found.median_error),
                _tenths(found.p90_error),
                f"{np.mean(errors[chosen]):+.3f}",
            ]
        )
    header = ("source", "software", "rows", "median", "P90", "mean ln(measured/predicted)")
    return "\n## By source, each left out\n\n" + _table(header, rows)


def _worst(calibrated: Calibrated, *, shown: int = 12) -> str:
    found = [
        (abs(float(error)), run.id, float(error))
        for run, error in zip(calibrated.runs, _errors(calibrated, named=True), strict=True)
    ]
    rows = [[name, f"{error:+.3f}"] for _, name, error in sorted(found, reverse=True)[:shown]]
    return "\n## Farthest from what was measured\n\n" + _table(("run", "ln(measured/predicted)"), rows)


def _skipped(skipped: Sequence[NotExpressed]) -> str:
    counted = Counter(entry.reason for entry in skipped)
    rows = [[reason, str(count)] for reason, count in sorted(counted.items())]
    return "\n## Not expressed\n\n" + _table(("reason", "rows"), rows)


def _columns() -> str:
    return _COLUMNS.format(columns=", ".join(f"`{name}`" for name in REQUIRED)) + _MEMORY.format(margins=_margins())


def _margins() -> str:
    """Return how wide the shipped residuals of memory are, and what a plan multiplies by where it is to fit."""
    rows = []
    for (software, count), band in load_residuals().items():
        ratio = np.exp(band.p90 - band.p10)
        fits = f"{np.exp(band.at(_FITS)):.2f} times what is predicted" if count == KNOWN else ""
        rows.append([software, count, f"{ratio:.2f}", fits])
    header = ("software's states", "what the peak counts", "P90/P10", f"fits with {percent(_FITS)} at")
    return _table(header, rows).rstrip()
