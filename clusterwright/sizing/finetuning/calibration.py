"""The shipped calibration of fine-tuning: what corrects the formulas, how far off they are, and samples to a target."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

from clusterwright import assets
from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.finetuning.columns import DEVICE, RESERVED, Factors
from clusterwright.sizing.finetuning.configuration import Columns, Configuration
from clusterwright.sizing.finetuning.memory import peak
from clusterwright.sizing.finetuning.throughput import minutes_to_target, tokens_per_s
from clusterwright.sizing.serving.calibration import UNSEEN_FRAMEWORK, CalibratedPairs, Level, read_calibration
from clusterwright.sizing.serving.calibration import Calibration as ServingCalibration

MEMORY, THROUGHPUT, TIME_TO_TRAIN = METRICS = ("memory", "throughput", "time_to_train")
#: Scales of what the formulas give, by the metric that each multiplies.
SCALES = MappingProxyType({"memory_scale": MEMORY, "throughput_scale": THROUGHPUT, "time_scale": TIME_TO_TRAIN})
NAMES = (*(field.name for field in fields(Factors)), *SCALES)
#: The benchmark whose samples to target are known.
BENCHMARK = "llama2_70b_lora"


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration(CalibratedPairs):
    """The calibration of fine-tuning.

    Attributes:
        serving: of the engine that generates answers, None where none are generated.
    """

    serving: ServingCalibration | None = None

    def band_of(self, row: Configuration, level: str, metric: str) -> tuple[float, float]:
        """Return P10 and P90 of ln(measured/predicted) of a run at its level, wider for an unknown framework."""
        if row.framework and ("framework", row.framework) in self.fitted.rows:
            return self.band(level, metric, vague=False)
        own, new = self.band(level, metric, vague=True), self.band(UNSEEN_FRAMEWORK, metric, vague=True)
        return min(own[0], new[0]), max(own[1], new[1])


def load_calibration(folder: Path | None = None) -> Calibration:
    """Return the shipped calibration, or that of a folder.

    Raises:
        ClusterwrightError: a table is missing or broken.
    """
    return read_calibration(Calibration, folder or assets.root() / "catalog", subject="finetuning")


def levels_of(row: Configuration) -> tuple[Level, ...]:
    """Return the levels that a configuration belongs to."""
    accelerator = row.accelerator
    found: list[Level] = [
        ("vendor", accelerator.vendor),
        ("generation", accelerator.generation),
        ("accelerator", accelerator.id),
        ("format", row.precision),
    ]
    return (*found, ("framework", row.framework)) if row.framework else tuple(found)


def factors_of(given: Mapping[str, Array]) -> Factors:
    """Return the factors whose logarithms over the defaults are given."""
    base = Factors()
    named = [field.name for field in fields(base) if field.name in given]
    return replace(base, **{name: getattr(base, name) * np.exp(given[name]) for name in named})


def formulas(columns: Columns, given: Mapping[str, Array], *, samples: Values) -> dict[str, Array]:
    """Return ln of every metric; NaN where a run has none: bytes in GB, tokens per second and accelerator, minutes.

    Args:
        columns: configurations.
        given: logarithms of factors and scales.
        samples: to target.
    """
    factors = factors_of(given)
    task = columns.task
    held = peak(columns.model, task, factors)
    counted = np.asarray(task.memory_counted)
    memory = (
        np.select([counted == RESERVED, counted == DEVICE], [held.reserved(), held.on_device()], held.total()) / 1e9
    )
    rate = tokens_per_s(columns.model, columns.device, task, factors)
    trained = np.asarray(task.inference) == 0
    rate = np.where(trained, rate, np.nan) * np.exp(given["throughput_scale"])
    minutes = minutes_to_target(samples, samples_per_s=rate * task.gpus / (np.asarray(task.tokens) * task.filled))
    return {
        MEMORY: np.log(memory) + given["memory_scale"],
        THROUGHPUT: np.log(rate),
        TIME_TO_TRAIN: np.log(minutes) + given["time_scale"],
    }


@cache
def _samples() -> dict[str, tuple[tuple[float, float], ...]]:
    found: dict[str, list[tuple[float, float]]] = {}
    with (assets.root() / "catalog" / "finetuning_samples.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["benchmark"], []).append((float(row["global_batch"]), float(row["samples_to_target"])))
    return {benchmark: tuple(sorted(points)) for benchmark, points in found.items()}


def samples_to_target(batches_of_runs: Sequence[float], *, benchmark: str = BENCHMARK) -> Array:
    """Return the samples that a benchmark takes to its target, evaluations counted as the samples of their time.

    Between the batches of the table the logarithm of the samples is linear in that of the batch; beyond them it keeps
    the slope of the nearest two.
    """
    batches, samples = (np.log(column) for column in zip(*_samples()[benchmark], strict=True))
    wanted = np.log(np.maximum(batches_of_runs, 1.0))
    slopes = np.diff(samples) / np.diff(batches)
    found = np.interp(wanted, batches, samples)
    found += np.where(wanted > batches[-1], slopes[-1] * (wanted - batches[-1]), 0.0)
    found += np.where(wanted < batches[0], slopes[0] * (wanted - batches[0]), 0.0)
    return np.asarray(np.exp(found))
