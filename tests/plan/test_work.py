"""The work of the horizon: given or counted, the same wherever it is shown, never more than what is owned can do."""

import math
import re
from pathlib import Path

import pytest

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.render.answer import comparison_text, plan_text
from clusterwright.outputs.report.comparison import comparison_markdown
from clusterwright.outputs.summary import readme
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.plan.work import equation, work_text
from clusterwright.pricing.book import PriceBook

from .examples import SMALL, plan_of


def small(tmp_path: Path, *overrides: str) -> Plan:
    """Return the plan of the small blueprint."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return plan_of(path, *overrides)


@pytest.mark.parametrize("more", [(), ("targets.onprem=null",), ("goals.finish_within=10 days",)])
def test_given_runs_are_the_work_whatever_is_compared(tmp_path: Path, more: tuple[str, ...]) -> None:
    """Targets and goals change what is planned, not how many runs there are to do."""
    plan = small(tmp_path, "economics.runs=36", *more)
    assert {round(option.money.runs_in_horizon, 9) for option in plan.options} == {36.0}
    assert plan.economics.runs == 36
    assert work_text(plan).startswith("36 runs in 36 months, as the blueprint says: ")


def test_counted_runs_depend_on_what_is_compared(tmp_path: Path) -> None:
    """Without the input the runs follow from utilisation and days of the reference, and the equation says so."""
    counted = {
        small(tmp_path, *more).options[0].money.runs_in_horizon for more in ((), ("goals.finish_within=10 days",))
    }
    assert len(counted) == 2


@pytest.mark.parametrize("overrides", [(), ("tco.growth=20 %",), ("economics.utilisation=35 %",)])
def test_the_printed_equation_gives_the_runs(tmp_path: Path, overrides: tuple[str, ...]) -> None:
    """Anybody gets the number of runs from the numbers that stand beside it."""
    plan = small(tmp_path, *overrides)
    product, _, rest = equation(plan).partition(" / ")
    factors = [float(number.replace(",", "")) for number in re.findall(r"[\d,.]*\d", product)]
    (hours,) = (float(number.replace(",", "")) for number in re.findall(r"[\d,.]*\d", rest))
    assert math.prod(factors) / 100 / hours == pytest.approx(plan.options[0].money.runs_in_horizon, rel=1e-3)


@pytest.mark.parametrize("given", [(), ("economics.runs=36",)])
def test_every_output_shows_where_the_runs_come_from(tmp_path: Path, given: tuple[str, ...]) -> None:
    """Plan, comparison, its Markdown and the folder's README have the equation."""
    plan = small(tmp_path, *given)
    texts = (
        plan_text(plan, tmp_path, details=True, money=USD),
        comparison_text(plan, USD),
        comparison_markdown(plan, USD),
        readme(plan, USD),
    )
    for text in texts:
        assert work_text(plan).replace(" ", "") in text.replace("\\", "").replace(" ", "").replace("\n", "")


def test_runs_that_the_utilisation_would_give_cost_the_same(tmp_path: Path) -> None:
    """The two ways to say the work agree to the cent, for what is owned and what is rented."""
    counted = small(tmp_path, "tco.growth=20 %")
    runs = counted.options[0].money.runs_in_horizon
    given = small(tmp_path, "tco.growth=20 %", f"economics.runs={runs!r}")
    assert given.economics.utilisation == pytest.approx(0.8)
    for one, other in zip(counted.options, given.options, strict=True):
        assert (one.money.run_usd, one.money.horizon_usd, one.money.npv_usd) == pytest.approx(
            (other.money.run_usd, other.money.horizon_usd, other.money.npv_usd)
        )


def test_what_is_owned_grows_with_the_runs_until_it_can_do_them(tmp_path: Path) -> None:
    """A smallest cluster that meets the goal but lacks the hours is passed over."""
    nodes = [small(tmp_path, f"economics.runs={runs}").option("onprem").cluster.nodes for runs in (10, 300)]  # type: ignore[union-attr]
    assert nodes[0] < nodes[1]


def test_more_runs_than_any_size_can_do_are_refused(tmp_path: Path) -> None:
    """The finding says how many fit; so many do fit."""
    few = ("targets.onprem.max_nodes=2", "goals.finish_within=200 days")
    plan = small(tmp_path, *few, "economics.runs=1000")
    (finding,) = (entry for entry in plan.findings if entry.id == "TCO003")
    assert finding.path == ("economics", "runs")
    most = int(finding.message.rpartition("; ")[2].split()[0].replace(",", ""))
    owned = plan.option("onprem")
    assert owned is not None
    assert owned.money.horizon_usd is None
    fitting = small(tmp_path, *few, f"economics.runs={most}")
    assert not fitting.findings
    assert small(tmp_path, *few, f"economics.runs={most + 1}").findings


def test_runs_and_utilisation_exclude_each_other(tmp_path: Path) -> None:
    """The error stands at the second, in the file, with what to do."""
    path = tmp_path / "both.yaml"
    path.write_text(f"{SMALL}economics:\n  runs: 36\n  utilisation: 50 %\n")
    with pytest.raises(BlueprintError) as caught:
        load(path, ())
    text = caught.value.render()
    assert "runs and utilisation both give the work of the horizon" in text
    assert f"{path}:{len(SMALL.splitlines()) + 3}:16" in text
    assert load(path, ("economics.utilisation=null",)).blueprint.economics.runs == 36


@pytest.mark.parametrize("runs", ["0", "-1", "many", ".inf"])
def test_runs_that_are_no_number_of_runs_are_refused(tmp_path: Path, runs: str) -> None:
    """Nothing but a number above 0 is taken."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    with pytest.raises(BlueprintError):
        load(path, (f"economics.runs={runs}",))


def test_a_plan_that_is_read_back_counts_the_same_work(tmp_path: Path) -> None:
    """The bill, the prices and the economics that it holds give every option's cost again."""
    plan = small(tmp_path, "economics.runs=36")
    for one in (plan, loads(dumps(plan))):
        costs = ledger(one, PriceBook.open()).costs()
        assert [cost.horizon_usd for cost in costs] == pytest.approx(
            [option.money.horizon_usd for option in one.options]
        )
