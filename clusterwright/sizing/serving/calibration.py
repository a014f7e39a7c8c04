"""The shipped calibration of serving: what corrects the formulas, how far off they are, and what it was fitted on.

A factor of a configuration is the global one plus what each of its levels (accelerator, framework, format and others)
adds to its logarithm.
"""

import csv
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from clusterwright import assets
from clusterwright.catalog.records import Accelerator
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.columns import Array
from clusterwright.sizing.hardware.calibration import FOLDER_VARIABLE
from clusterwright.sizing.serving.columns import Factors
from clusterwright.sizing.serving.configuration import Configuration, format_of
from clusterwright.workload.inference import NamedModel

THROUGHPUT, TPOT_MEDIAN, TTFT_MEDIAN, TTFT_MEAN, TTFT_P99, ENERGY = METRICS = (
    "throughput",
    "tpot_median",
    "ttft_median",
    "ttft_mean",
    "ttft_p99",
    "energy",
)
KNOWN_PAIR, UNSEEN_PAIR, UNSEEN_HARDWARE, UNSEEN_MODEL, BOTH_UNSEEN = LEVELS = (
    "known pair",
    "unseen pair",
    "unseen hardware",
    "unseen model",
    "both unseen",
)
#: Scales of what the formulas give, by the metrics that each multiplies.
SCALES = MappingProxyType(
    {
        "throughput_scale": (THROUGHPUT,),
        "tpot_scale": (TPOT_MEDIAN,),
        "ttft_scale": (TTFT_MEDIAN, TTFT_MEAN, TTFT_P99),
        "ttft_mean_scale": (TTFT_MEAN,),
        "ttft_p99_scale": (TTFT_P99,),
        "energy_scale": (ENERGY,),
    }
)
#: A model's own name says this much at most, so that a new name for the same model moves nothing far.
LARGEST_MODEL_EFFECT = 0.12
#: Levels that only a model's name tells, and the rows at which half of what they show is believed.
OF_MODEL = MappingProxyType({"model": 20.0, "model framework": 30.0})
#: Logarithms of factors and scales are kept under these names.
_NAMES = (*(field.name for field in fields(Factors)), *SCALES)
_CAPPED = MappingProxyType({"accepted_share": 0.9})
#: From this many requests on, schedulers are often set to look for new ones more seldom.
MANY_REQUESTS = 16
#: Beside the levels, what was left out to see how far off a configuration is that has it new, and the level that it
#: is compared with.
UNSEEN_GENERATION, UNSEEN_FRAMEWORK, UNSEEN_RELEASE = "unseen generation", "unseen framework", "unseen release"
COMPARED_WITH = MappingProxyType(
    {UNSEEN_GENERATION: UNSEEN_HARDWARE, UNSEEN_FRAMEWORK: KNOWN_PAIR, UNSEEN_RELEASE: KNOWN_PAIR}
)
#: The band of all kinds of configurations together.
EVERY_KIND = "all"
#: Text that no row of the calibration has, such as an unknown framework, makes a band this much wider in ln.
VAGUE_WIDENING = 1.25
#: Rows from which on a framework, or a pair of model and accelerator, counts as measured.
FEWEST_ROWS = 5
#: Ways to speculate that rows of the calibration have: none, and heads of the model that predict several tokens.
_SPECULATION = ("", "mtp")

