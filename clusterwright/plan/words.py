"""The plan's numbers as words, the same wherever they are shown."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from clusterwright import units
from clusterwright.plan.record import Option, Plan
from clusterwright.sizing.loading_records import DataFeed
from clusterwright.sizing.records import Layout

NAME_OF_TARGET = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud", "onprem": "on premises"}
#: Providers of which only prices are known; another one goes by its own name.
NAME_OF_PROVIDER = {
    "coreweave": "CoreWeave", "crusoe": "Crusoe", "hyperstack": "Hyperstack", "lambda": "Lambda", "nebius": "Nebius",
    "oci": "Oracle Cloud", "runpod": "RunPod", "runpod-community": "RunPod community",
}  # fmt: skip
#: Schedules that are told, by their names in the literature.
SCHEDULE_NAMES = {"zero-bubble": "ZB-H1", "dualpipe": "DualPipe"}
_MILLION = 1e6
#: So many of the hardware not chosen are named where the answer is short.
_CLOSEST = 3
_WHOLE_DOLLARS = 1e4
_HOURS_A_DAY = 24
#: A share as whole percent, the same wherever it is shown.
percent = units.percent


def on_target(target: str) -> str:
    """Return where a target is, as it stands in a sentence: `on AWS`, `on premises`."""
    return NAME_OF_TARGET[target] if target == "onprem" else f"on {NAME_OF_TARGET[target]}"


def term_text(key: str) -> str:
    """Return the name of a target under a term, such as `aws/reserved_1y`, in words.

    >>> term_text("aws/reserved_1y"), term_text("onprem"), term_text("onprem/bridged")
    ('AWS, reserved 1y', 'on premises', 'on premises, rented until delivery')
    >>> term_text("aws:p5en.48xlarge/reserved_3y/all_upfront+contract")
    'AWS p5en.48xlarge, reserved 3y, all upfront and contract'
    >>> term_text("hybrid-27-at-95/coreweave/on_demand")
    '27 nodes owned at 95 %, rest CoreWeave, on demand'
    >>> term_text("onprem:dgx-b200/bridged")
    'on premises dgx-b200, rented until delivery'
    """
    target, _, rest = key.partition("/")
    if target.startswith("hybrid-"):
        _, nodes, _, busy, *growing = target.split("-")
        return f"{nodes} nodes owned at {busy} %{' and more as work grows' if growing else ''}, rest {term_text(rest)}"
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
    """Return a phrase as it stands within a sentence; abbreviations keep their capitals.

    >>> uncapital("Egress of data"), uncapital("NAT gateways")
    ('egress of data', 'NAT gateways')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


@dataclass(frozen=True, kw_only=True, slots=True)
class Currency:
    """What money is told in: its code, USD for one unit of it, the day of that rate, and who says so."""

    code: str
    usd: float
    day: str
    source: str

    @property
    def text(self) -> str:
        """The rate in words."""
        return f"1 {self.code} = {self.usd:g} USD on {self.day} ({self.source})"


_TOLD_IN: ContextVar[Currency | None] = ContextVar("told_in", default=None)


@contextmanager
def told_in(currency: Currency | None) -> Iterator[None]:
    """Tell all money in a currency for the time of the block; None is USD."""
    token = _TOLD_IN.set(currency)
    try:
        yield
    finally:
        _TOLD_IN.reset(token)


def money(usd: float | None) -> str:
    """Return USD as text, in the currency of `told_in`: `$2.14 M`, `$12,345`, `unknown`, `EUR 11,431`.

    >>> money(2_140_000), money(12_345.4), money(None), money(1.5e9), money(-2.5)
    ('$2.14 M', '$12,345', 'unknown', '$1,500 M', '-$2.50')
    >>> with told_in(Currency(code="EUR", usd=1.08, day="2026-10-16", source="ECB")):
    ...     money(12_345.4), money(-2_140_000)
    ('EUR 11,431', '-EUR 1.98 M')
    """
    if usd is None:
        return "unknown"
    if usd < 0:
        return f"-{money(-usd)}"
    sign, amount = _sign(), told(usd)
    if amount >= _MILLION:
        digits = 2 if amount < 100 * _MILLION else 0
        return f"{sign}{amount / _MILLION:,.{digits}f} M"
    return f"{sign}{amount:,.0f}" if amount >= _WHOLE_DOLLARS else f"{sign}{amount:,.2f}"


