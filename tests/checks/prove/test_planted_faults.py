"""Faults planted in documents: at least 95 of 100 are found, by the rule that they break; sound sites have none."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checks.prove.faults import FAULTS, LEGITIMATE, Fault
from tests.checks.prove.planting import SITES, findings, planted, write_site

Sites = Callable[[str], Path]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Return the folder of a site, written once."""
    written: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in written:
            written[name] = write_site(name, tmp_path_factory)
        return written[name]

    return of


@pytest.mark.parametrize("name", SITES)
def test_a_sound_site_has_no_finding(site: Sites, name: str) -> None:
    """What is written holds: no rule fails on documents that nobody changed."""
    assert [finding.message for finding in findings(site(name))] == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(site: Sites, fault: Fault) -> None:
    """The rule that the fault breaks says so, with row, value found, value expected and reason."""
    folder = site(fault.site)
    with planted(folder, fault.edits):
        found = findings(folder)
    assert fault.expected in {finding.id for finding in found}
    said = next(finding.message for finding in found if finding.id == fault.expected)
    assert "expected" in said or fault.expected in {"TAB001", "FIL001"}


@pytest.mark.parametrize("edit", LEGITIMATE, ids=lambda edit: edit.name)
def test_what_a_user_may_change_is_no_fault(site: Sites, edit: Fault) -> None:
    """Quotes, serial numbers, addresses, notes and dates raise no finding."""
    folder = site(edit.site)
    with planted(folder, edit.edits):
        found = findings(folder)
    assert [finding.message for finding in found] == []


def test_faults_are_enough_and_of_every_kind() -> None:
    """At least 100, three or more of each kind, on all three sites."""
    kinds = Counter(fault.kind for fault in FAULTS)
    assert len(FAULTS) >= 100
    assert min(kinds.values()) >= 3, kinds
    assert len(LEGITIMATE) >= 30
    assert {fault.site for fault in FAULTS} == set(SITES)
