"""Faults of a fourth reviewer, who had read no rule, are found: racks of one domain, RoCE, several units, a service."""

from collections import Counter
from pathlib import Path

import pytest

from tests.checks.prove.fourth_hand import FAULTS, SITES, Fault
from tests.checks.prove.planting import Sites, copy_of, findings, written_once

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
    (folder / _WORKBOOK).unlink(missing_ok=True)
    fault.plant(folder)
    assert any("expected" in finding.message for finding in findings(folder))


def test_faults_are_enough_and_of_every_kind() -> None:
    """Three or more of each of many kinds, on every site."""
    kinds, sites = Counter(fault.kind for fault in FAULTS), Counter(fault.site for fault in FAULTS)
    assert len(FAULTS) >= 300
    assert min(kinds.values()) >= 3, kinds
    assert len(kinds) >= 80
    assert sites.keys() == SITES.keys()
