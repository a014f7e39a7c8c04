"""The page `docs/accuracy.md`: how far predictions are from published runs, from the calibration's own figures."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from clusterwright.evidence.rows import REQUIRED, NotExpressed
from clusterwright.evidence.training.fitting import DEFAULT
from clusterwright.evidence.training.learning import Calibrated
from clusterwright.evidence.training.runs import Run
from clusterwright.evidence.training.validate import Score, score, share_in_bands_of_others
from clusterwright.sizing.columns import Array
from clusterwright.sizing.hardware.calibration import DENSE, EXPERTS, band_name
from clusterwright.units import percent

_tenths = partial(percent, digits=1)
_HEAD = """# How accurate the training engine is

Written by `python -m clusterwright.evidence.training.calibrate RUNS.csv`; do not edit by hand.

Every prediction below is out of sample: all runs of one group (model, accelerator, precision) are predicted with
numbers and effects fitted on the other groups alone. Errors are of tokens per second per GPU,
|predicted/measured - 1|, since "TFLOP/s per GPU" is counted in three incompatible ways by the sources. The baseline is
a constant MFU per accelerator, precision, and dense or mixture of experts (the median of the other groups'), which
published planners do not clearly beat.

Two things are judged. A *run* names its software release, and what other groups show of that release is used; this is
what `validate` does. A *plan* does not know its software: the same predictions without anything learnt of that. The
band (P10 to P90 of ln(measured/predicted)) is given for both, by kind of model and accelerator generation; plans print
the wider one. "In band" counts the rows inside the band that the errors of other groups give; 80 % would be ideal.
`default` is what a generation takes that was never measured, or in fewer than five groups, judged by leaving whole
generations out (its baseline leaves out groups only: a constant MFU has nothing to say about an accelerator that was
never measured).

The same layout republished in another software release differs by 5.5 % in the median and 30 % at the 90th percentile,
so that a median error below about 5 % across sources means little.
"""

_MODEL = """
## How a prediction is made

1. Seconds of a step from the layout: multiplications with an efficiency that grows with rows and width, attention,
   memory-bound work, experts with grouped multiplications and all-to-all, traffic by link, pipeline bubble, optimizer.
   The numbers are fitted per stack (`megatron`: tensor, pipeline, expert and data parallelism; `fsdp`: sharding without
   a pipeline) on all its runs, then per accelerator generation close to the stack's.
2. Effects on top, shrunk towards zero the fewer runs show them: of the accelerator and its precision, the architecture
   and (for runs whose release is named) the software, its release, and what each quarter added to software that is
   released by year and month. A release that was never measured is as the newest before it. A plan takes the effects
   of its accelerator, precision and architecture, and the median over releases.
3. Numbers and effects are found together: ln(tokens per second) is linearised in the numbers, and both are the best
   linear unbiased prediction under normal priors, with Student's t noise so that odd runs count less. An open choice
   of a published run (recomputation, micro-batch, chunks) is the fastest that fits with sparing use of memory.
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

`validate training` predicts every published peak as its source counts it (tensors, with the allocator's reserve, or all
that the driver shows) with what is known of the run's software (`catalog/calibration_software.csv`: copies of the
states, scores that attention keeps, bytes of a logit), and says how likely the layout is to fit. It prints under
`memory` the error of the peaks, how many layouts that ran have a chance below 5 % (`ran_refused`) and how many that ran
out of memory one below 50 % (`oom_refused`), and the Brier score of these chances; rows without throughput count here
alone. `--predictions OUT.csv` writes each prediction with P10, P90 and the chance to fit. The residuals behind the
chances are those of 121 published peaks of 14 sources; with whole sources left out, the error is 8.8 % in the median
and 22.6 % at P90, 92 % of the peaks are inside the band that promises 80 %, one of 780 layouts that ran is refused, and
neither of two that ran out of memory (`python -m clusterwright.evidence.training.measured_memory RUNS.csv...`). Plans
keep the standard states and take no margin from these residuals yet.
"""


_LIMITS = """
## What to trust, and what not

- The larger errors are of software, not of layouts: DeepSeek-V3 on 256 GB200 in bf16 ran at 958 tokens/s per GPU in
  one recipe and at 3,139 in a later one, Qwen3 30B on 16 H100 at 5,113 in NeMo 26.02 and at 9,058 in 26.02.01. No
  formula meets both. Much of the P90 of mixtures of experts is made of such runs.
- "P90 within one software release" is that of the rows `run of a release that other groups show`. A release that was
  left out is told by the others of its software only.
