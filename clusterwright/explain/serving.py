"""How a service was sized: memory, latencies, replicas, nodes, and what tokens cost."""

from clusterwright.explain.records import Explanation, Input, Names, beside_work, exact, explained
from clusterwright.plan.serving.record import ServingOption, ServingPlan, probability_text
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.sizing.serving.autoscaling import DAY_S, replica_hours
from clusterwright.sizing.serving.memory import requests_that_fit
from clusterwright.sizing.serving.replicas import replicas_needed
from clusterwright.sizing.serving.service import at_the_peak, requests_of_users, tokens_asked_per_s
from clusterwright.sizing.serving.sizes import Predicted
from clusterwright.sizing.serving.step import step_s
from clusterwright.tco.formulas.unit_cost import usd_per_million_tokens
from clusterwright.units import SECONDS_PER_HOUR, percent

_BANDS = "rows left out of the fit, catalog/serving_bands.csv; clusterwright docs serving-accuracy"
_FACTORS = "catalog/serving_factors.csv"
_MOST_SEQUENCES = "workload.options.max_sequences, or the framework's own"
#: Of an autoscaler, where the blueprint says nothing.
_COOL_DOWN_S = 300.0


#: Names that only plans of a service have.
NAMES = Names(
    also={
        "first_token_s": "first_token",
        "time_per_token_s": "time_per_token",
        "time_per_token_bound_s": "time_per_token_bound",
        "replica_memory": "weights",
        "in_flight": "batch",
        "most_in_flight": "batch",
        "spare_replicas": "replicas",
        "layout": "replicas",
        "day": "replica_hours",
        "probability": "goals_met",
        "confidence": "goals_met",
        "cached_share": "reused_input",
        "host_share": "reused_input",
        "prefill_share": "first_token",
        "tokens_per_s": "output_tokens_per_s",
        "tokens_per_s_per_gpu": "output_tokens_per_s",
        "tokens_per_joule": "output_tokens_per_s",
        "own_wins_from_tokens_per_day": "own_wins_from",
    },
)


