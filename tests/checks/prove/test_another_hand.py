"""Faults of somebody who had not read the rules are found by the rule that they break; sound sites have none."""

from collections import Counter
from operator import attrgetter
from pathlib import Path

import pytest

from clusterwright.errors import Finding
from tests.checks.prove.another_hand import FAULTS, LEGITIMATE, SITES, Planted
from tests.checks.prove.planting import Sites, copy_of, findings, written_once
from tests.sampling import sampled

#: Faults that each site is asked for at least.
_LEAST = 8


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Return the folder of a site, written once."""
    return written_once(SITES, tmp_path_factory)


def _planted(site: Sites, one: Planted, tmp_path: Path) -> list[Finding]:
    folder = copy_of(site(one.site), tmp_path / "site")
    before = _content(folder)
    one.edit(folder)
    after = _content(folder)
    assert after != before
    # The workbook of cables repeats the list, and takes longest to read.
    workbook = folder / "cables.xlsx"
    if after[workbook] == before[workbook]:
        workbook.unlink()
    return findings(folder)


def _content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", SITES)
def test_a_sound_site_has_no_finding(site: Sites, name: str) -> None:
    """No rule fails on documents that nobody changed."""
    assert [finding.message for finding in findings(site(name))] == []


@pytest.mark.parametrize("fault", sampled(FAULTS, 3, attrgetter("kind")), ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(site: Sites, fault: Planted, tmp_path: Path) -> None:
    """The rule that the fault breaks says so, with the value found and the value expected."""
    found = _planted(site, fault, tmp_path)
    assert fault.expected in {finding.id for finding in found}
    assert "expected" in next(finding.message for finding in found if finding.id == fault.expected)


@pytest.mark.parametrize("edit", LEGITIMATE, ids=lambda edit: edit.name)
def test_what_a_user_may_change_is_no_fault(site: Sites, edit: Planted, tmp_path: Path) -> None:
    """MACs, serial numbers, quotes, comments and settings of the site raise no finding."""
    assert [finding.message for finding in _planted(site, edit, tmp_path)] == []


def test_faults_are_enough_and_of_every_kind() -> None:
    """More than half of all planted faults, three or more of each kind, on every site."""
    kinds, sites = Counter(fault.kind for fault in FAULTS), Counter(fault.site for fault in FAULTS)
    assert len(FAULTS) >= 200
    assert min(kinds.values()) >= 3, kinds
    assert len(kinds) >= 35
    assert min(sites.values()) >= _LEAST
    assert sites.keys() == SITES.keys()
    assert len(LEGITIMATE) >= 20
