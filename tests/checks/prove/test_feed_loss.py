"""Loss of a feed of the hall: every rack lives on the others, or it is said which does not, and what is not known."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED, Result
from clusterwright.checks.prove.site.feed_loss import prove_feed_loss
from clusterwright.cli.written import write
from tests.checks.prove.faults import Edit
from tests.checks.prove.planting import BLUEPRINT, SITES, planted

CABLES = "netbox/7-power-feed-cables.csv"
Sites = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Return the folder of a site with a number of feeds, empty for an assumed one; written once."""
    written: dict[tuple[str, str], Path] = {}

    def of(name: str, sources: str) -> Path:
        if (name, sources) not in written:
            folder = tmp_path_factory.mktemp(name) / "site"
            values = [*SITES[name], *([f"site.feed.sources={sources}"] if sources else [])]
            assert write.onprem(BLUEPRINT, folder, values, force=False) == 0
            written[name, sources] = folder
        return written[name, sources]

    return of


def proof(folder: Path) -> Result:
    """Return the part of the proof, its facts in one text as a reason is."""
    return prove_feed_loss(read_papers(read_folder(folder)))


def test_whole_racks_live_on_two_of_three_feeds(site: Sites) -> None:
    """150 kW on eight shelves of 33 kW: without one of three feeds five are left, with 30 kW on each."""
    found = proof(site("whole-racks", "3"))
    assert found.state == PROVEN
    assert any(
        one.startswith("the watts on each power shelf that is left: 30,000, most 32,777, in ") for one in found.facts
    )


def test_two_feeds_are_too_few_for_whole_racks(site: Sites) -> None:
    """Without one of two given feeds four shelves are left, 37.5 kW each: more than a shelf and its circuit carry."""
    found = proof(site("whole-racks", "2"))
    assert (found.state, {one.id for one in found.findings}) == (NOT_PROVEN, {"FED009"})
    assert "of rack A01 when feed-A fails is 37,500, expected at most 32,777" in found.findings[0].message


def test_an_assumed_number_of_feeds_that_is_too_few_is_stated_and_not_judged(site: Sites) -> None:
    """The blueprint says nothing of the hall's feeds: neither proven nor wrong, and what to give."""
    found = proof(site("whole-racks", ""))
    assert (found.state, found.findings) == (SKIPPED, ())
    assert found.reason.startswith("the number of feeds is assumed (2): without feed-A, the watts on each power shelf")
    assert found.reason.endswith("is 37,500 of 32,777; give site.feed.sources")


def test_nodes_keep_the_supplies_that_they_need(site: Sites) -> None:
    """A DGX H100 with six supplies on three PDUs lives without one of three feeds, on four, and not on two."""
    found = proof(site("infiniband", ""))
    assert found.state == PROVEN
    assert any(one.startswith("the living supplies of a dgx-h100: 4, least 4, ") for one in found.facts)
    found = proof(site("infiniband", "2"))
    assert found.state == NOT_PROVEN
    assert any(
        "the living supplies of a dgx-h100" in one.message and "is 2, expected at least 4" in one.message
        for one in found.findings
    )


@pytest.mark.parametrize(
    "edit",
    [
        # The third feed's shelves on the first: three of eight are left without it.
        Edit(file=CABLES, where={"side_b_device": "r001-ps-3"}, cells={"side_a_power_panel": "feed-A"}),
        Edit(file=CABLES, where={"side_b_device": "r001-ps-8"}, cells={"side_a_power_panel": "feed-A"}),
        Edit(file="racks.csv", where={"device": "node001"}, cells={"power_w": "25000"}),
    ],
    ids=["shelf 3", "shelf 8", "power"],
)
def test_a_rack_that_dies_with_a_feed_is_found(site: Sites, edit: Edit) -> None:
    """One shelf on another feed, or one tray that draws more, and the rack does not live: the rack is named."""
    folder = site("whole-racks", "3")
    with planted(folder, [edit]):
        found = proof(folder)
    assert found.state == NOT_PROVEN
    assert all("of rack A01 when feed-" in one.message for one in found.findings)
    assert proof(folder).state == PROVEN
