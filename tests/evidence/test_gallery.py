"""Published runs, planned: what was published is counted as its publishers count it, and the page is what plans say."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
#: Days by hand: GPU hours over GPUs and 24; tokens over the batch times seconds a step; as printed for OPT.
_BY_HAND = {
    "llama-3-1-405b": 30.84e6 / 16_384 / 24,
    "llama-2-70b": 1_720_320 / 2_048 / 24,
    "bloom-176b": 366e9 / (2_048 * 2_048) * 105.22 / 86_400,
    "opt-175b": 33.0,
    "mt-nlg-530b-280": 270e9 / (1_920 * 2_048) * 60.1 / 86_400,
    "mt-nlg-530b-420": 270e9 / (1_920 * 2_048) * 44.4 / 86_400,
    "deepseek-v3": 2.664e6 / 2_048 / 24,
    "falcon-180b": 7e6 / 4_096 / 24,
    "nemotron-4-340b": 7.6e12 / (2_304 * 4_096) * 8.0 / 86_400,
    "palm-540b": 780e9 / (238.3e3 / 2) / 86_400,
    "olmo-2-32b": 6e12 / (1_024 * 1_800) / 86_400,
}


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    """The module that writes the page."""
    spec = importlib.util.spec_from_file_location("gallery", _ROOT / "benchmarks" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def runs(gallery: ModuleType) -> list[Any]:
    """Every published run with its plans."""
    return [gallery.run(row) for row in gallery.published()]


def test_the_page_is_what_plans_say(gallery: ModuleType, runs: list[Any]) -> None:
    """The gallery's page is current: its days, layouts and counts are those of the plans, its days those by hand."""
    assert {each.row["id"]: each.planned.published_days for each in runs} == pytest.approx(_BY_HAND)
    assert gallery.page(runs) == gallery.PAGE.read_text(encoding="utf-8"), "python benchmarks/gallery.py"


def test_the_first_picture_of_the_readme_is_of_these_plans(gallery: ModuleType, runs: list[Any]) -> None:
    """It is current, small, and marks what was published inside a run's band just where the plan has it there."""
    picture = gallery.PICTURE.read_text(encoding="utf-8")
    assert gallery.picture(runs) == picture, "python benchmarks/gallery.py"
    assert len(picture.encode()) < 16_384
    tips = re.findall(r'rx="3".*?<title>([^<]*)</title>', picture)[1:]
    bands = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="\d+" rx="3"', picture)[1:]
    marks = re.findall(r'<path d="M([\d.]+) ', picture)[1:]
    assert len(tips) == len(bands) == len(marks) == len(runs)
    for tip, band, mark, each in zip(tips, bands, marks, runs, strict=True):
        shown, start, width = each.as_run or each.planned, *map(float, band)
        assert f"published {shown.published_days:.1f} days, counted {shown.days:.1f}" in tip
        assert (start <= float(mark) <= start + width) == shown.in_band, each.row["id"]
    first = re.search(r"!\[[^\]]*\]\(([^)]*)\)", (_ROOT / "README.md").read_text(encoding="utf-8"))
    assert first is not None
    assert _ROOT / first[1] == gallery.PICTURE


def test_the_gallery_has_no_blueprint_without_a_publication(gallery: ModuleType) -> None:
    """Every blueprint has its row with figure and source, and every row its blueprint."""
    rows = gallery.published()
    assert sorted(row["id"] for row in rows) == sorted(path.stem for path in gallery.FOLDER.glob("*.yaml"))
    assert all(row["source"] and row["counted"] in ("steps", "all") for row in rows)
