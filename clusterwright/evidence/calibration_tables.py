"""Writing a calibration as tables of the catalogue; `sizing.serving.calibration` reads them."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from clusterwright.sizing.serving.calibration import EVERY_KIND, Fitted, table_names

FACTOR_COLUMNS = ("kind", "level", "factor", "value", "unit", "rows", "source", "date")
BAND_COLUMNS = ("level", "kind", "metric", "p10", "p90", "unit", "rows", "source", "date")
PAIR_COLUMNS = ("model", "accelerator", "rows", "source", "date")
_FACTOR_DIGITS = 4
_LEVEL_AND_METRIC = 2
#: The factor of a level that adds to none, and is kept for being known.
_NO_FACTOR = "none"
#: P10, P90 and the rows behind them.
Band = tuple[float, float, int]


def write(
    folder: Path,
    subject: str,
    fitted: Fitted,
    bands: Mapping[tuple[str, str], Band] | Mapping[tuple[str, str, str], Band],
    pairs: Mapping[tuple[str, str], int],
    *,
    source: str,
    date: str,
    rows: int,
) -> list[Path]:
    """Write a calibration as tables; return their paths.

    Args:
        folder: to write into.
        subject: the first word of the tables' names.
        fitted: factors.
        bands: P10 and P90 of ln(measured/predicted) and rows, by level and metric, or by level, kind of configuration
            and metric.
        pairs: rows by model and accelerator.
        source: files that were fitted to.
        date: of the fit.
        rows: that were fitted to.
    """
    factor_table, band_table, pair_table = table_names(subject)
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
    factors += [
        (level[0], level[1], _NO_FACTOR, "0", "ln", str(count), source, date)
        for level, count in sorted(fitted.rows.items())
        if level not in fitted.added and level[0] != "pair"
    ]
    tables: dict[str, tuple[tuple[str, ...], Sequence[tuple[str, ...]]]] = {
        factor_table: (FACTOR_COLUMNS, factors),
        band_table: (
            BAND_COLUMNS,
            [
                (
                    *(place if len(place) > _LEVEL_AND_METRIC else (place[0], EVERY_KIND, place[1])),
                    *(f"{low:.4f}", f"{high:.4f}", "ln", str(count), source, date),
                )
                for place, (low, high, count) in bands.items()
            ],
        ),
        pair_table: (
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
