"""What a service's plan says for a terminal beside what every plan says: goals, replicas, latencies, tokens, memory."""

from collections.abc import Sequence

from clusterwright.cli.render.text_table import Column, prose, table
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.serving.record import (
    ServingOption,
    ServingPlan,
    serving_option,
    serving_plan,
)
from clusterwright.plan.serving.simulated import SHARES, SimulatedOption
from clusterwright.plan.text.hosted import hosted_columns, hosted_notes, hosted_rows
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.serving import (
    certainty_text,
    day_text,
    in_flight_text,
    latencies_text,
    made_text,
    replicas_text,
    reuse_text,
)
from clusterwright.plan.text.words import NAME_OF_TARGET, term_text
from clusterwright.sizing.serving.calibration import KNOWN_PAIR
from clusterwright.units import counted, latency_text

_BAR = 24
_BLOCKS = "█▓▒·"


def service_brief(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return replicas, latencies, their certainty and the price of tokens of the answer."""
    plan = serving_plan(plan)
    shown = _shown(plan)
    return (
        (
            f"{replicas_text(shown)}; {latencies_text(plan, shown)}; {certainty_text(plan, shown)}"
            f"{_price(plan, shown, money)}"
        ),
        *(() if shown.performance.level == KNOWN_PAIR else (shown.performance.level_text,)),
    )


def _price(plan: ServingPlan, option: ServingOption, money: MoneyFormat) -> str:
    """Return what a million tokens costs, as a part of a sentence; nothing where that is unknown."""
    price = option.money.usd_per_million_tokens
    usd, of = (price.output, "output tokens") if plan.workload.generates else (price.blended, "tokens of input")
    return "" if usd is None else f"; {money.text(usd)} per million {of} at the mean traffic"


def _shown(plan: ServingPlan) -> ServingOption:
    """Return the option that is the answer, the first one where none is."""
    answer = plan.planned(plan.recommended_key)
    return plan.options[0] if answer is None else serving_option(answer)


def service_lines(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return replicas, latencies and costs of tokens: of the answer in full, of the plan's other options in brief."""
    plan = serving_plan(plan)
    shown = _shown(plan)
    named = plan.planned(plan.recommended_key) is not None
    name = term_text(plan.recommended_key) if named else NAME_OF_TARGET[shown.target]
    return (
        f"{name}: {replicas_text(shown)}, {in_flight_text(shown.performance)}",
        latencies_text(plan, shown),
        *([reuse_text(shown)] if plan.workload.turns > 1 else []),
        certainty_text(plan, shown),
        made_text(plan, shown, money),
        day_text(shown, money),
        shown.performance.level_text,
        *(
            f"{NAME_OF_TARGET[option.target]}: {replicas_text(option)}; {latencies_text(plan, option)}; "
            f"{certainty_text(plan, option)}"
            for option in plan.options
            if option is not shown
        ),
    )


#: How the columns of `hosted_rows` stand on a terminal: alignment, and how soon each is left out.
_HOSTED_LAYOUT = (
    ("left", None),
    ("left", 0.5),
    ("", 0),
    ("", 3),
    ("", 5),
    ("", 3),
    ("", 0),
    ("", 0.3),
    ("left", 0.4),
    ("", 6),
)


def hosted_lines(asked: Plan, money: MoneyFormat) -> list[str]:
    """Return own clusters, managed endpoints and hosted models in one table, with what it leaves open below it."""
    plan = serving_plan(asked)
    rows = hosted_rows(plan, money)
    if not rows:
        return []
    columns = [
        Column(title, align, drop=drop)
        for title, (align, drop) in zip(hosted_columns(money), _HOSTED_LAYOUT, strict=True)
    ]
    notes = (line for note in hosted_notes(plan) for line in prose(note, indent=2))
    return [table(columns, [list(row) for row in rows]), *notes, ""]


def simulated_lines(options: Sequence[SimulatedOption]) -> tuple[str, ...]:
    """Return what a simulation of each option's replicas saw, in a line each."""
    at = " / ".join(f"P{share * 100:g}" for share in SHARES)

    def times(values: Sequence[float]) -> str:
        return " / ".join(latency_text(value) for value in values)

    return tuple(
        f"{NAME_OF_TARGET[option.target]}, simulated at the peak, each request to the replica with the least in flight "
        f"({option.requests:,} requests{' of the trace' if option.traced else ''} at "
        f"{option.requests_per_s:,.4g}/s on {counted(option.replicas, 'replica')}"
        f"{f' and {option.prefill_workers:,} that prefill' if option.prefill_workers else ''}, {at}): "
        f"first token {times(option.first_token_s)}, per token {times(option.time_per_token_s)}, "
        f"whole answer {times(option.total_s)}"
        + (f"; {option.preempted:,} lost their memory and began again" if option.preempted else "")
        for option in options
    )


def service_details(option: Option) -> Sequence[tuple[str, Sequence[str]]]:
    """Return memory and limits of a cluster that serves, each with its title."""
    shown = serving_option(option)
    return (("Memory", memory_bar(shown)), ("Limited by", limit_lines(shown)))


def memory_bar(option: ServingOption) -> tuple[str, str]:
    """Return one accelerator's memory as a bar, with its parts in GB."""
    memory = option.performance.replica_memory
    parts = (
        ("weights", memory.weights),
        ("keys and values", memory.cache_pool),
        ("reserve", memory.reserved),
        ("left to others", memory.unused),
    )
    total = sum(size for _, size in parts)
    bar = "".join(block * round(_BAR * size / total) for (_, size), block in zip(parts, _BLOCKS, strict=True))
    listed = " · ".join(f"{block} {name} {size / 1e9:.1f}" for (name, size), block in zip(parts, _BLOCKS, strict=True))
    return (f"{total / 1e9:.1f} GB per accelerator  [{bar[:_BAR].ljust(_BAR)}]", listed)


def limit_lines(option: ServingOption) -> tuple[str, str]:
    """Return what the time per token goes to, and how far it is from its bound."""
    performance = option.performance
    return (
        ", then ".join(performance.limited_by),
        (
            f"per token {latency_text(performance.mean_time_per_token_s)} on average; reading the weights alone takes "
            f"{latency_text(performance.time_per_token_bound_s)}"
        ),
    )