Level = tuple[str, str]
_Kind = TypeVar("_Kind", bound="CalibratedPairs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """What the formulas are corrected by.

    Attributes:
        shared: ln of each factor over its default; added: by level and factor, ln.
        rows: measurements behind each level.
    """

    shared: Mapping[str, float]
    added: Mapping[Level, Mapping[str, float]]
    rows: Mapping[Level, int]


NOTHING_FITTED = Fitted(shared={}, added={}, rows={})


def levels_of(row: Configuration) -> tuple[Level, ...]:
    """Return the levels that a configuration belongs to."""
    accelerator = row.accelerator
    spoken = format_of(row)
    bits = "four" if spoken in ("nvfp4", "mxfp4", "fp4") else spoken
    model = row.model
    architecture = "latent" if model.latent else "linear" if model.linear else "experts" if model.routed else "dense"
    if model.sparse:
        architecture += " sparse"
    framework = row.framework
    found: list[Level] = [
        ("vendor", accelerator.vendor),
        ("generation", accelerator.generation),
        ("accelerator", accelerator.id),
        ("format", bits),
        ("generation format", f"{accelerator.generation}|{bits}"),
        ("architecture", architecture),
        ("model", model.name),
        ("pair", f"{model.name}|{accelerator.id}"),
    ]
    if row.release:
        found.append(("release", row.release))
    if framework:
        found += [
            ("framework", framework),
            ("generation framework", f"{accelerator.generation}|{framework}"),
            ("framework vendor", f"{framework}|{accelerator.vendor}"),
            ("framework load", f"{framework}|{'many' if row.concurrency >= MANY_REQUESTS else 'few'}"),
            ("framework format", f"{framework}|{bits}"),
            ("framework architecture", f"{framework}|{architecture}"),
            ("model framework", f"{model.name}|{framework}"),
        ]
    for name, applies in (
        ("disaggregated", row.disaggregated),
        ("sparse", model.sparse),
        ("speculative", bool(row.speculative)),
        ("data parallel", row.attention_tp == 1 and row.gpus_per_worker > 1),
    ):
        if applies:
            found.append((name, "yes"))
            if name == "speculative":
                found.append(("architecture speculative", architecture))
            if framework and name != "sparse":
                found.append((f"framework {name}", framework))
    found.append(("protocol", protocol_of(row)))
    return tuple(found)


def protocol_of(row: Configuration) -> str:
    """Return how a replica is loaded."""
    if row.scenario:
        return f"mlperf {row.scenario}"
    if row.static:
        return "static"
    return "closed loop" if np.isfinite(row.concurrency) else "as many as fit"


def seen_alike(row: Configuration) -> Hashable:
    """Return what levels, kind and texts of a configuration follow from: configurations that share it share these."""
    return (
        id(row.model),
        id(row.accelerator),
        row.framework,
        row.precision,
        row.speculative,
        row.release,
        row.scenario,
        row.static,
        row.prefill_workers > 0,
        row.attention_tp == 1 < row.gpus_per_worker,
        row.concurrency >= MANY_REQUESTS,
        row.concurrency == np.inf,
    )


def kind_of(row: Configuration) -> str:
    """Return the kind of a configuration that has a band of its own: how it is loaded, and what is served how."""
    parts = ["mlperf" if row.scenario else protocol_of(row), "experts" if row.model.routed else "dense"]
    parts += ["disaggregated"] * row.disaggregated + ["speculative"] * bool(row.speculative)
    return " ".join(parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Memberships:
    """Which of all levels each configuration belongs to: a row each, 1 where it does."""

    levels: tuple[Level, ...]
    members: npt.NDArray[np.float64]


def memberships(rows: Sequence[Configuration]) -> Memberships:
    """Return the levels of configurations."""
    return memberships_of([levels_of(row) for row in rows])


def memberships_of(by_row: Sequence[tuple[Level, ...]]) -> Memberships:
    """Return which of all levels each row belongs to, given those of each."""
    levels = tuple(dict.fromkeys(level for own in by_row for level in own))
    place = {level: index for index, level in enumerate(levels)}
    members = np.zeros((len(by_row), len(levels)))
    for index, own in enumerate(by_row):
        members[index, [place[level] for level in own]] = 1.0
    return Memberships(levels=levels, members=members)


def logarithms(belonging: Memberships, fitted: Fitted, *, names: Sequence[str] = _NAMES) -> dict[str, Array]:
    """Return ln of each row's factors and scales, by `names`, over their defaults."""
    own = np.array([level[0] in OF_MODEL for level in belonging.levels])
    found: dict[str, Array] = {}
    for name in names:
        values = np.array([fitted.added.get(level, {}).get(name, 0.0) for level in belonging.levels])
        total = belonging.members[:, ~own] @ values[~own] + fitted.shared.get(name, 0.0)
        named = belonging.members[:, own] @ values[own]
        found[name] = total + np.clip(named, -LARGEST_MODEL_EFFECT, LARGEST_MODEL_EFFECT)
    return found


def factors_of(given: Mapping[str, Array]) -> Factors:
    """Return the factors of the formulas whose logarithms over the defaults are given."""
    base = Factors()
    names = [field.name for field in fields(base) if field.name in given]
    changed = replace(base, **{name: getattr(base, name) * np.exp(given[name]) for name in names})
    return replace(changed, **{name: np.minimum(getattr(changed, name), most) for name, most in _CAPPED.items()})


def scale_of(given: Mapping[str, Array], metric: str) -> Array:
    """Return ln of what a metric is multiplied by beside the formulas' factors."""
    return np.asarray(sum(given[name] for name, scaled in SCALES.items() if metric in scaled))


class Paired(Protocol):
    """What has a model and an accelerator."""

    @property
    def model(self) -> NamedModel:
        """The model."""

    @property
    def accelerator(self) -> Accelerator:
        """The accelerator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibratedPairs:
    """Fitted factors, bands (ln measured over predicted), and what they were fitted on.

    Attributes:
        bands: by level and metric; kinds: by level, kind of configuration and metric.
    """

    fitted: Fitted
    bands: Mapping[tuple[str, str], tuple[float, float]]
    pairs: frozenset[tuple[str, str]]
    models: frozenset[str]
    accelerators: frozenset[str]
    kinds: Mapping[tuple[str, str, str], tuple[float, float]] = field(default_factory=dict)

    def level_of(self, row: Paired) -> str:
        """Return how much of a row's model and accelerator the calibration has seen."""
        if (row.model.name, row.accelerator.id) in self.pairs:
            return KNOWN_PAIR
        model = row.model.name in self.models
        hardware = row.accelerator.id in self.accelerators
        if model and hardware:
            return UNSEEN_PAIR
        if model:
            return UNSEEN_HARDWARE
        return UNSEEN_MODEL if hardware else BOTH_UNSEEN

    def band(self, level: str, metric: str, *, vague: bool) -> tuple[float, float]:
        """Return P10 and P90 of ln(measured/predicted) at a level, wider for a configuration that is `vague`."""
        low, high = self.bands[level, metric]
        return (low * VAGUE_WIDENING, high * VAGUE_WIDENING) if vague else (low, high)


class Calibration(CalibratedPairs):
    """The calibration of serving."""

    __slots__ = ()

    def band_of(self, row: Configuration, level: str, metric: str) -> tuple[float, float]:
        """Return P10 and P90 of ln(measured/predicted) of a row at its level."""
        low, high = self.kinds.get((level, kind_of(row), metric)) or self.bands[level, metric]
        wider = self._widening(self._unknown(row, level), metric)
        return low * wider, high * wider

    def knows_framework(self, framework: str) -> bool:
        """Tell whether measurements enough to say something of it are of a framework (`configuration.framework_of`)."""
        return self.fitted.rows.get(("framework", framework), 0) >= FEWEST_ROWS

    def _unknown(self, row: Configuration, level: str) -> tuple[str, ...]:
        """Return what of a configuration no row of the calibration has."""
        rows = self.fitted.rows
        generation = ("generation", row.accelerator.generation)
        new_generation = level in (UNSEEN_HARDWARE, BOTH_UNSEEN) and generation not in rows
        texts = (
            (UNSEEN_GENERATION, new_generation),
            (UNSEEN_FRAMEWORK, not self.knows_framework(row.framework)),
            (UNSEEN_RELEASE, bool(row.release) and ("release", row.release) not in rows),
            ("precision", not row.precision),
            ("speculation", row.speculative not in _SPECULATION),
            ("attention", row.model.unknown_attention),
        )
        return tuple(name for name, unknown in texts if unknown)

    def _widening(self, unknown: tuple[str, ...], metric: str) -> float:
        """Return how much wider a band is for what is unknown: of each what leaving such rows out showed, in squares.

        Errors of independent causes add in squares; of a cause that no rows show, a quarter is assumed.
        """
        more = 0.0
        for name in unknown:
            shown = self.bands.get((name, metric))
            compared = self.bands[COMPARED_WITH.get(name, KNOWN_PAIR), metric]
            ratio = (shown[1] - shown[0]) / (compared[1] - compared[0]) if shown else VAGUE_WIDENING
            more += max(ratio, 1.05 if name == UNSEEN_RELEASE else VAGUE_WIDENING) ** 2 - 1.0
        return float(np.sqrt(1.0 + more))


def load_calibration(folder: Path | None = None) -> Calibration:
    """Return the calibration.

    Args:
        folder: of its tables; if None, the one that CLUSTERWRIGHT_CALIBRATION names where it has them, else of the
            shipped ones.

    Raises:
        ClusterwrightError: a table is missing or broken.
    """
    if folder is None:
        own = os.environ.get(FOLDER_VARIABLE)
        calibrated = own is not None and (Path(own) / table_names("serving")[0]).exists()
        folder = Path(own) if own and calibrated else assets.root() / "catalog"
    return read_calibration(Calibration, folder, subject="serving")


def table_names(subject: str) -> tuple[str, str, str]:
    """Return the names of a calibration's tables: factors, bands, and the pairs that they were fitted on."""
    return f"{subject}_factors.csv", f"{subject}_bands.csv", f"{subject}_pairs.csv"


def read_calibration(kind: type[_Kind], folder: Path, *, subject: str) -> _Kind:
    """Return the calibration of a subject from the tables of a folder; errors as `load_calibration`."""
    try:
        factors, bands, pairs = (_rows(folder / name) for name in table_names(subject))
        shared: dict[str, float] = {}
        added: dict[Level, dict[str, float]] = {}
        rows: dict[Level, int] = {}
        for row in factors:
            if row["kind"] == "all":
                shared[row["factor"]] = float(row["value"])
            else:
                level = (row["kind"], row["level"])
                added.setdefault(level, {})[row["factor"]] = float(row["value"])
                rows[level] = int(row["rows"])
        return kind(
            fitted=Fitted(shared=shared, added=added, rows=rows),
            bands={
                (row["level"], row["metric"]): (float(row["p10"]), float(row["p90"]))
                for row in bands
                if row.get("kind", EVERY_KIND) == EVERY_KIND
            },
            kinds={
                (row["level"], row["kind"], row["metric"]): (float(row["p10"]), float(row["p90"]))
                for row in bands
                if row.get("kind", EVERY_KIND) != EVERY_KIND
            },
            pairs=frozenset((row["model"], row["accelerator"]) for row in pairs),
            models=frozenset(row["model"] for row in pairs),
            accelerators=frozenset(row["accelerator"] for row in pairs),
        )
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(
            f"{folder}: the calibration of {subject} is broken: {error}", help="install again"
        ) from None


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
