"""Old prices: none is used without a word, and one that is new enough is not complained of."""

import datetime as dt
from dataclasses import replace

import pytest

from clusterwright.outputs.report.tables import Sources, prices
from clusterwright.plan.findings.price_evidence import age_days, old_prices
from clusterwright.plan.record import Option
from clusterwright.plan.text.money import USD
from tests.plan.examples import shipped

AS_OF = dt.date(2026, 10, 16)
DAY_S = 86400.0


def seen_on(*days: str | None) -> Option:
    """Return an option whose only prices were last seen on these days, None for an assumed one."""
    option = shipped().options[0]
    lines = tuple(
        replace(
            option.money.lines[0],
            line=replace(option.money.lines[0].line, sku=f"part-{number}"),
            last_seen=None if day is None else dt.date.fromisoformat(day),
            basis="assumed" if day is None else "documented",
        )
        for number, day in enumerate(days)
    )
    return replace(option, money=replace(option.money, lines=lines))


@pytest.mark.parametrize(
    ("last_seen", "warned"),
    [("2026-04-19", False), ("2026-04-18", True), ("2027-01-01", False), (None, False)],
)
def test_the_limit_counts_from_the_day_whose_prices_hold(last_seen: str | None, warned: bool) -> None:
    """180 days before 16 October is 19 April: that day is new enough, the day before is not; nor is the future old."""
    assert bool(old_prices([seen_on(last_seen)], as_of=AS_OF, max_age_s=180 * DAY_S)) is warned


def test_the_oldest_are_named_first_and_each_once() -> None:
    """One warning counts all products, whatever number of lines they stand in, and names the four oldest."""
    option = seen_on("2026-01-01", "2024-10-16", "2026-09-01", "2025-10-16", "2026-03-01", "2026-02-01")
    (found,) = old_prices([option, option], as_of=AS_OF, max_age_s=180 * DAY_S)
    assert found.id == "TCO002"
    assert found.message == "5 documented prices are 229 to 730 days old"
    assert found.help.startswith(
        "last seen more than 180 days before 2026-10-16: "
        "part-1 (730 days), part-3 (365 days), part-0 (288 days), part-5 (257 days) and 1 more; "
    )


def test_a_plan_warns_of_every_old_price_of_its_bills() -> None:
    """Counted by hand from the shipped plan's own lines; a limit above the oldest price leaves no warning."""
    plan = shipped()
    day = dt.date.fromisoformat(plan.as_of)
    ages = {
        line.line.sku: (day - line.last_seen).days
        for option in plan.options
        for line in option.money.lines
        if line.last_seen is not None
    }
    old = sorted(sku for sku, age_days in ages.items() if age_days > 180)
    (warning,) = (entry for entry in plan.warnings if entry.id == "TCO002")
    assert old
    assert warning.message.startswith(f"{len(old)} documented price")
    assert plan.findings == ()
    limit = f"economics.max_price_age={max(ages.values())} days"
    assert "TCO002" not in [entry.id for entry in shipped(limit).warnings]


def test_the_bill_shows_the_age_of_every_documented_price() -> None:
    """Days from the last time that the document showed the price to the plan's day; none where nothing is dated."""
    option = seen_on("2026-10-15", "2024-10-16", None)
    assert [age_days(line, AS_OF) for line in option.money.lines] == [1, 730, None]
    shown = prices(option, Sources(), AS_OF.isoformat(), USD)
    assert [row[6].detail for row in shown.rows] == ["1 day old", "730 days old", ""]
