"""The plan's numbers as words, the same wherever they are shown."""

from clusterwright import units
from clusterwright.plan.record import Alternative, Option, Plan, WorkUnit
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.units import counted, days_text, duration_text

NAME_OF_TARGET = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud", "onprem": "on premises"}
#: Providers of which only prices are known; another one goes by its own name.
NAME_OF_PROVIDER = {
    "coreweave": "CoreWeave",
    "crusoe": "Crusoe",
    "hyperstack": "Hyperstack",
    "lambda": "Lambda",
    "nebius": "Nebius",
    "oci": "Oracle Cloud",
    "runpod": "RunPod",
    "runpod-community": "RunPod community",
}
#: This many of the hardware not chosen are named where the answer is short.
_CLOSEST = 3
#: Terms under which a cloud starts the nodes when it has them all, however long that takes.
_QUEUED = ("flex_start",)
_HOURS_A_DAY = 24
#: Amounts of work from here on are whole numbers in words.
_WHOLE = 100.0
#: Goals below these days are shown in hours.
_SHORT_DAYS = 2.0


def band_text(plan: Plan) -> str:
    """Return what the bands of the totals contain, for the one place of an output that says so."""
    last = f"P{plan.goals.confidence * 100:.0f}"
    lasts = any(
        option.performance.calendar_days_low != option.performance.calendar_days_high for option in plan.options
    )
    days = f"{plan.workload.unit.each} of P10 to {last} days with " if lasts else ""
    return (
        f"bands of money: {days}every assumed price and value at its cheap or dear end; documented prices do not move, "
        "but for purchase prices of low confidence"
    )


def on_target(target: str) -> str:
    """Return where a target is, as it is in a sentence: `on AWS`, `on premises`."""
    return NAME_OF_TARGET[target] if target == "onprem" else f"on {NAME_OF_TARGET[target]}"


def term_text(key: str) -> str:
    """Return the name of a target under a term, such as `aws/reserved_1y`, in words.

    >>> term_text("aws/reserved_1y"), term_text("onprem"), term_text("onprem/bridged")
    ('AWS, reserved 1y', 'on premises', 'on premises, rented until delivery')
    >>> term_text("aws:p5en.48xlarge/reserved_3y/all_upfront+contract")
    'AWS p5en.48xlarge, reserved 3y, all upfront and contract'
    >>> term_text("hybrid-27-at-95/coreweave/on_demand")
    '27 nodes owned at 95 %, rest CoreWeave, on demand'
    >>> term_text("hybrid-1-at-80/aws/capacity_block")
    '1 node owned at 80 %, rest AWS, capacity block'
    >>> term_text("onprem:dgx-b200/bridged")
    'on premises dgx-b200, rented until delivery'
    """
    target, _, rest = key.partition("/")
    if target.startswith("hybrid-"):
        _, nodes, _, busy, *growing = target.split("-")
        owned = f"{nodes} node{'s' * (nodes != '1')} owned at {busy} %{' and more as work grows' if growing else ''}"
        return f"{owned}, rest {term_text(rest)}"
    place, _, hardware = target.partition(":")
    name = NAME_OF_TARGET.get(place) or NAME_OF_PROVIDER.get(place, place)
    where = f"{name} {hardware}" if hardware else name
    if rest == "bridged":
        return f"{where}, rented until delivery"
    return ", ".join((where, *(part.replace("_", " ").replace("+", " and ") for part in rest.split("/") if part)))


def capital(words: str) -> str:
    """Return words with a capital first letter, the others as they are.

    >>> capital("on premises"), capital("")
    ('On premises', '')
    """
    return words[:1].upper() + words[1:]


