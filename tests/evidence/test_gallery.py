"""Published runs, planned: what was published is counted as its publishers count it, and the page is what plans say."""

import importlib.util
from pathlib import Path
from types import ModuleType

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


def test_the_page_is_what_plans_say(gallery: ModuleType) -> None:
    """The gallery's page is current: its days, layouts and counts are those of the plans, its days those by hand."""
    runs = [gallery.run(row) for row in gallery.published()]
    assert {each.row["id"]: each.planned.published_days for each in runs} == pytest.approx(_BY_HAND)
    assert gallery.page(runs) == gallery.PAGE.read_text(encoding="utf-8"), "python benchmarks/gallery.py"


def test_the_gallery_has_no_blueprint_without_a_publication(gallery: ModuleType) -> None:
    """Every blueprint has its row with figure and source, and every row its blueprint."""
    rows = gallery.published()
    assert sorted(row["id"] for row in rows) == sorted(path.stem for path in gallery.FOLDER.glob("*.yaml"))
    assert all(row["source"] and row["counted"] in ("steps", "all") for row in rows)
