"""Money and time: a budget that somebody hears of, an end to what is forgotten, and what a month costs."""

import re
from collections.abc import Iterator

from clusterwright.checks.preflight.configuration.prices import month_of, usd_per_month
from clusterwright.checks.preflight.configuration.storage import configured
from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject
from clusterwright.facility.cloud_bill import bill_line
from clusterwright.tco.terms.records import PricedLine

_EMAIL = "alertEmail"
#: What budgets are made on, of clouds where it is no part of the account: its key, an example, and what is missing.
_BUDGET_ON = {
    "gcp": (
        "billingAccount",
        "012345-6789AB-CDEF01",
        "Google makes a budget on a billing account only, and none is set",
    )
}
_ADDRESS = re.compile(r"[^@\s,;<>]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}")


def budget(subject: Subject) -> Iterator[Outcome]:
    """Check that there is a monthly budget and that its alerts reach somebody."""
    project = subject.project
    setting = project.setting("budgetUsdPerMonth")
    amount = whole(setting.value) if setting else None
    good = True
    if not amount:
        good = False
        yield Outcome(
            status="WARN",
            message="there is no budget, so nobody is told what the cluster spends",
            fix="./cluster.sh set budgetUsdPerMonth 100000",
            place=setting.place if setting else None,
        )
    addressed = [setting for key in (_EMAIL, "alertEmails") for setting in project.settings(key)]
    if not any(text(entry.value) or entry.value for entry in addressed):
        good = False
        yield Outcome(
            status="WARN",
            message="alerts reach nobody: there is no address",
            fix=f"./cluster.sh set {_EMAIL} you@example.com",
            place=addressed[0].place if addressed else None,
        )
    for entry in addressed:
        addresses = entry.value if isinstance(entry.value, list) else [entry.value] if entry.value else []
        for address in addresses:
            if _ADDRESS.fullmatch(text(address)) is None:
                good = False
                yield Outcome(
                    status="FAIL",
                    message=f"{text(address)!r} is no address that alerts can be sent to",
                    fix=f"./cluster.sh set {entry.name} you@example.com",
                    place=entry.place,
                )
    key, example, missing = _BUDGET_ON.get(subject.cloud, ("", "", ""))
    if key and amount and not _has(subject, key):
        good = False
        yield Outcome(
            status="WARN",
            message=missing,
            fix=f"./cluster.sh set {key} {example}",
            place=setting.place if setting else None,
        )
    if good and setting:
        yield passed(f"{amount:,} USD per month", setting.place)


def _has(subject: Subject, key: str) -> bool:
    setting = subject.project.setting(key)
    return setting is not None and bool(text(setting.value))


def end_of_life(subject: Subject) -> Iterator[Outcome]:
    """Check that forgotten GPU nodes stop by themselves: after a time to live, or when idle."""
    found = [
        (setting, whole(setting.value) or 0)
        for key in ("timeToLiveHours", "stopWhenIdleMinutes")
        if (setting := subject.project.setting(key)) is not None
    ]
    if not any(value > 0 for _, value in found):
        yield Outcome(
            status="WARN",
            message="nothing stops GPU nodes that are forgotten",
            fix="write cluster.time_to_live: 7 days, or stop_when_idle: 2 h, into the blueprint"
            if subject.plan
            else "",
            place=found[0][0].place if found else None,
        )
        return
    unit = subject.plan.workload.unit.name if subject.plan else "run"
    run_hours = subject.option.performance.calendar_days_high * 24 if subject.option else None
    for setting, value in found:
        if setting.name == "timeToLiveHours" and run_hours is not None and 0 < value < run_hours:
            yield Outcome(
                status="FAIL",
                message=f"nodes are stopped after {value} h, the {unit} takes up to {run_hours:,.0f} h",
                fix=f"raise cluster.time_to_live above the {unit}, or leave the end to stop_when_idle",
                place=setting.place,
            )
            return
    yield passed(", ".join(f"{setting.name} {value}" for setting, value in found if value > 0), found[0][0].place)


def month(subject: Subject) -> Iterator[Outcome]:
    """Hold price times hours times nodes, with storage, against the budget."""
    nodes, setting = subject.node_count, subject.project.setting("budgetUsdPerMonth")
    if nodes is None or not subject.instance_type:
        yield Outcome(status="UNKNOWN", message="node count or type is missing")
        return
    lines = [line for line in _lines(subject, nodes) if line.line.charge in ("hourly", "monthly")]
    known = [usd for line in lines if (usd := usd_per_month(line)) is not None]
    missing = [line.line.item for line in lines if usd_per_month(line) is None]
    amount = whole(setting.value) if setting else None
    total = sum(known)
    cost = f"a month of {nodes:,} × {subject.instance_type} costs {total:,.0f} USD at list price"
    without = f", without {', '.join(dict.fromkeys(missing))}" if missing else ""
    if amount and total > amount:
        yield Outcome(
            status="FAIL",
            message=f"{cost}{without}; the budget is {amount:,} USD",
            fix="raise budgetUsdPerMonth in foundation, or run fewer nodes or hours",
            place=setting.place if setting else None,
        )
    elif missing:
        yield Outcome(
            status="UNKNOWN",
            message=f"no price is known of {', '.join(dict.fromkeys(missing))}; the rest of {nodes:,} × "
            f"{subject.instance_type} costs {total:,.0f} USD a month",
            fix="give the price with `clusterwright prices import`, then check again",
            place=setting.place if setting else None,
        )
    else:
        yield passed(
            f"{cost}" + (f", budget {amount:,} USD" if amount else ", no budget"), setting.place if setting else None
        )


def _lines(subject: Subject, nodes: int) -> tuple[PricedLine, ...]:
    system = configured(subject)
    others = (bill_line(system.tier.sku, system.capacity_gib, region=subject.region),) if system else ()
    return month_of(
        subject.book,
        cloud=subject.cloud,
        scheduler=subject.project.scheduler,
        region=subject.region,
        instance=subject.instance_type,
        nodes=nodes,
        capacity=subject.capacity,
        others=others,
    )
