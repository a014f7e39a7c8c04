"""Where each printed number comes from: equation, inputs with their values, sources.

Each entry repeats the arithmetic of one printed number from the Plan's own fields, so that it can be checked by hand.
"""

from dataclasses import fields
from difflib import get_close_matches

from clusterwright import units
from clusterwright.errors import InputError
from clusterwright.plan.explain_failures import failure_explanations
from clusterwright.plan.explanation import Explanation, Input
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.words import days_text, layout_text, money, percent
from clusterwright.tco.records import PricedLine

_SIZING = "clusterwright/sizing"
_BAND = "residuals of published runs, catalog/calibration.csv; docs/accuracy.md"


def find(known: tuple[Explanation, ...], number: str) -> Explanation:
    """Return the explanation of a number.

    Raises:
        InputError: no number has that name; the help names the closest.
    """
    by_name = {entry.number: entry for entry in known}
    if number in by_name:
        return by_name[number]
    close = get_close_matches(number, by_name, n=3, cutoff=0.5)
    raise InputError(
        f"there is no number {number!r}",
        help=f"did you mean {' or '.join(close)}?" if close else f"one of {', '.join(by_name)}",
    )


def explanations(plan: Plan, target: str) -> tuple[Explanation, ...]:
    """Return every number of one target that can be explained.

    Raises:
        InputError: the plan has no such target.
    """
    option = plan.option(target)
    if option is None:
        raise InputError(f"the plan has no target {target!r}")
    return (
        *_time(plan, option),
        *_memory(plan, option),
        *failure_explanations(option),
        *_money(plan, option),
        *(_price(line) for line in option.lines),
    )


def _time(plan: Plan, option: Option) -> tuple[Explanation, ...]:
    work, step = plan.workload, option.step
    tokens_per_step = work.global_batch_sequences * work.sequence_length
    steps = work.tokens / tokens_per_step
    peak = option.tokens_per_s_per_gpu * work.flop_per_token / option.mfu
    days = steps * step.total_s / option.goodput / units.SECONDS_PER_DAY
    parts = tuple(
        Input(name=field.name, value=f"{getattr(step, field.name):.4g} s", source=f"{_SIZING}/step.py")
        for field in fields(step)
    )
    return (
        Explanation(
            number="parameters",
            title="parameters of the model",
            value=f"{work.parameters:,}",
            equation=("sum over embeddings, attention, MLP, norms and biases of every layer",),
            inputs=(Input(name="model", value=work.model_name, source="catalog/models.csv"),),
            sources=("clusterwright/workload/transformer.py: parameters",),
        ),
        Explanation(
            number="flop_per_token",
            title="training FLOPs per token, forward and backward, full attention",
            value=f"{work.flop_per_token:.4g} FLOP",
            equation=("6 × (matrix parameters) + 12 × layers × sequence length × attention width",),
            inputs=(
                Input(name="parameters", value=f"{work.parameters:,}", source="explain parameters"),
                Input(name="sequence_length", value=f"{work.sequence_length:,} tokens", source="blueprint"),
            ),
            sources=("Narayanan et al., SC21, eq. 3 without recomputation",),
        ),
        Explanation(
            number="step_time",
            title="time of one optimizer step",
            value=f"{step.total_s:.3f} s",
            equation=("sum of the parts that are not hidden behind others", _sum(step.total_s, parts)),
            inputs=(*parts, Input(name="layout", value=layout_text(option.layout), source="search over layouts")),
            sources=("Korthikanti et al., arXiv 2205.05198; Narayanan et al., SC21", "catalog/calibration.csv"),
        ),
        Explanation(
            number="mfu",
            title="model FLOP/s over the dense peak",
            value=percent(option.mfu),
            equation=(
                "tokens/s per GPU × FLOP per token / dense peak",
                f"{option.tokens_per_s_per_gpu:.1f} × {work.flop_per_token:.4g} / {peak:.4g} = {option.mfu:.3f}",
            ),
            inputs=(
                Input(
                    name="tokens_per_s_per_gpu", value=f"{option.tokens_per_s_per_gpu:.1f}", source="explain step_time"
                ),
                Input(name="dense peak", value=units.text(peak, units.FLOP_RATE), source=f"facts {option.accelerator}"),
            ),
            sources=("PaLM, arXiv 2204.02311, appendix B",),
        ),
        Explanation(
            number="calendar_days",
            title="calendar days of the run, median",
            value=days_text(option.calendar_days),
            equation=(
                "steps × step time / goodput",
                f"{steps:,.0f} × {step.total_s:.3f} s / {option.goodput:.4f} = {days:.2f} days",
            ),
            inputs=(
                Input(
                    name="steps",
                    value=f"{work.tokens:.4g} tokens / ({work.global_batch_sequences:,} × {work.sequence_length:,})",
                    source="blueprint",
                ),
                Input(name="step time", value=f"{step.total_s:.3f} s", source="explain step_time"),
                Input(name="goodput", value=f"{option.goodput:.4f}", source="explain goodput"),
                Input(
                    name="band",
                    value=f"{option.calendar_days_low:.2f} to {option.calendar_days_high:.2f} days",
                    source=_BAND,
                ),
            ),
            sources=("the band is P10 and the goal's confidence quantile of predicted over measured step time",),
        ),
    )


