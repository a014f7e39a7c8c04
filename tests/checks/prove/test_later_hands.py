"""Faults of four people who had read no rule, each on sites of other systems than before, are found."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from pathlib import Path

import pytest

from tests.checks.prove import fifth_hand, fourth_hand, sixth_hand, third_hand
from tests.checks.prove.changes import Fault
from tests.checks.prove.planting import Sites, copy_of, each_finding, findings, written_once
from tests.sampling import sampled

#: The workbook of cables repeats cables.csv, and takes longest to read.
_WORKBOOK = "cables.xlsx"
_FAULTS = (*third_hand.FAULTS, *fourth_hand.FAULTS, *fifth_hand.FAULTS, *sixth_hand.FAULTS)
_SITES = {**third_hand.SITES, **fourth_hand.SITES, **fifth_hand.SITES, **sixth_hand.SITES}
#: Rules that a site as written does not hold, as its own pages say: two feeds are too few for racks of three strips.
_REFUSED = {"two feeds": {"FED009"}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Return the folder of a site, written once."""
    return written_once(_SITES, tmp_path_factory)


@pytest.fixture(scope="module")
def refused(site: Sites) -> Callable[[str], set[str]]:
    """Return what is found in the folder of a site as it was written."""

    @cache
    def of(name: str) -> set[str]:
        return {finding.message for finding in findings(site(name))} if name in _REFUSED else set()

    return of


@pytest.mark.parametrize("name", _SITES)
def test_a_sound_site_has_no_finding(site: Sites, name: str) -> None:
    """No rule fails on documents that nobody changed, but those of which the documents themselves say so."""
    found = findings(site(name))
    assert {finding.id for finding in found} == _REFUSED.get(name, set()), [finding.message for finding in found]


@pytest.mark.parametrize(
    "fault", sampled(_FAULTS, 5, attrgetter("kind")), ids=lambda fault: f"{fault.site}: {fault.kind}"
)
def test_a_planted_fault_is_found(
    site: Sites, refused: Callable[[str], set[str]], fault: Fault, tmp_path: Path
) -> None:
    """A rule says what was found, and what was expected in its place; it did not say so before."""
    folder = copy_of(site(fault.site), tmp_path / "site")
    (folder / _WORKBOOK).unlink(missing_ok=True)
    fault.plant(folder)
    before = refused(fault.site)
    assert any("expected" in found.message and found.message not in before for found in each_finding(folder))


@pytest.mark.parametrize(
    ("faults", "sites", "least", "kinds"),
    [
        (third_hand.FAULTS, third_hand.SITES, 170, 45),
        (fourth_hand.FAULTS, fourth_hand.SITES, 300, 80),
        (fifth_hand.FAULTS, fifth_hand.SITES, 400, 105),
        (sixth_hand.FAULTS, sixth_hand.SITES, 300, 80),
    ],
    ids=["third", "fourth", "fifth", "sixth"],
)
def test_faults_are_enough_and_of_every_kind(
    faults: tuple[Fault, ...], sites: dict[str, str], least: int, kinds: int
) -> None:
    """Three or more of each of many kinds, on every site."""
    of_kind = Counter(fault.kind for fault in faults)
    assert len(faults) >= least
    assert min(of_kind.values()) >= 3, of_kind
    assert len(of_kind) >= kinds
    assert {fault.site for fault in faults} == sites.keys()
