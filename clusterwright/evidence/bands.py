"""Bands of predictions: what left-out rows are off by, by level, metric and kind of configuration.

Rows of a pair, an accelerator or a model err together, so that the quantiles of those that were left out are too narrow
for the next one. Each group of rows is therefore compared with the band that the other groups give, and all bands of a
kind are widened until four fifths of such rows lie inside (cross-conformal prediction: Vovk 2015, Cross-conformal
predictors, section 3, by groups).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt

from clusterwright.evidence.calibration_tables import Band
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving import calibration
from clusterwright.sizing.serving.calibration import EVERY_KIND
from clusterwright.units import percent

#: Levels that know more, whose bands must not be wider.
_PARENTS = {
    calibration.UNSEEN_PAIR: (calibration.KNOWN_PAIR,),
    calibration.UNSEEN_HARDWARE: (calibration.UNSEEN_PAIR,),
    calibration.UNSEEN_MODEL: (calibration.UNSEEN_PAIR,),
    calibration.BOTH_UNSEEN: (calibration.UNSEEN_HARDWARE, calibration.UNSEEN_MODEL),
}
#: By how much a band of a level that knows less is wider at least, in ln.
_WIDER = 0.01
#: Rows of a kind at which half of what they show is believed, the other half being that of all kinds.
_HALF_BELIEVED = 15.0
_FEWEST_ROWS = 5
_FOLDS = 16
_INSIDE = 0.8
#: By how much bands are narrowed or widened at most; the few groups that some metrics have show less.
_NARROWEST, _WIDEST, _WIDEST_OF_FEW = 0.9, 2.0, 1.5
_FEW_GROUPS = 8
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """What is left of measurements at one level: ln(measured/predicted) by metric, NaN where nothing was measured.

    Attributes:
        kinds: of configurations; groups: of rows that err together.
    """

    residuals: Mapping[str, Array]
    kinds: Sequence[str]
    groups: Sequence[str]


def bands_of(levels: Mapping[str, LeftOut]) -> dict[tuple[str, str, str], Band]:
    """Return P10, P90 and rows by level, kind and metric; a level that knows less has a wider band."""
    found: dict[tuple[str, str, str], Band] = {}
    for level, left in levels.items():
        for metric in left.residuals:
            for kind, (low, high, count) in _of_metric(left, metric)[0].items():
                places = [(parent, kind, metric) for parent in _PARENTS.get(level, ())]
                parents = [found[place] for place in places if place in found]
                found[level, kind, metric] = (*_at_least((low, high), parents), count)
    return found


def inside(left: LeftOut) -> dict[str, Array]:
    """Return by metric whether each row lies in the band that other groups gave: 1, 0, or NaN where none was."""
    found = {}
    for metric in left.residuals:
        _, distance = _of_metric(left, metric)
        found[metric] = np.where(np.isfinite(distance), (distance <= 1.0).astype(float), np.nan)
    return found


def _of_metric(left: LeftOut, metric: str) -> tuple[dict[str, Band], Array]:
    """Return the bands by kind, and each row's distance from the middle of its group's, in half widths."""
    residuals, kinds = left.residuals[metric], np.array(left.kinds)
    fold = np.array([crc32(group.encode()) % _FOLDS for group in left.groups])
    distance = np.full(len(residuals), np.nan)
    for judged in range(_FOLDS):
        rest = _quantiles_by_kind(np.where(fold == judged, np.nan, residuals), kinds)
        if EVERY_KIND not in rest:
            continue
        for kind in np.unique(kinds[fold == judged]):
            low, high, _ = rest.get(str(kind), rest[EVERY_KIND])
            chosen = (fold == judged) & (kinds == kind)
            distance[chosen] = np.abs(residuals[chosen] - (low + high) / 2) / ((high - low) / 2)
    bands = _quantiles_by_kind(residuals, kinds)
    measured = {group for group, one in zip(left.groups, residuals, strict=True) if np.isfinite(one)}
    wider = _widenings(distance, kinds, widest=_WIDEST if len(measured) >= _FEW_GROUPS else _WIDEST_OF_FEW)
    for kind, (low, high, count) in bands.items():
        half = (high - low) / 2 * wider.get(kind, wider.get(EVERY_KIND, 1.0))
        bands[kind] = ((low + high) / 2 - half, (low + high) / 2 + half, count)
    by_row = np.array([wider.get(str(kind), wider.get(EVERY_KIND, 1.0)) for kind in kinds])
    return bands, distance / by_row


def _widenings(distance: Array, kinds: Array, *, widest: float) -> dict[str, float]:
    """Return by kind by how much bands are widened so that four fifths of held-out rows are inside, shrunk to all's."""
    measured = np.isfinite(distance)
    if not measured.any():
        return {}
    every = float(np.clip(np.quantile(distance[measured], _INSIDE), _NARROWEST, widest))
    found = {EVERY_KIND: every}
    for kind in np.unique(kinds[measured]):
        own = distance[measured & (kinds == kind)]
        share = len(own) / (len(own) + 2 * _HALF_BELIEVED)
        shown = float(np.clip(np.quantile(own, _INSIDE), _NARROWEST, widest))
        found[str(kind)] = float(shown**share * every ** (1.0 - share))
    return found


def _quantiles_by_kind(residuals: Array, kinds: Array) -> dict[str, Band]:
    """Return P10, P90 and rows of all kinds and of each with rows enough, shrunk to those of all."""
    known = np.isfinite(residuals)
    if known.sum() < _FEWEST_ROWS:
        return {}
    every = _quantiles(residuals[known])
    found: dict[str, Band] = {EVERY_KIND: (*every, int(known.sum()))}
    for kind in np.unique(kinds[known]):
        own = residuals[known & (kinds == kind)]
        if len(own) >= _FEWEST_ROWS:
            share = len(own) / (len(own) + _HALF_BELIEVED)
            low, high = (share * one + (1.0 - share) * other for one, other in zip(_quantiles(own), every, strict=True))
            found[str(kind)] = (low, high, len(own))
    return found


def _quantiles(residuals: Array) -> tuple[float, float]:
    return float(np.quantile(residuals, 0.1)), float(np.quantile(residuals, 0.9))


def _at_least(band: tuple[float, float], parents: Sequence[Band]) -> tuple[float, float]:
    """Return a band widened on both sides until it is wider than those of levels that know more."""
    low, high = band
    lacking = max((parent[1] - parent[0] + _WIDER - (high - low) for parent in parents), default=0.0)
    return low - max(lacking, 0.0) / 2, high + max(lacking, 0.0) / 2


def error_table(residuals: Mapping[str, Mapping[str, Array]], levels: Sequence[str], chosen: Flags) -> list[str]:
    """Return the errors of left-out rows as a table: medians by level and metric, rows behind them."""
    metrics = tuple(next(iter(residuals.values())))
    lines = ["| level | " + " | ".join(metrics) + " |", "|---" * (len(metrics) + 1) + "|"]
    for level in levels:
        by_metric, cells = residuals[level], []
        for metric in metrics:
            left = by_metric[metric][chosen & np.isfinite(by_metric[metric])]
            cells.append(
                f"{percent(float(np.median(np.abs(np.expm1(-left)))), digits=1)} ({len(left)})" if len(left) else "-"
            )
        lines.append(f"| {level} | " + " | ".join(cells) + " |")
    return lines
