"""Measured rates of the fastest multiplications, beside the documented peaks that they are shares of."""

import csv
from statistics import median

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.catalog.matmul_rates import measured_shares, share_of
from clusterwright.units import FLOP_RATE, parse


def test_shares_of_accelerators_that_were_measured() -> None:
    """H100 reaches 794.5 of 989 TFLOP/s, Gaudi 2 nearly all of its 432, MI300X half of its 1,307."""
    assert share_of("h100-sxm-80gb", "bf16") == share_of("h100-sxm-80gb", "fp16") == pytest.approx(794.5 / 989)
    assert share_of("gaudi2-96gb", "bf16") == pytest.approx(418.7 / 432)
    assert share_of("mi300x-192gb", "bf16") == pytest.approx(668.4 / 1307.4)


def test_narrower_formats_are_shares_of_their_own_peak() -> None:
    """Eight bits have rows of their own, whatever the recipe; four bits take the share of eight."""
    assert share_of("b200-sxm-180gb", "fp8") == share_of("b200-sxm-180gb", "mxfp8") == pytest.approx(3432.5 / 4500)
    assert share_of("b200-sxm-180gb", "nvfp4") == share_of("b200-sxm-180gb", "fp8")


def test_an_accelerator_that_was_not_measured() -> None:
    """L40S takes the median of those that were, in the same width; MI250X the middle of later chips of AMD."""
    assert share_of("mi250x-128gb", "bf16") == pytest.approx(0.6, abs=0.001)
    assert not {("l40s-48gb", "bf16"), ("mi250x-128gb", "bf16")} & set(measured_shares())
    shares = [share for (_, width), share in measured_shares().items() if width == "bf16"]
    assert share_of("l40s-48gb", "bf16") == median(shares)


def test_rates_lie_below_the_peaks_of_the_catalogue() -> None:
    """Each row's peak is the catalogue's dense peak to within 1.5 %, and no rate is above it."""
    catalogue = load()
    with (assets.root() / "catalog" / "matmul_rates.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        accelerator = catalogue.accelerators[row["accelerator"]]
        peak = getattr(accelerator, f"dense_{row['precision']}_flop_per_s")
        if peak is None:
            peak = accelerator.dense_fp16_flop_per_s
        assert parse(row["peak_flop_per_s"], FLOP_RATE) == pytest.approx(peak, rel=0.015), row
        assert parse(row["measured_flop_per_s"], FLOP_RATE) < parse(row["peak_flop_per_s"], FLOP_RATE), row
        assert row["source"] in catalogue.sources, row