def uncapital(text: str) -> str:
    """Return a phrase as it is within a sentence; abbreviations keep their capitals.

    >>> uncapital("Egress of data"), uncapital("NAT gateways")
    ('egress of data', 'NAT gateways')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def depreciation_text(method: str) -> str:
    """Return how purchases are written off, in words.

    >>> depreciation_text("macrs_5"), depreciation_text("straight_line_4")
    ('MACRS over 5 years', 'straight line over 4 years')
    """
    name, _, years = method.rpartition("_")
    return f"{'MACRS' if name == 'macrs' else name.replace('_', ' ')} over {years} years"


def amount_text(amount: float, unit: WorkUnit, *, such: bool = False) -> str:
    """Return an amount of work in words.

    Args:
        amount: in units of the work.
        unit: what they are called.
        such: of the same kind as one that was named before.

    >>> run = WorkUnit(name="run", plural="runs")
    >>> amount_text(36.0, run), amount_text(36.18, run), amount_text(1, run), amount_text(36.18, run, such=True)
    ('36 runs', '36.2 runs', '1 run', '36.2 such runs')
    >>> amount_text(63_718.7, run)
    '63,719 runs'
    """
    number = f"{amount:,.0f}" if amount >= _WHOLE else f"{amount:,.1f}".removesuffix(".0")
    return f"{number} {'such ' if such else ''}{unit.name if number == '1' else unit.plural}"


def month_text(months: float | None) -> str:
    """Return when something happens, counted from the begin.

    >>> month_text(7.25), month_text(None)
    ('month 7.2', 'never')
    """
    return "never" if months is None else f"month {months:.1f}"


def hardware_lines(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return what was chosen where the blueprint leaves the hardware open: a line per target with the closest others.

    A target that leaves no choice has no line.
    """
    return tuple(_hardware_line(option, money) for option in plan.options if option.design.considered)


def _hardware_line(option: Option, money: MoneyFormat) -> str:
    design = option.design
    chosen, *others = design.considered
    priced = [entry for entry in others if entry.usd is not None and entry.meets_goal]
    closest = ", ".join(f"{entry.name} {money.text(entry.usd)}" for entry in priced[:_CLOSEST])
    rest = len(others) - len(priced)
    bought = f"{chosen.name} at {money.text(chosen.usd)}"
    parts = [
        f"{NAME_OF_TARGET[option.target]}: {bought} of {len(design.considered)} allowed",
        *([f"next {closest}"] if closest else []),
        *([f"{rest} without a price, a fact or enough speed"] if rest else []),
        f"explain hardware --on {option.target} has all",
    ]
    return "; ".join(parts)


def cluster_text(option: Option) -> str:
    """Return the cluster in words: `52 × p5.48xlarge (416 H100 SXM)`, and how many nodes are beside the work."""
    cluster = option.cluster
    return f"{cluster.nodes:,} × {cluster.instance} ({cluster.gpus:,} {cluster.accelerator_name}){beside_text(option)}"


def beside_text(option: Option) -> str:
    """Return `, 2 of the nodes for parts of GPUs`; nothing where the work has all nodes."""
    nodes = option.cluster.divided_nodes
    return f", {nodes:,} of the nodes for parts of GPUs" if nodes else ""


def days_band_text(option: Option) -> str:
    """Return calendar days with their band: `27.9 days (25.2 to 29.8)`; hours where the longest is less than a day."""
    performance = option.performance
    if performance.calendar_days_high < 1:
        low, high = (
            f"{days * _HOURS_A_DAY:.1f}" for days in (performance.calendar_days_low, performance.calendar_days_high)
        )
        return f"{duration_text(performance.calendar_days)} ({low} to {high})"
    band = f"{performance.calendar_days_low:.1f} to {performance.calendar_days_high:.1f}"
    return f"{days_text(performance.calendar_days)} ({band})"


def indicative_text(way: Alternative) -> str:
    """Return `, indicative (50 % documented)` where too little of a way's dollars is documented; else nothing."""
    basis = way.money.basis
    if basis is None or not basis.indicative or basis.documented_share is None:
        return ""
    return f", indicative ({units.percent(basis.documented_share)} documented)"