def _sum(total: float, parts: tuple[Input, ...]) -> str:
    return " + ".join(part.value for part in parts) + f" = {total:.4g} s"


def _memory(plan: Plan, option: Option) -> tuple[Explanation, ...]:
    memory = option.memory_bytes_per_gpu
    terms = tuple(
        Input(name=field.name, value=f"{getattr(memory, field.name) / 1e9:.2f} GB", source=f"{_SIZING}/memory.py")
        for field in fields(memory)
    )
    return (
        Explanation(
            number="memory",
            title="memory of the fullest GPU",
            value=f"{memory.total / 1e9:.2f} of {option.hbm_bytes_per_gpu / 1e9:.2f} GB",
            equation=(
                "weights + gradients + optimizer + activations + logits + communication + reserve",
                " + ".join(term.value for term in terms) + f" = {memory.total / 1e9:.2f} GB",
            ),
            inputs=(
                *terms,
                Input(name="layout", value=layout_text(option.layout), source="search over layouts"),
                Input(name="parameters", value=f"{plan.workload.parameters:,}", source="explain parameters"),
            ),
            sources=(
                "states: 18 bytes per parameter, Megatron-LM theoretical_memory_usage; ZeRO, arXiv 1910.02054",
                "activations: Korthikanti et al., arXiv 2205.05198, eq. 2 to 6",
            ),
        ),
    )


def _money(plan: Plan, option: Option) -> tuple[Explanation, ...]:
    economics = plan.economics
    horizon = f"{economics.horizon_months:.0f} months of {economics.hours_per_month:.0f} h"
    base = tuple(
        Input(name=name, value=value, source="blueprint, economics")
        for name, value in (
            ("horizon", horizon),
            ("utilisation", percent(economics.utilisation)),
            ("discount rate", percent(economics.discount_rate)),
        )
    )
    run_parts = tuple(
        Input(name=entry.category, value=money(entry.usd), source=f"{money(entry.priced_usd)} of it from documents")
        for entry in option.run_breakdown
    )
    horizon_parts = tuple(
        Input(name=entry.category, value=money(entry.usd), source=f"{money(entry.priced_usd)} of it from documents")
        for entry in option.horizon_breakdown
    )
    rented = option.target != "onprem"
    rule = (
        "what is rented, for the calendar hours of the run"
        if rented
        else "the run's share of the hours worked × the horizon's cost after resale"
    )
    return (
        _entry("run_usd", "cost of this run", option.run_usd, rule, run_parts),
        _entry(
            "horizon_usd",
            f"cost of {option.runs_in_horizon:.1f} runs over the horizon, after resale",
            option.horizon_usd,
            "sum of the monthly cash flow by category",
            (*base, *horizon_parts),
        ),
        _entry(
            "capex_usd",
            "cash paid at the start for what is bought",
            option.capex_usd,
            "sum of quantity × price over lines that are bought, with installation and spares",
            tuple(
                Input(name=line.line.item, value=money(line.usd_per_period), source=f"{line.basis}, {line.price_date}")
                for line in option.lines
                if line.line.charge == "once"
            ),
        ),
        _entry(
            "npv_usd",
            "present value of the horizon's cash flow",
            option.npv_usd,
            "sum over months of cash / (1 + discount rate)^(month / 12)",
            base,
        ),
        _entry(
            "usd_per_gpu_hour",
            "cost of a GPU-hour of the run",
            option.usd_per_gpu_hour,
            "run cost / (GPUs × calendar hours)",
            (
                Input(name="run cost", value=money(option.run_usd), source="explain run_usd"),
                Input(name="GPUs", value=f"{option.gpus:,}", source="plan"),
                Input(name="hours", value=f"{option.calendar_days * 24:,.1f}", source="explain calendar_days"),
            ),
        ),
    )


def _entry(number: str, title: str, usd: float | None, equation: str, inputs: tuple[Input, ...]) -> Explanation:
    return Explanation(
        number=number,
        title=title,
        value=money(usd),
        equation=(equation,),
        inputs=inputs,
        sources=("docs/tco.md; tco/sql",),
    )


def _price(line: PricedLine) -> Explanation:
    return Explanation(
        number=line.line.sku,
        title=f"price of {line.line.item}",
        value="unknown"
        if line.unit_usd is None
        else f"{line.unit_usd:,.4g} USD per {line.line.unit}, {line.line.charge}",
        equation=(
            f"{line.line.quantity:,.6g} {line.line.unit} × price = {money(line.usd_per_period)} {line.line.charge}",
        ),
        inputs=(
            Input(
                name="quantity", value=f"{line.line.quantity:,.6g} {line.line.unit}", source=line.line.note or "bill"
            ),
            Input(name="price", value=f"{line.basis}, in force from {line.price_date}", source=line.source),
        ),
        sources=tuple(part for part in (line.source, line.note) if part),
    )