- The deviations of effects, of priors and of the noise were chosen by leaving groups out of the same file, among about
  600 combinations that were searched automatically and 45 that were tried by hand, most of which differ by less than a
  tenth of the error. What is printed here leaves each group out of the numbers and the effects, but not out of that
  choice, so that it is a little too good. Nearly every combination gave 4.2 to 5 % in
  the median of dense models and 6.5 to 8 % of mixtures of experts.
- Among combinations that were alike there, some were put aside because the shipped plan, the table of Korthikanti et
  al. 2022 or the [independent runs](independent.md) came out worse. None of these was fitted to, but none is wholly
  unseen.
- The eight runs of that table are met within 3.5 % on average with their own groups in the file, within 6.9 % without.
- Tried and left out, since they did not predict groups better that were left out: attention slower for narrow heads
  (three strengths), bandwidth and latency inside the scale-up domain and the overlap of pipeline transfers as fitted
  numbers, effects of the recipe, of like runs, of the accelerator alone, of architecture by release and by precision.
  What helped most: numbers and effects found together, candidates that fit only with sparing use of memory, and effects
  of software beside those of its release.
- Mixtures of experts on Blackwell move fast: Qwen3 30B on GB200 went from 23,766 to 40,706 tokens/s per GPU between
  NeMo 25.11 and 26.06. A plan does not know the release and assumes the average of those published.
- Blackwell mixes untuned bf16 runs of shortened models on one node and tuned fp8 runs; fewer dense rows lie inside the
  band of its plans than should.
- TPUs are known from five runs of four models whose batch and layout are not stated: a rough figure, with the default
  band. The other runs on TPUs state neither widths nor tokens per second.
- ZeRO-3 as DeepSpeed ran it in 2021 on 1,536 A100 took nearly twice as long as predicted even with its release known.
- Memory is judged on 34 runs of three models on two accelerators, within 3 % in the median. "No false out-of-memory"
  takes into account the choices that sources leave open (gradients and moments in bf16, offloaded or eight-bit
  activations, full sharding where none is stated); plans assume none of them.
