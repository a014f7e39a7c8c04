"""The check-list of the data centre as a page of Markdown."""

from collections import Counter
from collections.abc import Sequence

from clusterwright.facility.checklist.items import Check
from clusterwright.facility.hall.floor_load import FAIL, PASS, UNKNOWN


def checklist(checks: Sequence[Check], *, title: str) -> str:
    """Return every item with its number, its limit and its verdict, what fails first said above.

    Args:
        checks: in the order of the list.
        title: name of the cluster.
    """
    counts = Counter(check.verdict for check in checks)
    failed = [check for check in checks if check.verdict == FAIL]
    lines = [
        f"# {title}: check-list of the data centre",
        "",
        (
            f"{counts[PASS]} items pass, {counts[FAIL]} fail, {counts[UNKNOWN]} are unknown: the blueprint does not "
            "say, or nobody publishes it."
        ),
        "",
        *(f"- **Fails:** {check.item}: {check.found}, limit {check.limit}." for check in failed),
        *([""] if failed else []),
        "| area | item | found | limit | verdict | remark |",
        "|---|---|---|---|---|---|",
        *(
            f"| {check.area} | {check.item} | {check.found} | {check.limit} | {_shown(check.verdict)} | {check.note} |"
            for check in checks
        ),
        "",
        (
            "What is not given belongs under `site` of the blueprint: `hall`, `rack`, `feed`, `ups`, `cdu`, `cooling`, "
            "`power_limit`."
        ),
    ]
    return "\n".join(lines)


def _shown(verdict: str) -> str:
    return f"**{verdict}**" if verdict == FAIL else verdict
