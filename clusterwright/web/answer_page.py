"""The answer as a part of the planner's page: answer, comparison, charts; numbers can be asked where they are from."""

from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clusterwright import assets
from clusterwright.interface.places import placing
from clusterwright.interface.results import PlanResult
from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.page_parts import Cell, Chart
from clusterwright.outputs.report import charts, cluster_charts, tables
from clusterwright.plan.record import Plan
from clusterwright.plan.text.currency import money_as_asked
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import main_ways
from clusterwright.plan.text.words import NAME_OF_TARGET, answer_lines, capital

#: How a column of the comparison begins, and the number that explains it.
_EXPLAINED = (
    ("Same work", "horizon_usd"),
    ("Present value", "npv_usd"),
    ("Days", "calendar_days"),
    ("Cluster", "nodes"),
    ("Buy now", "capex_usd"),
    ("Priced from", "priced_share"),
    ("Share of", "run_usd"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A cell, with the number and the target that an explanation of it is asked by; empty where there is none."""

    cell: Cell
    number: str = ""
    target: str = ""


def environment() -> Environment:
    """Return the templates of the planner; every text is escaped."""
    return Environment(
        loader=FileSystemLoader(assets.root() / "templates" / "web"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def answer_html(made: PlanResult) -> str:
    """Return the answer of a plan, its money in the blueprint's currency."""
    with placing(made.blueprint):
        money = money_as_asked(made.plan)
        plan = made.plan
        table = tables.comparison(plan, tables.Sources(), money)
        return (
            environment()
            .get_template("answer.html.j2")
            .render(
                answer=[capital(line) for line in answer_lines(plan, money)],
                findings=[(item.id, ".".join(map(str, item.path)), item.message, item.help) for item in plan.findings],
                warnings=[(item.id, ".".join(map(str, item.path)), item.message, item.help) for item in plan.warnings],
                columns=table.columns,
                numeric=table.numeric,
                rows=_rows(plan, table.columns, table.rows, money),
                targets=[(option.target, capital(NAME_OF_TARGET[option.target])) for option in plan.options],
                charts=_charts(plan, money),
                currency=" ".join(money.note).strip(),
                as_of=plan.as_of,
            )
        )


def _rows(
    plan: Plan, columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...], money: MoneyFormat
) -> list[list[Told]]:
    """Return the rows of the comparison; a number of a target's own option can be explained."""
    found = []
    for way, row in zip(main_ways(plan), rows, strict=True):
        own = next((entry for entry in plan.options if plan.planned(way.key) is entry), None)
        found.append(
            [
                Told(cell=cell)
                if own is None or not any(letter.isdigit() for letter in cell.text)
                else Told(
                    cell=cell, target=own.target, number=_number(plan, own.target, own.cluster.instance, column, money)
                )
                for column, cell in zip(columns, row, strict=True)
            ]
        )
    return found


def _number(plan: Plan, target: str, instance: str, column: str, money: MoneyFormat) -> str:
    if column == capital(plan.workload.unit.asked):
        return "run_usd"
    if column == f"{money.code} per GPU-hour":
        return "usd_per_gpu_hour"
    if column == "Price of a node":
        return f"{target}/{instance}"
    return next((number for begin, number in _EXPLAINED if column.startswith(begin)), "")


def _charts(plan: Plan, money: MoneyFormat) -> list[Chart]:
    unit = plan.workload.unit
    found = [
        Chart(svg=charts.cost_chart(plan, horizon=False, money=money), caption=f"Cost of {unit.asked}, by category."),
        Chart(
            svg=charts.cost_chart(plan, horizon=True, money=money),
            caption="Cost of the same work over the horizon, by category.",
        ),
        *outputs_of(plan).cluster_charts(plan),
        Chart(
            svg=cluster_charts.front_chart(plan),
            caption="Cluster sizes that no other size beats in both nodes and days; the chosen ones are marked.",
        ),
    ]
    return [chart for chart in found if chart.svg]
