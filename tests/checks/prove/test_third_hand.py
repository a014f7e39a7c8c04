"""Faults of somebody who had read no rule, on sites of other systems than before, are found."""

from collections import Counter
from pathlib import Path

import pytest

from tests.checks.prove.planting import Sites, copy_of, findings, written_once
from tests.checks.prove.third_hand import FAULTS, SITES, Fault

#: The workbook of cables repeats cables.csv, and takes longest to read.
_WORKBOOK = "cables.xlsx"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Return the folder of a site, written once."""
    return written_once(SITES, tmp_path_factory)


@pytest.mark.parametrize("name", SITES)
def test_a_sound_site_has_no_finding(site: Sites, name: str) -> None:
    """No rule fails on documents that nobody changed."""
    assert [finding.message for finding in findings(site(name))] == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_a_planted_fault_is_found(site: Sites, fault: Fault, tmp_path: Path) -> None:
    """A rule says what was found, and what was expected in its place."""
    folder = copy_of(site(fault.site), tmp_path / "site")
    (folder / _WORKBOOK).unlink()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    fault.plant(folder)
    assert {path: path.read_bytes() for path in before if path.is_file()} != before
    assert any("expected" in finding.message for finding in findings(folder))


def test_faults_are_enough_and_of_every_kind() -> None:
    """Three or more of each of many kinds, on every site."""
    kinds, sites = Counter(fault.kind for fault in FAULTS), Counter(fault.site for fault in FAULTS)
    assert len(FAULTS) >= 170
    assert min(kinds.values()) >= 3, kinds
    assert len(kinds) >= 45
    assert sites.keys() == SITES.keys()