def small_money(usd: float | None) -> str:
    """Return USD with four digits, in the currency of `told_in`, for the cost of one unit of work.

    >>> small_money(1.72834), small_money(None)
    ('$1.728', 'unknown')
    """
    return "unknown" if usd is None else f"{_sign()}{told(usd):,.4g}"


def money_alike(amounts: Iterable[float | None]) -> list[str]:
    """Return the USD of a column as text in one unit with the same decimals, which the largest amount decides.

    >>> money_alike([98_090_000, 100_000_000, -147_683, None])
    ['$98.09 M', '$100.00 M', '-$0.15 M', 'unknown']
    >>> money_alike([1_131_455.4, 518_461]), money_alike([55.04, 7])
    (['$1,131,455', '$518,461'], ['$55.04', '$7.00'])
    """
    listed = list(amounts)
    largest = max((abs(told(usd)) for usd in listed if usd is not None), default=0.0)
    unit, ending, digits = (
        (_MILLION, " M", 2) if largest >= 10 * _MILLION else (1.0, "", 0 if largest >= _WHOLE_DOLLARS else 2)
    )
    return [_amount(usd, digits, unit, ending) for usd in listed]


def money_span(low: float, high: float) -> str:
    """Return two amounts in one unit, which is said once; empty where they look the same.

    >>> money_span(11_452_000, 22_810_000), money_span(331_942, 740_909), money_span(1.001, 1.002)
    ('$11.45 to 22.81 M', '$331,942 to 740,909', '')
    """
    first, last = money_alike([low, high])
    return "" if first == last else f"{first.removesuffix(' M')} to {last.replace(_sign(), '')}"


def small_money_alike(amounts: Iterable[float | None]) -> list[str]:
    """Return the USD of a column of costs of one unit of work with the same decimals: three digits of the smallest.

    >>> small_money_alike([3.0691, 11.2, None]), small_money_alike([0.01234, 0.2])
    (['$3.07', '$11.20', 'unknown'], ['$0.0123', '$0.2000'])
    """
    listed = list(amounts)
    smallest = min((abs(told(usd)) for usd in listed if usd), default=1.0)
    digits = max(2, 2 - math.floor(math.log10(smallest)))
    return [_amount(usd, digits) for usd in listed]


def _amount(usd: float | None, digits: int, unit: float = 1.0, ending: str = "") -> str:
    if usd is None:
        return "unknown"
    number = f"{abs(told(usd)) / unit:,.{digits}f}"
    return f"{'-' if usd < 0 and float(number.replace(',', '')) else ''}{_sign()}{number}{ending}"


def currency_told() -> Currency | None:
    """Return the currency of `told_in`, None for USD."""
    return _TOLD_IN.get()


def told(usd: float) -> float:
    """Return an amount in the currency of `told_in`."""
    currency = currency_told()
    return usd if currency is None else usd / currency.usd


def told_code() -> str:
    """Return the code of the currency of `told_in`."""
    currency = currency_told()
    return "USD" if currency is None else currency.code


def told_lines() -> tuple[str, ...]:
    """Return a paragraph that says what money is told in, with the rate, its day and its source; none for USD."""
    currency = currency_told()
    return () if currency is None else ("", f"All money in {currency.code}: {currency.text}; it is counted in USD.")


def told_unit(unit: str) -> str:
    """Return a unit, such as USD/kWh, in the currency of `told_in`."""
    return unit.replace("USD", told_code())


