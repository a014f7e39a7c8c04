"""The page on preflight lists the checks that there are."""

from clusterwright import assets
from clusterwright.checks.preflight.table import CHECKS


def test_the_page_lists_every_check() -> None:
    """Each check has its row, in the order of the table, with title, needs and fix; no other row speaks of a check."""
    page = (assets.root() / "docs" / "preflight.md").read_text().splitlines()
    rows = [line for line in page if line.startswith("| PRE")]
    assert rows == [f"| {check.id} | {check.title} | {check.needs} | {check.fix} |" for check in CHECKS]
