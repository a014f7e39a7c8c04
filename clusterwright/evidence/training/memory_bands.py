"""Bands of predicted memory, from what is left of the peaks of publishers that are left out.

The band is made of the quantiles of ln(measured/predicted), by whether the software and what a peak counts are known.
A new publisher lies farther from the others than they from one another, so that the tails beyond the ends are thinner
than a tenth: the widest at which publishers that are left out hold what the band promises.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clusterwright import assets
from clusterwright.errors import EXIT_BAD_INPUT, EXIT_FINE, ClusterwrightError
from clusterwright.evidence.training import validate
from clusterwright.evidence.training.measured_memory import MemoryPrediction, figures, predict, raw_errors
from clusterwright.evidence.training.runs import UNKNOWN as NOT_STATED
from clusterwright.evidence.training.runs import Run, read_measurements
from clusterwright.sizing.columns import Array
from clusterwright.sizing.hardware.residuals import Residuals
from clusterwright.sizing.training.memory_margin import KNOWN, UNKNOWN, load_residuals, software_class

COLUMNS = ("software", "count", "p10", "p50", "p90", "rows", "publishers", "from")
#: Share of peaks that a band promises to hold.
PROMISED = 0.8
#: Share of the residuals beyond each end that is tried, the largest first.
TAILS = tuple(float(tail) for tail in np.arange(0.1, 0.0299, -0.0025))


@dataclass(frozen=True, kw_only=True, slots=True)
class Peaks:
    """Residuals of peaks of which as much is known.

    Attributes:
        errors: ln(measured/predicted).
        publishers: of each peak.
    """

    errors: Array
    publishers: Array

    def of(self, chosen: Array) -> "Peaks":
        """Return some of the peaks."""
        return Peaks(errors=self.errors[chosen], publishers=self.publishers[chosen])

    @property
    def weights(self) -> Array:
        """Return the weight of each peak: a publisher weighs as the square root of its rows."""
        rows = Counter(self.publishers.tolist())
        return np.array([rows[publisher] ** -0.5 for publisher in self.publishers.tolist()])

    def quantiles(self, tail: float) -> Residuals:
        """Return the ends that leave a tail on each side, and the median."""
        p10, p50, p90 = (
            validate.weighted_quantile(self.errors, self.weights, quantile) for quantile in (tail, 0.5, 1 - tail)
        )
        return Residuals(p10=p10, p50=p50, p90=p90, rows=self.errors.size)

    def share_held(self, tail: float) -> float:
        """Return the weighted share of peaks inside the band of all other publishers."""
        inside = np.zeros(self.errors.size)
        for publisher in set(self.publishers.tolist()):
            out = self.publishers == publisher
            if out.all():
                return 0.0
            ends = self.of(~out).quantiles(tail)
            inside[out] = (self.errors[out] >= ends.p10) & (self.errors[out] <= ends.p90)
        return float(np.average(inside, weights=self.weights))


def publisher_of(run: Run) -> str:
    """Return who published a run: what is left out as a whole, whatever its software."""
    return run.publisher or run.source


def peaks_of(runs: Sequence[Run]) -> dict[tuple[str, str], Peaks]:
    """Return the residuals of published peaks by `KNOWN` and `UNKNOWN` software and count.

    Those of unknown software are of all runs, each predicted as if nothing were known of its software; those of an
    unknown count are of the same runs, each predicted as if its source did not say what it counts.
    """
    published = [run for run in runs if run.memory_bytes is not None]
    some = {
        KNOWN: [run for run in published if software_class(run.known) == KNOWN],
        UNKNOWN: [replace(run, known=None) for run in published],
    }
    found = {}
    for name, of in some.items():
        if of:
            publishers = np.array([publisher_of(run) for run in of])
            hidden = [replace(run, counted=NOT_STATED) for run in of]
            found[name, KNOWN] = Peaks(errors=raw_errors(of), publishers=publishers)
            found[name, UNKNOWN] = Peaks(errors=raw_errors(hidden), publishers=publishers)
    return found


def tail_of(peaks: Mapping[tuple[str, str], Peaks]) -> float:
    """Return the largest tail at which publishers that are left out hold what is promised, in the mean of all classes.

    One tail serves all classes, since no class alone has publishers enough to choose its own.
    """
    for tail in TAILS:
        if np.mean([some.share_held(tail) for some in peaks.values()]) >= PROMISED:
            return tail
    return TAILS[-1]


def residuals_of(peaks: Mapping[tuple[str, str], Peaks]) -> dict[tuple[str, str], Residuals]:
    """Return the band of every class; its median is that of peaks whose count is known.

    Most sources that do not say what they count, count all that the driver shows, as is predicted for them.
    """
    tail = tail_of(peaks)
    found = {names: some.quantiles(tail) for names, some in peaks.items()}
    return {(name, count): replace(band, p50=found[name, KNOWN].p50) for (name, count), band in found.items()}


def left_out(runs: Sequence[Run]) -> list[MemoryPrediction]:
    """Return the memory of every run by what the runs of other publishers leave: quantiles and tail."""
    found = {}
    shipped, peaks = load_residuals(), peaks_of(runs)
    for publisher in sorted({publisher_of(run) for run in runs}):
        others = {names: some.of(some.publishers != publisher) for names, some in peaks.items()}
        residuals = residuals_of({names: some for names, some in others.items() if some.errors.size})
        for one in predict([run for run in runs if publisher_of(run) == publisher], {**shipped, **residuals}):
            found[one.run.id] = one
    return [found[run.id] for run in runs]


def main(paths: Sequence[str]) -> int:
    """Write `catalog/calibration_memory.csv` from files of measured runs, and print what leaving publishers out shows.

    Returns:
        An exit code.
    """
    from clusterwright.catalog.load import load  # noqa: PLC0415 - only the command needs the whole catalogue
    from clusterwright.evidence.training.nodes import measured_nodes  # noqa: PLC0415

    if not paths:
        sys.stderr.write("usage: python -m clusterwright.evidence.training.memory_bands RUNS.csv...\n")
        return EXIT_BAD_INPUT
    catalogue = load()
    try:
        read = [
            read_measurements(Path(path), measured_nodes(catalogue), catalogue.models.values())[0] for path in paths
        ]
    except ClusterwrightError as error:
        sys.stderr.write(f"{error.message}\n")
        return error.exit_code
    # A later file says more of a run that an earlier one has too.
    runs = list({run.id: run for part in read for run in part}.values())
    peaks = peaks_of(runs)
    with (assets.root() / "catalog" / "calibration_memory.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for names, band in residuals_of(peaks).items():
            ends = (f"{value:.3f}" for value in (band.p10, band.p50, band.p90))
            publishers = len(set(peaks[names].publishers.tolist()))
            writer.writerow((*names, *ends, band.rows, publishers, " ".join(Path(path).name for path in paths)))
    sys.stdout.writelines(f"{line}\n" for line in _lines(left_out(runs), tail_of(peaks)))
    return EXIT_FINE


def _lines(predictions: Iterable[MemoryPrediction], tail: float) -> list[str]:
    """Return what leaving publishers out shows, in words."""
    peaks = [one for one in predictions if one.in_band is not None]
    held: dict[str, list[bool]] = {}
    for one in peaks:
        held.setdefault(publisher_of(one.run), []).append(bool(one.in_band))
    ratio = float(np.median([one.high_bytes / one.low_bytes for one in peaks]))
    return [
        f"publishers left out: {figures(predictions)}",
        f"tail on each side: {tail:.4f}; median P90/P10: {ratio:.2f}",
        f"mean of the shares of publishers: {np.mean([np.mean(some) for some in held.values()]):.3f}",
        *(f"  {name}: {np.mean(some):.2f} of {len(some)}" for name, some in sorted(held.items())),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