def told_value(value: float, unit: str) -> float:
    """Return a value that goes with `told_unit` of its unit.

    >>> with told_in(Currency(code="EUR", usd=1.25, day="2026-10-16", source="ECB")):
    ...     told_value(0.1, "USD/kWh"), told_unit("USD/kWh"), told_value(1.4, "ratio")
    (0.08, 'EUR/kWh', 1.4)
    """
    return told(value) if "USD" in unit else value


def _sign() -> str:
    code = told_code()
    return "$" if code == "USD" else f"{code} "


def depreciation_text(method: str) -> str:
    """Return how purchases are written off, in words.

    >>> depreciation_text("macrs_5"), depreciation_text("straight_line_4")
    ('MACRS over 5 years', 'straight line over 4 years')
    """
    name, _, years = method.rpartition("_")
    return f"{'MACRS' if name == 'macrs' else name.replace('_', ' ')} over {years} years"


def days_text(days: float) -> str:
    """Return days as text, without decimals where they are whole.

    >>> days_text(30.0), days_text(1.0), days_text(27.94)
    ('30 days', '1 day', '27.9 days')
    """
    number = f"{days:.0f}" if abs(days - round(days)) < 1e-9 else f"{days:.1f}"  # noqa: PLR2004 - rounding noise
    return f"{number} day{'' if number == '1' else 's'}"


def time_text(days: float) -> str:
    """Return days as text, in hours where they are less than one.

    >>> time_text(0.1), time_text(27.94)
    ('2.4 hours', '27.9 days')
    """
    return f"{days * _HOURS_A_DAY:.1f} hours" if days < 1 else days_text(days)


def hardware_lines(plan: Plan) -> tuple[str, ...]:
    """Return what was chosen where the blueprint leaves the hardware open: a line per target with the closest others.

    A target that leaves no choice has no line.
    """
    return tuple(_hardware_line(option) for option in plan.options if option.considered)


def _hardware_line(option: Option) -> str:
    chosen, *others = option.considered
    priced = [entry for entry in others if entry.usd is not None and entry.meets_goal]
    closest = ", ".join(f"{entry.name} {money(entry.usd)}" for entry in priced[:_CLOSEST])
    rest = len(others) - len(priced)
    parts = [
        f"{NAME_OF_TARGET[option.target]}: {chosen.name} at {money(chosen.usd)} of {len(option.considered)} allowed",
        *([f"next {closest}"] if closest else []),
        *([f"{rest} without a price, a fact or enough speed"] if rest else []),
        f"explain hardware --on {option.target} has all",
    ]
    return "; ".join(parts)


def layout_text(layout: Layout) -> str:
    """Return a layout in the field's shorthand: `TP 8 × PP 4 × DP 13, micro-batch 1, selective recompute`."""
    parts = [f"TP {layout.tp}", f"PP {layout.pp}", f"DP {layout.dp}"]
    parts += [f"{name} {size}" for name, size in (("CP", layout.cp), ("EP", layout.ep)) if size > 1]
    extras = [
        f"micro-batch {layout.micro_batch}",
        f"{'no' if layout.recompute == 'none' else layout.recompute} recompute",
    ]
    if layout.recompute_layers is not None:
        each = "chunk" if layout.vpp > 1 else "stage"
        extras[-1] += f" of {layout.recompute_layers} layer{'s' if layout.recompute_layers > 1 else ''} per {each}"
    if layout.vpp > 1:
        extras.append(f"{layout.vpp} chunks interleaved")
    elif layout.schedule in SCHEDULE_NAMES:
        extras.append(f"schedule {SCHEDULE_NAMES[layout.schedule]}")
    if layout.zero_stage > 0:
        within = f" over groups of {layout.sharding_group}" if layout.sharding_group else ""
        extras.append(f"ZeRO {layout.zero_stage}{within}")
    return f"{' × '.join(parts)}, {', '.join(extras)}"