"""


def document(calibrated: Calibrated, skipped: Sequence[NotExpressed]) -> str:
    """Return the page in Markdown.

    Args:
        calibrated: what was learnt and how it was judged.
        skipped: rows that are not predicted.
    """
    parts = [
        _HEAD, _kinds(calibrated), _bands(calibrated), _LIMITS, _MODEL, _effects(calibrated), _accelerators(calibrated),
        _releases(calibrated), _worst(calibrated), _skipped(skipped), _columns(),
    ]  # fmt: skip
    return "\n".join(parts)


def summary(calibrated: Calibrated) -> list[str]:
    """Return the errors by kind of model in a line each."""
    lines = []
    for kind in (DENSE, EXPERTS):
        rows = _rows(calibrated, lambda run, kind=kind: run.kind == kind)  # type: ignore[misc]
        if rows:
            engine = _score(calibrated, rows, calibrated.held_out.release_known)
            plain = _score(calibrated, rows, calibrated.baseline_errors)
            lines.append(
                f"{kind}: {engine.rows} runs left out group by group, median error {_tenths(engine.median_error)} "
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


def _score_cells(calibrated: Calibrated, rows: Sequence[int], errors: Array) -> list[str]:
    engine, plain = _score(calibrated, rows, errors), _score(calibrated, rows, calibrated.baseline_errors)
    return [
        str(engine.rows), str(engine.groups), _tenths(engine.median_error), _tenths(engine.p90_error),
        _tenths(engine.mean_error), _tenths(plain.median_error), _tenths(plain.p90_error),
    ]  # fmt: skip


_SCORE_HEADER = ("rows", "groups", "median", "P90", "mean", "baseline median", "baseline P90")


def _kinds(calibrated: Calibrated) -> str:
    """Return the errors by kind of model in each situation that a job can be in."""
    known = calibrated.held_out.release_known
    others: dict[str, set[str]] = {}
    for run in calibrated.runs:
        others.setdefault(run.software, set()).add(run.group)
    situations: tuple[tuple[str, Array, Callable[[Run], bool]], ...] = (
        ("run", known, lambda _: True),
        ("run of a release that other groups show", known, lambda run: len(others[run.software]) > 1),
        ("run of a release that was left out too", calibrated.unseen_release.release_known, lambda _: True),
        ("plan", _about_median(calibrated), lambda _: True),
    )
    table = []
    for told, errors, chosen in situations:
        for kinds in ((DENSE, EXPERTS), (DENSE,), (EXPERTS,)):
            rows = _rows(calibrated, lambda run, kinds=kinds, chosen=chosen: run.kind in kinds and chosen(run))  # type: ignore[misc]
            if rows:
                name = "all" if len(kinds) > 1 else kinds[0]
                table.append([told, name, *_score_cells(calibrated, rows, errors)])
    return "\n## By kind of model\n\n" + _table(("what is predicted", "kind", *_SCORE_HEADER), table)


def _about_median(calibrated: Calibrated) -> Array:
    """Return the errors of plans, which predict the median of their band."""
    errors = calibrated.held_out.release_unknown
    bands = calibrated.plan_bands
    medians = []
    for run in calibrated.runs:
        names = (band_name(run.kind, run.stack), run.kind)
        keys = [(generation, name) for generation in (run.generation, DEFAULT) for name in names]
        medians.append(next(bands[key].p50 for key in keys if key in bands))
    return np.asarray(errors - np.array(medians))


def _bands(calibrated: Calibrated) -> str:
    table = []
    for told, bands, errors, unseen in (
        ("run", calibrated.run_bands, calibrated.held_out.release_known, calibrated.unseen_generation.release_known),
        (
            "plan", calibrated.plan_bands, calibrated.held_out.release_unknown,
            calibrated.unseen_generation.release_unknown,
        ),
    ):  # fmt: skip
        for (generation, kind), band in sorted(bands.items()):
            rows = _rows(
                calibrated,
                lambda run, generation=generation, kind=kind: (  # type: ignore[misc]
                    kind in (run.kind, band_name(run.kind, run.stack)) and generation in (DEFAULT, run.generation)
                ),
            )
            held = unseen if generation == DEFAULT else errors
            inside = share_in_bands_of_others([calibrated.runs[index] for index in rows], held[rows])
            table.append(
                [
                    told, generation, kind, *_score_cells(calibrated, rows, held - band.p50),
                    " to ".join(_tenths(np.expm1(end - band.p50), signed=True) for end in (band.p10, band.p90)),
                    percent(inside),
                ]
            )  # fmt: skip
    header = ("what", "generation", "kind", *_SCORE_HEADER, "band about the median", "in band")
    return "\n## By generation, with the band\n\n" + _table(header, table)


def _effects(calibrated: Calibrated) -> str:
    effects = calibrated.learnt.effects
    rows = [[kind.replace("_", " "), f"{value:.3f}"] for kind, value in sorted(effects.deviations.items())]
    rows.append(["one run", f"{effects.noise:.3f}"])
    return "\n" + _table(("effect", "standard deviation (ln)"), rows)


def _accelerators(calibrated: Calibrated) -> str:
    rows = []
    for key in sorted({(run.gpu, run.precision, run.kind) for run in calibrated.runs}):
        chosen = _rows(calibrated, lambda run, key=key: (run.gpu, run.precision, run.kind) == key)  # type: ignore[misc]
        rows.append([*key, *_score_cells(calibrated, chosen, calibrated.held_out.release_known)])
    header = ("accelerator", "precision", "kind", *_SCORE_HEADER)
    return "\n## By accelerator and precision\n\n" + _table(header, rows)


def _releases(calibrated: Calibrated) -> str:
    errors: dict[tuple[str, str], list[float]] = {}
    for run, error in zip(calibrated.runs, calibrated.held_out.release_known, strict=True):
        errors.setdefault((run.software, run.kind), []).append(float(error))
    rows = [
        [
            *key,
            str(len(values)),
            _tenths(_error(values, 0.5)),
            _tenths(_error(values, 0.9)),
            f"{np.mean(values):+.3f}",
        ]
        for key, values in sorted(errors.items())
    ]
    header = ("software", "kind", "rows", "median", "P90", "mean ln(measured/predicted)")
    return "\n## By software release\n\n" + _table(header, rows)


def _error(values: Sequence[float], quantile: float) -> float:
    shares: Array = np.abs(np.expm1(-np.array(values)))
    return float(np.quantile(shares, quantile))


def _worst(calibrated: Calibrated, *, shown: int = 12) -> str:
    found = [
        (abs(float(error)), run.id, float(error))
        for run, error in zip(calibrated.runs, calibrated.held_out.release_known, strict=True)
    ]
    rows = [[name, f"{error:+.3f}"] for _, name, error in sorted(found, reverse=True)[:shown]]
    return "\n## Farthest from what was measured\n\n" + _table(("run", "ln(measured/predicted)"), rows)


def _skipped(skipped: Sequence[NotExpressed]) -> str:
    counted = Counter(entry.reason for entry in skipped)
    rows = [[reason, str(count)] for reason, count in sorted(counted.items())]
    return "\n## Not expressed\n\n" + _table(("reason", "rows"), rows)


def _columns() -> str:
    return _COLUMNS.format(columns=", ".join(f"`{name}`" for name in REQUIRED)) + _MEMORY
