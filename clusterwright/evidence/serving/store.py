"""The shipped calibration of serving: factors, bands and what they were fitted on, as tables of the catalogue."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterwright import assets
from clusterwright.errors import ClusterwrightError
from clusterwright.evidence.serving.fitting import Fitted, Level
from clusterwright.evidence.serving.measurements import Measurement

FACTORS, BANDS, PAIRS = "serving_factors.csv", "serving_bands.csv", "serving_pairs.csv"
FACTOR_COLUMNS = ("kind", "level", "factor", "value", "unit", "rows", "source", "date")
BAND_COLUMNS = ("level", "metric", "p10", "p90", "unit", "rows", "source", "date")
PAIR_COLUMNS = ("model", "accelerator", "rows", "source", "date")
KNOWN_PAIR, UNSEEN_PAIR, UNSEEN_HARDWARE, UNSEEN_MODEL, BOTH_UNSEEN = LEVELS = (
    "known pair", "unseen pair", "unseen hardware", "unseen model", "both unseen",
)  # fmt: skip
#: Text that no row of the calibration has, such as an unknown framework, makes a band this much wider in ln.
VAGUE_WIDENING = 1.25
#: Ways to speculate that rows of the calibration have: none, and heads of the model that predict several tokens.
_SPECULATION = ("", "mtp")
_FACTOR_DIGITS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """Fitted factors, bands by level and metric (ln measured over predicted), and what they were fitted on."""

    fitted: Fitted
    bands: Mapping[tuple[str, str], tuple[float, float]]
    pairs: frozenset[tuple[str, str]]
    models: frozenset[str]
    accelerators: frozenset[str]

    def level_of(self, row: Measurement) -> str:
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

    def band_of(self, row: Measurement, level: str, metric: str) -> tuple[float, float]:
        """Return P10 and P90 of ln(measured/predicted) of a row at its level."""
        low, high = self.bands[level, metric]
        vague = (
            not row.framework
            or not row.precision
            or ("framework", row.framework) not in self.fitted.rows
            or row.speculative not in _SPECULATION
        )
        return (low * VAGUE_WIDENING, high * VAGUE_WIDENING) if vague else (low, high)


def load_calibration(folder: Path | None = None) -> Calibration:
    """Return the shipped calibration, or that of a folder.

    Raises:
        ClusterwrightError: a table is missing or broken.
    """
    folder = folder or assets.root() / "catalog"
    try:
        factors, bands, pairs = (_rows(folder / name) for name in (FACTORS, BANDS, PAIRS))
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
        return Calibration(
            fitted=Fitted(shared=shared, added=added, rows=rows),
            bands={(row["level"], row["metric"]): (float(row["p10"]), float(row["p90"])) for row in bands},
            pairs=frozenset((row["model"], row["accelerator"]) for row in pairs),
            models=frozenset(row["model"] for row in pairs),
            accelerators=frozenset(row["accelerator"] for row in pairs),
        )
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(
            f"{folder}: the calibration of serving is broken: {error}", help="install again"
        ) from None


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(
    folder: Path,
    fitted: Fitted,
    bands: Mapping[tuple[str, str], tuple[float, float, int]],
    pairs: Mapping[tuple[str, str], int],
    *,
    source: str,
    date: str,
    rows: int,
) -> list[Path]:
    """Write a calibration as tables; return their paths."""
    factors: list[tuple[str, ...]] = [
        ("all", "all", name, f"{value:.{_FACTOR_DIGITS}f}", "ln", str(rows), source, date)
        for name, value in fitted.shared.items()
    ]
    factors += [
        (level[0], level[1], name, f"{value:.{_FACTOR_DIGITS}f}", "ln", str(fitted.rows[level]), source, date)
        for level, values in sorted(fitted.added.items())
        for name, value in values.items()
        if abs(value) >= 10**-_FACTOR_DIGITS
    ]
    tables: dict[str, tuple[tuple[str, ...], Sequence[tuple[str, ...]]]] = {
        FACTORS: (FACTOR_COLUMNS, factors),
        BANDS: (
            BAND_COLUMNS,
            [
                (level, metric, f"{low:.4f}", f"{high:.4f}", "ln", str(count), source, date)
                for (level, metric), (low, high, count) in bands.items()
            ],
        ),
        PAIRS: (
            PAIR_COLUMNS,
            [(model, hardware, str(count), source, date) for (model, hardware), count in sorted(pairs.items())],
        ),
    }
    written = []
    for name, (header, lines) in tables.items():
        path = folder / name
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(lines)
        written.append(path)
    return written
