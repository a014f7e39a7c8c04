"""What a service's plan says for a terminal beside what every plan says: goals, replicas, latencies, tokens, memory."""

from clusterwright.plan.serving.record import ServingGoals, ServingOption, ServingPlan, serving_option
from clusterwright.plan.text.money import money
from clusterwright.plan.text.words import NAME_OF_TARGET, term_text
from clusterwright.sizing.serving.search import Predicted, ReplicaLayout
from clusterwright.units import percent

_BAR = 24
_BLOCKS = "█▓▒·"
_SECOND = 1.0


def time_text(seconds: float) -> str:
    """Return a latency in words.

    >>> time_text(1.234), time_text(0.0287)
    ('1.23 s', '28.7 ms')
    """
    return f"{seconds:.3g} s" if seconds >= _SECOND else f"{seconds * 1e3:.3g} ms"


def layout_text(layout: ReplicaLayout) -> str:
    """Return a replica's layout in the field's shorthand.

    >>> layout_text(ReplicaLayout(gpus=16, tensor=8, pipeline=2, expert=8, spread_attention=False))
    'TP 8 × PP 2, EP 8'
    """
    parts = f"TP {layout.tensor}"
    if layout.spread_attention:
        parts = f"attention DP {layout.gpus}"
    if layout.pipeline > 1:
        parts += f" × PP {layout.pipeline}"
    return parts + (f", EP {layout.expert}" if layout.expert > 1 else "")


def goal_text(goals: ServingGoals) -> str:
    """Return what the service must meet, as it stands in the heading; empty without a goal."""
    parts = [
        *(["first token " + time_text(goals.first_token_s)] if goals.first_token_s is not None else []),
        *(["per token " + time_text(goals.time_per_token_s)] if goals.time_per_token_s is not None else []),
    ]
    if not parts:
        return ""
    return f" · {', '.join(parts)} at P{goals.percentile:g}, {percent(goals.confidence)} confidence"


def service_lines(plan: ServingPlan) -> tuple[str, ...]:
    """Return replicas, latencies and costs of tokens: of the answer in full, of the plan's other options in brief."""
    answer = plan.planned(plan.recommended_key)
    shown = plan.options[0] if answer is None else serving_option(answer)
    name = term_text(plan.recommended_key) if answer is not None else NAME_OF_TARGET[shown.target]
    return (
        (
            f"{name}: {_replicas(shown)}, {shown.in_flight:,.0f} requests in flight on each at the peak, "
            f"{shown.most_in_flight:,} fit"
        ),
        _latencies(plan, shown),
        _tokens(shown),
        shown.level_text,
        *(
            f"{NAME_OF_TARGET[option.target]}: {_replicas(option)}; {_latencies(plan, option)}"
            for option in plan.options
            if option is not shown
        ),
    )


def _replicas(option: ServingOption) -> str:
    spare = f" and {option.spare_replicas} spare" if option.spare_replicas else ""
    count = "1 replica" if option.replicas == 1 else f"{option.replicas:,} replicas"
    idle = f", {option.idle_gpus} idle" if option.idle_gpus else ""
    return f"{count}{spare}, each {option.layout.gpus} × {option.accelerator_name} ({layout_text(option.layout)}){idle}"


def _latencies(plan: ServingPlan, option: ServingOption) -> str:
    at = f"P{plan.goals.percentile:g}"
    return (
        f"first token {at} {_banded(option.first_token_s)}, per token {at} {_banded(option.time_per_token_s)}, "
        f"{option.output_tokens_per_s_per_user:,.0f} tokens/s a user"
    )


def _banded(figure: Predicted) -> str:
    return f"{time_text(figure.value)} ({time_text(figure.low)} to {time_text(figure.high)})"


def _tokens(option: ServingOption) -> str:
    price = option.usd_per_million_tokens
    made = option.output_tokens_per_s
    text = f"{made.value:,.0f} output tokens/s at the peak"
    if price.output is None or price.blended is None or price.output_at_capacity is None:
        return f"{text}; what a million costs is unknown"
    return (
        f"{text}; {money(price.output)} per million output tokens at the mean traffic ({money(price.blended)} of input "
        f"and output together), {money(price.output_at_capacity)} were all replicas of the peak always full"
    )


def memory_bar(option: ServingOption) -> tuple[str, str]:
    """Return one accelerator's memory as a bar, with its parts in GB."""
    memory = option.replica_memory
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
    return (
        ", then ".join(option.limited_by),
        (
            f"per token {time_text(option.mean_time_per_token_s)} on average; reading the weights alone takes "
            f"{time_text(option.time_per_token_bound_s)}"
        ),
    )
