"""A plan of several workloads, as text."""

from clusterwright.cli.render.text_table import Column, fitted, prose, table
from clusterwright.outputs.markdown import markdown_table
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import capital, on_target
from clusterwright.sharing.record import SharedOption, SharedPlan
from clusterwright.units import percent


def shared_text(plan: SharedPlan, path: str, money: MoneyFormat) -> str:
    """Return the answer, the targets, and what each workload pays on the cheapest."""
    best = plan.recommended
    lines = [f"{plan.name} · {len(plan.options[0].parts) if plan.options else 0} workloads on one cluster", ""]
    lines += prose(f"  Answer       {answer(plan, money)}", hanging=15)
    if plan.options:
        lines += ["", _targets(plan, money)]
    if best is not None:
        lines += ["", _parts(best, money), ""]
        lines += prose(f"  Split        {split_text(best)}", hanging=15)
    for target, reason in plan.left_out:
        lines += prose(f"  Left out     {on_target(target)}: {reason}", hanging=15)
    lines += prose(f"  Each alone   clusterwright plan '{path}#NAME', and every other command likewise", hanging=15)
    return fitted("\n".join([*lines, *money.note]))


def shared_markdown(plan: SharedPlan, money: MoneyFormat) -> str:
    """Return the answer, the targets and what each workload pays on each of them, as a page."""
    lines = [f"# {plan.name}: several workloads on one cluster", "", capital(answer(plan, money)) + "."]
    lines += [
        *money.note,
        "",
        f"Prices as of {plan.as_of}. What is counted how: clusterwright docs shared-cluster.",
        "",
    ]
    rows = [
        (
            on_target(option.target),
            f"{option.nodes:,} × {option.instance}",
            money.text(option.usd),
            money.text(option.separate_usd),
            saving(option, money),
        )
        for option in plan.options
    ]
    lines += markdown_table(("target", "cluster", "shared", "separate", "sharing"), rows)
    for option in plan.options:
        lines += ["", f"## {capital(on_target(option.target))}", "", capital(split_text(option)) + ".", ""]
        lines += markdown_table(
            ("workload", "works", "nodes", "share of node-hours", "pays", "alone", "alone on"),
            [
                (
                    part.name,
                    part.hours,
                    f"{part.nodes:,}",
                    percent(part.worked_share, digits=1),
                    money.text(part.usd),
                    money.text(part.separate_usd),
                    f"{part.separate_nodes:,} × {part.separate_instance}",
                )
                for part in option.parts
            ],
        )
    lines += ["", *(f"Left out {on_target(target)}: {reason}." for target, reason in plan.left_out)]
    return "\n".join(lines).rstrip() + "\n"


def answer(plan: SharedPlan, money: MoneyFormat) -> str:
    """Return the cheapest shared cluster, and what sharing saves, in a sentence."""
    best = plan.recommended
    if best is None:
        return "unknown: no target has all workloads on one kind of node with a known cost"
    verb = "buy" if best.owned else "rent"
    head = (
        f"for all workloads over {plan.horizon_months:g} months: {verb} {best.nodes:,} × {best.instance} "
        f"({best.gpus:,} {best.accelerator_name}) {on_target(best.target)}: {money.text(best.usd)}"
    )
    return f"{head}; {saving(best, money)}"


def saving(option: SharedOption, money: MoneyFormat) -> str:
    """Return what sharing saves on a target, in words."""
    saved, share = option.saved_usd, option.saved_share
    if saved is None or share is None:
        return "what separate clusters cost is unknown"
    if abs(share) < 1e-9:  # noqa: PLR2004 - rounding noise
        return f"separate clusters cost the same: {money.text(option.separate_usd)}"
    word = "less" if saved > 0 else "more"
    difference = f"{money.text(abs(saved))} ({percent(abs(share), digits=1)}) {word}"
    return f"{difference} than separate clusters at {money.text(option.separate_usd)}"


def split_text(option: SharedOption) -> str:
    """Return how money is split, and how full the cluster is."""
    lent = [
        f"{part.name} works on nodes that are kept anyway for {percent(part.lent_share)} of its node-hours"
        for part in option.parts
        if part.lent_share
    ]
    return "; ".join(
        (
            f"by node-hours worked, {percent(option.busy_share)} of those of the cluster",
            *lent,
            f"{option.anchor} decides on the kind of node",
        )
    )


def _targets(plan: SharedPlan, money: MoneyFormat) -> str:
    columns = [
        Column("Shared", "left"),
        Column("hardware", "left"),
        Column("nodes"),
        Column("shared"),
        Column("separate"),
        Column("saved"),
        Column("busy", drop=36),
    ]
    rows = [
        (
            capital(on_target(option.target)),
            option.instance,
            f"{option.nodes:,}",
            money.text(option.usd),
            money.text(option.separate_usd),
            "unknown" if option.saved_share is None else percent(option.saved_share, digits=1),
            percent(option.busy_share),
        )
        for option in plan.options
    ]
    return table(columns, rows)


def _parts(option: SharedOption, money: MoneyFormat) -> str:
    columns = [
        Column("Workload", "left"),
        Column("works", "left", 20),
        Column("nodes"),
        Column("node-hours", drop=5),
        Column("share"),
        Column("pays"),
        Column("alone"),
        Column("alone on", "left", 30),
    ]
    rows = [
        (
            part.name,
            part.hours,
            f"{part.nodes:,}",
            f"{part.worked_node_hours:,.0f}",
            percent(part.worked_share, digits=1),
            money.text(part.usd),
            money.text(part.separate_usd),
            f"{part.separate_nodes:,} × {part.separate_instance}",
        )
        for part in option.parts
    ]
    return table(columns, rows)