def answer_lines(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return the answer: how to do the unit of work alone, and how to do as many as the whole horizon holds."""
    alone, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    if alone is None and kept is None:
        return (_no_answer(plan),)
    unit = plan.workload.unit
    first, last = (None if way is None else plan.planned(way.key) for way in (alone, kept))
    lines = [
        f"for {unit.asked}: {no_unit_answer(plan, money)}"
        if alone is None
        else f"for {unit.asked}: {_cluster_of(plan, alone)}: {_figures(plan, alone, money)}{_outlook(first)}"
    ]
    if kept is not None:
        horizon = f"{plan.economics.horizon_months:.0f} months"
        if plan.economics.runs is None:
            horizon += f" at {units.percent(plan.economics.utilisation)} utilisation"
        work = f"{amount_text(plan.options[0].money.runs_in_horizon, unit, such=True)} in {horizon} cost least"
        what = "the same way" if kept is alone else f"if you {_cluster_of(plan, kept)}"
        each = kept.money.run_usd if kept.money.run_share_usd is None else kept.money.run_share_usd
        present = money.band(kept.money.npv_usd, kept.money.npv_usd_low, kept.money.npv_usd_high)
        near = plan.contender
        close = (
            "" if near is None else f"; {term_text(near.key)}, at {money.text(near.money.npv_usd)}, is within that band"
        )
        lines.append(
            f"{work} {what}: {present} in present value, {money.text(kept.money.horizon_usd)} paid, "
            f"{money.text(each)} {unit.each}{indicative_text(kept)}{close}{'' if last is first else _outlook(last)}"
        )
    return tuple(lines)


def unit_answer(plan: Plan, way: Alternative, money: MoneyFormat) -> tuple[str, ...]:
    """Return the answer for one unit of work in parts: the cluster; its time and cost; the odds, where they are low.

    Args:
        plan: with the way.
        way: the answer.
        money: how amounts are written.
    """
    option = plan.planned(way.key)
    odds = (option.performance.odds,) if option is not None and option.performance.odds else ()
    return (_cluster_of(plan, way), _figures(plan, way, money), *odds)


def no_unit_answer(plan: Plan, money: MoneyFormat) -> str:
    """Return why nothing is the answer for one unit of work where there is one for the horizon."""
    budget, known = plan.goals.budget_usd, [way for way in plan.ranked if way.money.run_usd is not None]
    if budget is not None and known:
        return f"no way that is paid by the {plan.workload.unit.name} is within the budget of {money.text(budget)}"
    return f"no way that is paid by the {plan.workload.unit.name} has all its prices on {plan.as_of}"


def horizon_answer(plan: Plan, way: Alternative, money: MoneyFormat) -> tuple[str, ...]:
    """Return the answer for the horizon in parts: the cluster; present value and work; a close contender; low odds.

    Args:
        plan: with the way.
        way: the answer.
        money: how amounts are written.
    """
    option, near = plan.planned(way.key), plan.contender
    same = way.key == plan.recommended_key
    present = money.band(way.money.npv_usd, way.money.npv_usd_low, way.money.npv_usd_high)
    unit = plan.workload.unit
    work = "" if unit.always_on else f" for {amount_text(plan.options[0].money.runs_in_horizon, unit)}"
    odds = (option.performance.odds,) if option is not None and option.performance.odds and not same else ()
    return (
        "the same way" if same else _cluster_of(plan, way),
        f"{present} in present value{work}{indicative_text(way)}",
        *(
            ()
            if near is None
            else (f"{term_text(near.key)}, at {money.text(near.money.npv_usd)}, is within that band",)
        ),
        *odds,
    )


def _outlook(option: Option | None) -> str:
    return "" if option is None or not option.performance.outlook else f"; {option.performance.outlook}"


def _no_answer(plan: Plan) -> str:
    if not any(option.performance.meets_goal for option in plan.options):
        hopes = [
            f"{NAME_OF_TARGET[entry.target]}: {entry.performance.outlook}"
            for entry in plan.options
            if entry.performance.uncertain
        ]
        if hopes:
            return f"no target meets the goals surely enough. {'. '.join(hopes)}"
        missed = "meets the goals" if plan.workload.unit.always_on else "can finish in time"
        return f"no target {missed}; see what failed"
    if all(option.money.run_cost_usd is None for option in plan.options):
        return f"the goal can be met, but no target has all its prices on {plan.as_of}; what lacks one is listed"
    return "no target meets every goal; see what failed"


def _cluster_of(plan: Plan, way: Alternative) -> str:
    """Return what is done on a way: `rent 48 × p5.48xlarge (…) on AWS us-east-1`, or its name where it is no option."""
    cluster = way.cluster
    option = plan.planned(way.key)
    if option is None:
        return f"use {term_text(way.key)} ({counted(cluster.nodes, 'node')}, {counted(cluster.gpus, 'GPU')})"
    if option.target == "onprem":
        return f"buy {cluster_text(option)}"
    paid = booking_text(option) or ("" if way.money.term == "on_demand" else term_text(way.key).partition(", ")[2])
    if way.money.term in _QUEUED:
        paid += ", once all are free"
    where = f"{on_target(option.target)} {option.deployment.region}"
    return f"rent {cluster_text(option)} {where}{f', {paid}' if paid else ''}"


def _figures(plan: Plan, way: Alternative, money: MoneyFormat) -> str:
    """Return time and cost of one unit of work."""
    performance = way.performance
    early = ""
    if plan.goals.finish_within_days is not None:
        spare = plan.goals.finish_within_days - performance.calendar_days
        short = plan.goals.finish_within_days < _SHORT_DAYS
        ahead = f"{spare * _HOURS_A_DAY:.1f} hours" if short else f"{spare:.1f} days"
        early = f", {ahead} before the goal" if spare >= 0 else ""
    option = plan.planned(way.key)
    time = days_text(performance.calendar_days) if option is None else days_band_text(option)
    cost = (
        f"{money.text(way.money.capex_usd)} to buy"
        if way.money.run_usd is None
        else money.band(way.money.run_usd, way.money.run_usd_low, way.money.run_usd_high)
    )
    cost += indicative_text(way)
    listed = on_demand_text(plan, way, money)
    taken = "" if plan.workload.always_on else f"{time}{early}, "
    return f"{taken}{cost}{f' ({listed})' if listed else ''}"


def booking_text(option: Option) -> str:
    """Return what is booked and paid whole for a run; empty where its hours alone are paid."""
    booked = option.money.booked
    if booked is None:
        return ""
    nodes = "" if booked.nodes == option.cluster.nodes else f"{booked.nodes:,} nodes for "
    return f"{booked.name} of {nodes}{booked.days} days, paid whole"


def on_demand_text(plan: Plan, way: Alternative, money: MoneyFormat) -> str:
    """Return the price on demand of the same target, empty where a way is on demand or that price is unknown."""
    same = plan.alternative(f"{way.key.partition('/')[0]}/on_demand")
    if way.money.term == "on_demand" or way.money.run_usd is None or same is None or same.money.run_usd is None:
        return ""
    size = (
        ""
        if (same.cluster.nodes, same.cluster.instance) == (way.cluster.nodes, way.cluster.instance)
        else (f" with {counted(same.cluster.nodes, 'node')} in {duration_text(same.performance.calendar_days)}")
    )
    return f"{money.text(same.money.run_usd)} on demand{size}"


def own_facts_lines(plan: Plan) -> list[str]:
    """Return the facts of the user that are in the place of the catalogue's, a line each."""
    lines = []
    for fact in plan.own_facts:
        was = "" if fact.catalogue is None else f" instead of {_fact(fact.catalogue)}"
        lines.append(f"{fact.entity}: {fact.attribute} {_fact(fact.value)}{was} ({fact.source})")
    return lines


def _fact(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.10g}"


def probability_text(share: float) -> str:
    """Return a probability that never reads as certain.

    >>> probability_text(0.9501), probability_text(0.99999)
    ('95 %', 'over 99.9 %')
    """
    return "over 99.9 %" if share > 0.999 else units.percent(share, digits=1 if share > 0.99 else 0)  # noqa: PLR2004 - shares