def offload_text(option: Option) -> str:
    """Return what lies outside the accelerators and what that takes, empty where nothing does."""
    need = option.offload
    if need is None:
        return ""
    size, where = need.host_bytes_per_node, "host memory"
    of = need.host_memory_bytes_per_node
    if need.nvme_bytes_per_node:
        size, where, of = need.nvme_bytes_per_node, "local drives", need.nvme_capacity_bytes_per_node
    held = "an unknown size" if of is None else f"{of / 1e9:,.0f} GB"
    return (
        f"{', '.join(need.what)} offloaded: {size / 1e9:,.0f} of {held} of {where} per node, "
        f"{option.step.offload_s:.2f} s of each step"
    )


def cluster_text(option: Option) -> str:
    """Return the cluster in words: `52 × p5.48xlarge (416 H100 SXM)`."""
    return f"{option.nodes:,} × {option.instance} ({option.gpus:,} {option.accelerator_name})"


def days_band_text(option: Option) -> str:
    """Return calendar days with their band: `27.9 days (25.2 to 29.8)`; hours where the longest is less than a day."""
    if option.calendar_days_high < 1:
        low, high = (f"{days * _HOURS_A_DAY:.1f}" for days in (option.calendar_days_low, option.calendar_days_high))
        return f"{time_text(option.calendar_days)} ({low} to {high})"
    return f"{days_text(option.calendar_days)} ({option.calendar_days_low:.1f} to {option.calendar_days_high:.1f})"


def answer_lines(plan: Plan) -> tuple[str, ...]:
    """Return the answer: how to do this run alone, and how to do such runs over the whole horizon."""
    alone, kept = plan.option(plan.recommended), plan.option(plan.recommended_horizon)
    if alone is None:
        return (_no_answer(plan),)
    lines = [f"for this run: {_way(plan, alone)}"]
    if kept is not None:
        horizon = f"{plan.economics.horizon_months:.0f} months at {percent(plan.economics.utilisation)} utilisation"
        work = f"{kept.runs_in_horizon:,.0f} such runs in {horizon} cost least"
        what = "the same way" if kept is alone else f"if you {_verb(kept)} {cluster_text(kept)}{_where(kept)}"
        lines.append(f"{work} {what}: {money(kept.horizon_usd)}, {money(kept.run_usd)} a run")
    return tuple(lines)


def _no_answer(plan: Plan) -> str:
    if not any(option.meets_goal for option in plan.options):
        return "no target can finish in time; see what failed"
    if all(option.run_usd is None for option in plan.options):
        return f"the goal can be met, but no target has all its prices on {plan.as_of}; what lacks one is listed"
    return "no target meets every goal; see what failed"


def _verb(option: Option) -> str:
    return "buy" if option.target == "onprem" else "rent"


def _where(option: Option) -> str:
    return "" if option.target == "onprem" else f" {on_target(option.target)} {option.region}"


def _way(plan: Plan, option: Option) -> str:
    early = ""
    if plan.goals.finish_within_days is not None:
        spare = plan.goals.finish_within_days - option.calendar_days
        early = f", {spare:.1f} days before the goal" if spare >= 0 else ""
    cost = money(option.run_usd) if option.target != "onprem" else f"{money(option.capex_usd)} to buy"
    return f"{_verb(option)} {cluster_text(option)}{_where(option)}: {days_band_text(option)}{early}, {cost}"


def data_text(feed: DataFeed) -> str:
    """Return what is read of the training data, and whether training waits for it."""
    where = "local drives" if feed.staged else "shared storage"
    rate = units.text(feed.read_bytes_per_s, units.BANDWIDTH, digits=2)
    waits = f", training waits {feed.stall_s:.2g} s a step" if feed.stall_s > 0 else ""
    return f"{rate} from {where}{waits}"


def own_facts_lines(plan: Plan) -> list[str]:
    """Return the facts of the user that stand in the place of the catalogue's, a line each."""
    lines = []
    for fact in plan.own_facts:
        was = "" if fact.catalogue is None else f" instead of {_fact(fact.catalogue)}"
        lines.append(f"{fact.entity}: {fact.attribute} {_fact(fact.value)}{was} ({fact.source})")
    return lines


def _fact(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.10g}"