def serving_numbers(plan: ServingPlan, option: ServingOption, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return the explanations of one target's replicas."""
    return (
        _weights(plan, option),
        _cache(plan, option),
        _batch(plan, option),
        *_found_again(plan, option),
        _first_token(plan, option),
        *_prefill_pool(option),
        *(_time_per_token(plan, option) if plan.workload.generates else ()),
        _load(plan, option),
        _replicas(plan, option),
        _goals_met(plan, option),
        _nodes(option),
        _day(plan, option),
        *(_output(plan, option, money) if plan.workload.generates else ()),
        *_token_prices(plan, option, money),
        *_own_wins(plan, option, money),
    )


def _input(name: str, value: str, source: str = "blueprint") -> Input:
    return Input(name=name, value=value, source=source)


def _said(option: ServingOption, path: str) -> str:
    """Return what the blueprint says at a path; empty for nothing."""
    return next((one.value for one in option.design.constraints if one.path == path), "")


def _weights(plan: ServingPlan, option: ServingOption) -> Explanation:
    performance = option.performance
    memory, gpus = performance.replica_memory, performance.layout.gpus
    return Explanation(
        number="weights",
        title="weights on one accelerator",
        value=f"{memory.weights / 1e9:.2f} GB",
        equation=(
            "bytes of all matrices in their formats, tables and output matrix in 16 bits / accelerators of a replica",
            f"{memory.weights * gpus / 1e9:.2f} GB / {gpus} = {memory.weights / 1e9:.2f} GB",
        ),
        inputs=(
            _input("parameters", f"{plan.workload.parameters:,}", f"facts {plan.workload.model}"),
            _input("precision", plan.workload.precision),
            _input("accelerators of a replica", str(gpus), "searched, or workload.parallelism"),
            *_also_held(option),
        ),
        sources=("clusterwright/sizing/serving/memory.py: held_bytes",),
    )


def _also_held(option: ServingOption) -> tuple[Input, ...]:
    """Return what else lies with the weights, or what of them does not, where the blueprint says so."""
    adapters = "workload.options.adapters"
    count, away = _said(option, f"{adapters}.count"), _said(option, "workload.options.offload.weights")
    resident = _said(option, f"{adapters}.resident") or count
    rank = _said(option, f"{adapters}.rank") or "16, by default"
    return (
        *([_input("adapters in memory", f"{resident} of {count}", adapters)] if count else []),
        *([_input("rank of an adapter", rank, "rank × (in + out) weights of each adapted matrix")] if count else []),
        *(
            [_input("left on the hosts", percent(float(away)), "workload.options.offload.weights; not in the bytes")]
            if away
            else []
        ),
    )


def _cache(plan: ServingPlan, option: ServingOption) -> Explanation:
    performance = option.performance
    memory = performance.replica_memory
    return Explanation(
        number="kv_cache",
        title="keys and values of one more token, with their copies on a replica",
        value=f"{memory.cache_per_token:,.0f} bytes",
        equation=(
            "layers that keep every token × elements of a token × bytes × copies that tensor parallelism makes",
            f"{memory.cache_per_token:,.0f} bytes",
        ),
        inputs=(
            _input("layers", f"{plan.workload.architecture.layers}", f"facts {plan.workload.model}"),
            _input("bytes of an element", plan.workload.cache_precision, "workload.kv_precision, or as the weights"),
            _input("tensor parallel", str(performance.layout.tensor), "searched, or workload.parallelism"),
        ),
        sources=(
            "DeepSeek-V2, arXiv 2405.04434, section 2.1, for latents; 2 × KV heads × head width for grouped heads",
        ),
    )


def _batch(plan: ServingPlan, option: ServingOption) -> Explanation:
    performance = option.performance
    memory = performance.replica_memory
    recorded = requests_that_fit.record(
        pool_bytes=memory.cache_pool * performance.layout.gpus, request_bytes=memory.cache_per_request
    )
    limited = performance.most_in_flight < recorded.result
    return explained(
        recorded,
        number="batch",
        title="requests that the memory of a replica holds at once",
        value=f"{performance.most_in_flight:,}",
        result="{:,.0f}",
        # The framework's own limit may be below what memory holds.
        held=recorded.result if limited else float(performance.most_in_flight),
        origins={},
        more=(
            _input("pool on an accelerator", f"{memory.cache_pool / 1e9:.2f} GB", "memory - weights - reserve"),
            _input("reserve on an accelerator", f"{memory.reserved / 1e9:.2f} GB", _FACTORS),
            _input("input", f"{plan.workload.input_tokens:,.0f} tokens"),
            _input("output", f"{plan.workload.output_tokens:,.0f} tokens"),
            *([_input("at most", f"{performance.most_in_flight:,}", _MOST_SEQUENCES)] if limited else []),
        ),
    )


def _found_again(plan: ServingPlan, option: ServingOption) -> tuple[Explanation, ...]:
    """Return what later turns of a chat find in memory; nothing where the blueprint has no chats."""
    performance = option.performance
    work = plan.workload
    if work.turns <= 1:
        return ()
    found, host = performance.cached_share, performance.host_share
    return (
        Explanation(
            number="reused_input",
            title="share of the input that is in memory when the next turn comes",
            value=percent(found + host, digits=1),
            equation=(
                "what earlier turns had × (1 - exp(-time that memory keeps it / pause between turns))",
                (
                    f"{percent(found, digits=2)} in the accelerators' memory + {percent(host, digits=2)} in the hosts' "
                    f"= {percent(found + host, digits=2)}"
                ),
            ),
            inputs=(
                _input("what earlier turns had", percent(work.prefix_cache_hit, digits=1), "traffic.sessions"),
                _input("turns of a chat", f"{work.turns:g}"),
                _input(
                    "pool on an accelerator",
                    f"{performance.replica_memory.cache_pool / 1e9:.2f} GB",
                    "explain batch",
                ),
                _input(
                    "memory of the host for it",
                    f"{float(_said(option, 'workload.options.offload.cache') or 0.0) / 1e9:.6g} GB an accelerator",
                    "workload.options.offload.cache",
                ),
            ),
            sources=(
                "least recently used: kept for the free room / tokens written per second",
                "clusterwright/sizing/serving/replica_times.py: found_again",
            ),
        ),
    )


def _prefill_pool(option: ServingOption) -> tuple[Explanation, ...]:
    """Return the workers that compute inputs alone; nothing where replicas do both."""
    pool = option.performance.prefill_pool
    if pool is None:
        return ()
    return (
        explained(
            replicas_needed.record(
                requests_per_s=option.performance.limit_requests_per_s, replica_requests_per_s=pool.requests_per_s
            ),
            number="prefill_pool",
            title="workers that compute inputs alone",
            value=f"{pool.workers:,} and {pool.spare} spare",
            result="{:,.0f}",
            held=float(pool.workers),
            origins={"replica_requests_per_s": "largest rate of a worker whose first tokens are in time"},
            more=(
                _input("prefill of a mean input", f"{option.performance.prefill_s * 1e3:.1f} ms", _FACTORS),
                _input("share of a worker's time at the peak", percent(pool.busy_share, digits=1), "M/G/1 queue"),
                _input("accelerators of a worker", str(pool.layout.gpus), "searched, or workload.parallelism"),
                _input(
                    "handing over of a mean input",
                    f"{pool.handing_s * 1e3:.2f} ms",
                    "bytes of its keys and values / bandwidth between the two workers",
                ),
            ),
            sources=(
                "two pools of matched rates: DistServe, OSDI 2024, section 3; clusterwright/sizing/serving/pools.py",
                _BANDS,
            ),
        ),
    )


def _first_token(plan: ServingPlan, option: ServingOption) -> Explanation:
    performance = option.performance
    found, at = performance.first_token_s, f"P{plan.goals.percentile:g}"
    busy = performance.prefill_pool.busy_share if performance.prefill_pool else performance.prefill_share
    what = "time to first token" if plan.workload.generates else "time to the answer, one pass over the input"
    return Explanation(
        number="first_token",
        title=f"{what}, {at} at the peak",
        value=f"{found.value:.3f} s ({found.low:.3f} to {found.high:.3f})",
        equation=(
            "fixed time + wait for prefills before it + its own prefill + half a decode step, each at the percentile",
            (
                f"mean {performance.mean_first_token_s:.3f} s; {at}: an input of {at} behind a queue at its {at}, with "
                f"the batch that is exceeded {percent(1 - plan.goals.percentile / 100, digits=1)} of the time: "
                f"{found.value:.3f} s"
            ),
            f"never less than computing the input at the dense peak: {performance.first_token_bound_s * 1e3:.2f} ms",
        ),
        inputs=(
            _input("prefill of a mean input", f"{performance.prefill_s * 1e3:.1f} ms", _FACTORS),
            _input("share of the time that prefills", percent(busy, digits=1), "requests/s × prefill"),
            _input("P95 of inputs", f"{plan.workload.input_tokens_p95:,.0f} tokens"),
            _input("band", f"{found.low:.3f} to {found.high:.3f} s, P10 to P90", _BANDS),
        ),
        sources=("M/G/1 queue of prefills, tail P(W > t) = ρ exp(-ρ t / mean wait)", performance.level_text),
    )


def _time_per_token(plan: ServingPlan, option: ServingOption) -> tuple[Explanation, ...]:
    cluster = option.cluster
    performance = option.performance
    found, step, at = performance.time_per_token_s, performance.decode_step, f"P{plan.goals.percentile:g}"
    ms = 1e3
    return (
        Explanation(
            number="time_per_token",
            title=f"time between two tokens of an answer, {at} at the peak",
            value=f"{found.value * ms:.2f} ms ({found.low * ms:.2f} to {found.high * ms:.2f})",
            equation=(
                "decode step of the batch + prefills of others that come between",
                (
                    f"the step with {performance.in_flight:,.1f} requests in flight takes {step.total * ms:.2f} ms; "
                    f"with prefills {performance.mean_time_per_token_s * ms:.2f} ms on average, "
                    f"{found.value * ms:.2f} ms at {at}"
                ),
            ),
            inputs=(
                _input("decode step", f"{step.total * ms:.2f} ms", "explain decode_step"),
                _input("band", f"{found.low * ms:.2f} to {found.high * ms:.2f} ms, P10 to P90", _BANDS),
            ),
            sources=(performance.level_text,),
        ),
        explained(
            step_s.record(
                products_s=step.products,
                cache_s=step.cache,
                network_s=step.network,
                overhead_s=step.overhead,
                factor=step.factor,
            ),
            number="decode_step",
            title=f"decode step of {performance.in_flight:,.1f} requests in flight",
            value=f"{step.total * ms:.2f} ms",
            result="{:,.3f} ms",
            scale=ms,
            held=step.total,
            origins={
                "products_s": "computing and reading weights, which overlap",
                "cache_s": _FACTORS,
                "network_s": _FACTORS,
                "overhead_s": _FACTORS,
                "factor": "1 + drafted tokens × cost of one, × factor of whole steps",
            },
            more=(
                _input("computing", f"{step.compute * ms:.2f} ms", _FACTORS),
                _input("reading weights", f"{step.weights * ms:.2f} ms", _FACTORS),
            ),
        ),
        Explanation(
            number="time_per_token_bound",
            title="time between two tokens that no software can beat on this layout",
            value=f"{performance.time_per_token_bound_s * ms:.2f} ms",
            equation=(
                "bytes of the weights that one token needs / (accelerators of a stage × nominal memory bandwidth)",
                f"{performance.time_per_token_bound_s * ms:.3f} ms",
            ),
            inputs=(
                _input("precision", plan.workload.precision),
                _input("memory bandwidth", cluster.accelerator_name, f"facts {cluster.accelerator}"),
            ),
            sources=("a batch of one reads every weight that it multiplies with",),
        ),
    )


def _load(plan: ServingPlan, option: ServingOption) -> Explanation:
    performance = option.performance
    work = plan.workload
    share = 1.0 if work.active_share is None else work.active_share
    peak = at_the_peak.record(
        mean=work.requests_per_s if work.requests_per_s is not None else (work.users or 0.0) * share,
        peak_over_mean=work.peak_over_mean,
        growth=work.growth_factor,
    )
    busiest = (
        _input("peak over mean", peak.text("peak_over_mean"), "traffic.peak_over_mean or traffic.daily_curve"),
        _input("growth", peak.text("growth"), "traffic.growth over economics.horizon"),
    )
    of_users = requests_of_users.record(
        users=peak.result,
        think_s=work.think_time_s or 0.0,
        answer_s=performance.mean_first_token_s + work.output_tokens * performance.mean_time_per_token_s,
    )
    by_requests = work.requests_per_s is not None
    return explained(
        peak if by_requests else of_users,
        number="peak_requests_per_s",
        title="requests per second at the peak",
        value=f"{performance.peak_requests_per_s:,.4g}",
        result="{:,.4g} requests/s",
        held=performance.peak_requests_per_s,
        origins={
            "mean": "traffic",
            "users": f"{peak.rule}: {peak.filled}",
            "think_s": "traffic.think_time; a share that waits thinks for no time",
            "answer_s": "first token + output tokens × time per token, each at its mean",
        },
        more=busiest,
    )


def _replicas(plan: ServingPlan, option: ServingOption) -> Explanation:
    performance = option.performance
    recorded = replicas_needed.record(
        requests_per_s=performance.limit_requests_per_s, replica_requests_per_s=performance.capacity_requests_per_s
    )
    # A target that has too few nodes holds fewer replicas, and misses the goals.
    fewer = performance.replicas < recorded.result
    return explained(
        recorded,
        number="replicas",
        title="replicas that the peak needs",
        value=f"{performance.replicas:,} and {performance.spare_replicas} spare",
        result="{:,.0f}",
        held=recorded.result if fewer else float(performance.replicas),
        origins={
            "replica_requests_per_s": f"largest load whose times meet the goals at P{plan.goals.percentile:g}, with "
            f"{percent(performance.confidence)} confidence in times and throughput",
        },
        more=(
            *([_input("on the target's nodes", f"{performance.replicas:,}", "explain nodes")] if fewer else []),
            _input(
                "spare",
                str(option.performance.spare_replicas),
                f"the fewest for {percent(float(goal), digits=None)} of the time, replicas.availability"
                if (goal := _said(option, "replicas.availability"))
                else "replicas.spare",
            ),
        ),
        sources=(_BANDS,),
    )


def _goals_met(plan: ServingPlan, option: ServingOption) -> Explanation:
    performance = option.performance
    goals = plan.goals

    def keeps(figure: Predicted, goal: float | None) -> str:
        if goal is None:
            return "no goal"
        return f"{figure.value:.4g} s ({figure.low:.4g} to {figure.high:.4g}), goal {goal:.4g} s"

    sure, even = (
        "no size" if nodes is None else f"{nodes:,} nodes"
        for nodes in (performance.sure_nodes, performance.even_odds_nodes)
    )
    return Explanation(
        number="goals_met",
        title="probability that the goals are met at the peak",
        value=probability_text(performance.probability),
        equation=(
            (
                "largest p with which the replicas carry the peak within the goals: times at the p-quantile of their "
                "bands, throughput at the 1 - p quantile of its own, all erring together"
            ),
            (
                f"p = {probability_text(performance.probability)} for {performance.replicas:,} replicas, sized with "
                f"{percent(performance.confidence)} confidence"
            ),
        ),
        inputs=(
            _input("first token", keeps(performance.first_token_s, goals.first_token_s), "explain first_token"),
            _input(
                "time per token",
                keeps(performance.time_per_token_s, goals.time_per_token_s),
                "explain time_per_token",
            ),
            _input(
                f"nodes for {percent(goals.confidence)}",
                sure,
                "goals.confidence" if goals.confidence_is_set else "the confidence where none is set",
            ),
            _input("nodes for even odds", even, "taken where none is set and more would cost half as many again"),
        ),
        sources=(performance.level_text, _BANDS),
    )


def _nodes(option: ServingOption) -> Explanation:
    performance, cluster = option.performance, option.cluster
    whole = performance.replicas + performance.spare_replicas
    layout, pool = performance.layout, performance.prefill_pool
    each = layout.gpus
    if pool is not None:
        before = pool.workers + pool.spare
        equation = "accelerators of the workers that decode and of those that prefill / accelerators of a node"
        filled = (
            f"({whole:,} × {each} + {before:,} × {pool.layout.gpus}) / {cluster.gpus_per_node}, rounded up = "
            f"{cluster.work_nodes:,}"
        )
    elif layout.slice:
        equation = "slices with the spare ones / slices of an accelerator / accelerators of a node"
        filled = f"{whole:,} / {layout.per_gpu} / {cluster.gpus_per_node}, each rounded up = {cluster.work_nodes:,}"
    elif each > cluster.gpus_per_node:
        equation = "replicas with the spare ones × nodes of a replica"
        filled = f"{whole:,} × {each} / {cluster.gpus_per_node} = {cluster.work_nodes:,}"
    else:
        equation = "replicas with the spare ones / replicas of a node"
        filled = f"{whole:,} / ({cluster.gpus_per_node} / {each}), rounded up = {cluster.work_nodes:,}"
    if cluster.divided_nodes:
        filled = f"{filled}; {cluster.work_nodes:,} + {cluster.divided_nodes:,} = {cluster.nodes:,}"
    return Explanation(
        number="nodes",
        title="nodes of the service",
        value=f"{cluster.nodes:,}",
        equation=(equation, filled) if not cluster.divided_nodes else (f"{equation} + nodes beside the work", filled),
        inputs=(
            *beside_work(option),
            _input("replicas", f"{whole:,}", "explain replicas"),
            _input("accelerators of a replica", str(each), "searched: the layout with the fewest nodes"),
            *([_input("slice", layout.slice, "catalog/mig_profiles.csv")] if layout.slice else []),
            *(
                [_input("workers that prefill", f"{pool.workers + pool.spare:,}", "explain prefill_pool")]
                if pool
                else []
            ),
            _input(
                "idle accelerators",
                str(performance.idle_gpus),
                "no replica fits on them, or nodes come in fixed numbers",
            ),
        ),
        sources=("clusterwright/sizing/serving/sizes.py: nodes_of_all",),
    )


def _day(plan: ServingPlan, option: ServingOption) -> Explanation:
    performance = option.performance
    day, work = performance.day, plan.workload
    hours = "replica-hours" if performance.prefill_pool is None else "hours of workers that decode"
    warm, cool = (_said(option, f"replicas.autoscaling.{name}") for name in ("warm_up", "cool_down"))
    return explained(
        replica_hours.record(
            replicas=performance.replicas, spare=performance.spare_replicas, hours=DAY_S / SECONDS_PER_HOUR
        ),
        number="replica_hours",
        title=f"{hours} of a day of today's traffic that are kept",
        value=f"{day.kept_hours:,.0f}",
        result="{:,.0f} h",
        held=day.kept_hours,
        origins={"replicas": "explain replicas"},
        more=(
            _input("worked", f"{day.worked_hours:,.0f} h", "requests of the day / requests/s of a replica"),
            _input("with an autoscaler", f"{day.following_hours:,.0f} h", "within the bounds, start and cool-down"),
            _input("peak over mean", f"{work.peak_over_mean:.4g}", "traffic.peak_over_mean or traffic.daily_curve"),
            _input("requests/s of a replica", f"{performance.capacity_requests_per_s:,.4g}", "explain replicas"),
            _input(
                "bounds",
                f"{day.least_replicas:,} to {day.most_replicas:,} replicas",
                "replicas.autoscaling, else the quietest minute and the peak",
            ),
            _input(
                "start",
                f"{day.start_lag_s:.3g} s",
                f"weights / bandwidth of the storage + warm-up of {float(warm or 0.0):g} s; a node on top is not known"
                if warm
                else "weights / bandwidth of the storage; a node and the warm-up on top are not known",
            ),
            _input(
                "cool-down",
                f"{float(cool or _COOL_DOWN_S):g} s",
                f"{'replicas.autoscaling' if cool else 'assumed'}: for which the load has been lower before one goes",
            ),
        ),
    )


def _output(plan: ServingPlan, option: ServingOption, money: MoneyFormat) -> tuple[Explanation, ...]:
    performance, rate = option.performance, option.tokens_per_s_per_usd_per_hour
    made = performance.output_tokens_per_s
    shares = [
        _input("of an accelerator", f"{performance.tokens_per_s_per_gpu:,.4g}", f"{performance.serving_gpus:,} serve"),
        _input(
            "of a watt",
            f"{performance.tokens_per_joule:.3g}",
            f"{performance.gpu_power_w:,.0f} W of an accelerator under this load, or of its slice",
        ),
    ]
    if rate is not None:
        shares.append(
            _input(
                f"of 1 {money.code} an hour",
                f"{rate / money.amount(1.0):,.4g}",
                "the month that is paid, spare replicas and idle hours included",
            )
        )
    return (
        explained(
            tokens_asked_per_s.record(
                requests_per_s=performance.peak_requests_per_s,
                tokens=plan.workload.output_tokens if plan.workload.generates else 0.0,
            ),
            number="output_tokens_per_s",
            title="output tokens per second of all replicas at the peak",
            value=f"{made.value:,.6g}",
            result="{:,.6g}",
            held=made.value,
            origins={},
            more=(
                *shares,
                _input("band", f"{made.low:,.6g} to {made.high:,.6g}, P10 to P90, of what the replicas could", _BANDS),
            ),
        ),
    )


def _own_wins(plan: ServingPlan, option: ServingOption, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return from how many tokens a day replicas of one's own cost less than the cheapest hosted model."""
    offer = next((one for one in plan.hosted if one.own_target == option.target), None)
    if offer is None or offer.own_usd_per_month is None:
        return ()
    wins, price = offer.own_wins_from_tokens_per_day, money.amount(offer.blended_usd_per_million)
    node_day = money.amount(offer.own_usd_per_month) / option.cluster.nodes / option.performance.calendar_days
    equation = (
        "no number of nodes carries as many tokens as its price buys from the provider"
        if wins is None
        else f"{wins * price / node_day / 1e6:,.4g} nodes × {node_day:,.4f} {money.code} a day / {price:,.4f} "
        f"{money.code} per million = {wins:,.4g} tokens a day"
    )
    return (
        Explanation(
            number="own_wins_from",
            title=f"tokens a day from which replicas here cost less than {offer.provider}, the cheapest host",
            value="never" if wins is None else f"{wins:,.4g}",
            equation=(
                "the fewest nodes whose replicas carry, at the mean, what their price buys of hosted tokens",
                equation,
            ),
            inputs=(
                _input(
                    "hosted",
                    f"{price:,.4f} {money.code} per million of input and output as they are asked",
                    f"{', '.join(offer.sources)}; last seen {offer.price_last_seen}",
                ),
                _input("tokens of a day", f"{offer.tokens_per_day:,.4g}", "input and output at the mean"),
                _input(
                    "requests/s of a replica",
                    f"{option.performance.capacity_requests_per_s:,.4g} at the peak",
                    "explain replicas",
                ),
            ),
            sources=("clusterwright/plan/serving/hosted.py",),
        ),
    )


def _token_prices(plan: ServingPlan, option: ServingOption, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return what tokens cost: the month that is paid on tokens of the mean traffic, and on those of full replicas."""
    performance = option.performance
    price, usd, work = option.money.usd_per_million_tokens, option.money.run_cost_usd, plan.workload
    if usd is None:
        return ()
    inputs, outputs = performance.input_tokens_per_month, performance.output_tokens_per_month
    full = performance.replicas * performance.capacity_requests_per_s * work.output_tokens * work.month_s
    capacity = (
        f"{performance.replicas:,} replicas × {performance.capacity_requests_per_s:,.4g} requests/s × "
        f"{work.output_tokens:,.0f} output tokens × {work.month_s:,.0f} s"
    )
    mean = _input(
        "mean requests/s",
        f"{performance.mean_requests_per_s:,.4g}",
        "of today, without the peak and without growth",
    )
    output = _input("output tokens", f"{work.output_tokens:,.0f} a request")
    read = _input("input tokens", f"{work.input_tokens:,.0f} a request")
    allocated, by_time = "allocated cost: what is kept is paid, whatever it makes", "shares of the accelerators' time"
    prefills = option.performance.prefill_share
    share = _input(
        "share of the time that prefills",
        percent(prefills, digits=1),
        "explain nodes" if option.performance.prefill_pool else "explain first_token",
    )
    return tuple(
        explained(
            usd_per_million_tokens.record(usd=money.amount(usd * part), tokens=tokens),
            number=number,
            title=title,
            value=exact(held, money),
            result="{:.4f} " + money.code,
            currency=money.code,
            held=money.amount(held),
            origins={
                "usd": f"of {of}: explain " + ("run_usd" if option.money.run_usd is not None else "run_share_usd"),
                "tokens": f"of a month: {which}",
            },
            more=more,
            sources=(source,),
        )
        for number, title, held, part, of, tokens, which, more, source in (
            (
                "usd_per_million_output_tokens",
                "cost of a million output tokens at the mean traffic, all hours and spare replicas on it",
                price.output,
                1.0,
                "a month",
                outputs,
                "output",
                (mean, output),
                allocated,
            ),
            (
                "usd_per_million_tokens",
                "the same on input and output tokens together"
                if work.generates
                else "cost of a million tokens of input at the mean traffic, all hours and spare replicas on it",
                price.blended,
                1.0,
                "a month",
                inputs + outputs,
                f"{inputs / 1e6:,.1f} M of input + {outputs / 1e6:,.1f} M of output",
                (mean, read, output),
                allocated,
            ),
            (
                "usd_per_million_output_tokens_at_capacity",
                "the same were all replicas of the peak always full",
                price.output_at_capacity if work.generates else None,
                1.0,
                "a month",
                full,
                capacity,
                (output,),
                "the rest of the allocated cost is that of idle hours",
            ),
            (
                "usd_per_million_input_tokens_by_time",
                "cost of the time that goes to inputs, on a million input tokens",
                price.input_by_time,
                prefills,
                "the time that prefills, in a month",
                inputs,
                "input",
                (mean, read, share),
                by_time,
            ),
            (
                "usd_per_million_output_tokens_by_time",
                "cost of the time that goes to decoding, on a million output tokens",
                price.output_by_time,
                1.0 - prefills,
                "the time that decodes, in a month",
                outputs,
                "output",
                (mean, output, share),
                by_time,
            ),
        )
        if held is not None
    )
