"""The answer is the least of the column that decides, and what is cheaper on paper is planned or says why it is not."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from clusterwright import assets
from clusterwright.cli import planning
from clusterwright.cli.compare.finance import finance_text
from clusterwright.cli.render import text_table
from clusterwright.cli.render.answer import plan_text
from clusterwright.cli.render.ranked import ranking_lines
from clusterwright.errors import ClusterwrightError
from clusterwright.finance.finances import finances
from clusterwright.interface.documents import ranking_document
from clusterwright.outputs.report.comparison import comparison_markdown
from clusterwright.outputs.report.memo import figures
from clusterwright.outputs.report.ranking import again_table, paper_table
from clusterwright.outputs.report.tables import Sources, comparison
from clusterwright.outputs.summary import readme
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.record import Alternative, Plan
from clusterwright.plan.serving.record import serving_plan
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.ranking import (
    again_text,
    comparable,
    main_reason_text,
    main_ways,
    paper_title,
    paper_ways,
)
from clusterwright.plan.text.serving import certainty_text
from clusterwright.plan.text.words import answer_lines, band_text, capital, no_unit_answer, term_text
from clusterwright.plan.training.record import training_plan
from clusterwright.pricing.book import PriceBook
from tests.opened import report_html, workbook_xlsx

BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
#: Blueprints as overrides of the example: other goals, targets, capacities, contracts, mixes, owners.
FIXED = (
    (),
    ("goals.finish_within=10 days",),
    ("goals.finish_within=60 days", "economics.utilisation=30 %"),
    ("targets.onprem=null",),
    ("targets.aws=null", "targets.azure=null", "targets.onprem=null"),
    ("targets.aws.capacity=capacity-block", "targets.aws.reservation=cr-0123456789abcdef0"),
    ("targets.azure.capacity=spot",),
    ("targets.gcp.capacity=on-demand",),
    ("tco.contracts=[{target: aws, term: on_demand, discount: 20 %}, {target: gcp, term: reserved_3y}]",),
    ("tco.delivery=6 months",),
    ("tco.hybrid=[{owned: 50 %}]",),
    ("tco.cloud={support: enterprise, egress: 300 TB, setup: 90000 USD, goodput_loss: 3 %}",),
)
SERVICE = assets.root() / "blueprints" / "serve-llama3-70b.yaml"
FINETUNING = assets.root() / "blueprints" / "finetune-llama3-8b-qlora.yaml"
#: Contracts and taxes of a blueprint: what is paid, and to whom, beside the bill.
CONTRACT = "tco.contracts=[{target: aws, term: on_demand, discount: 20 %}]"
TAXED = ("tco.tax_rate=25 %", CONTRACT)


@pytest.fixture(autouse=True, scope="module")
def _wide_terminal() -> Iterator[None]:
    """Leave no column out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_table, "line_width", lambda: 400)
        yield


#: Surer than this, no capacity block and no flex start is the answer of the example: the band of its days is wide.
LESS_SURE = "goals.confidence=60 %"


@cache
def plan_of(*set_values: str) -> Plan:
    """Return the plan of the example with overrides."""
    return planning.plan_of(BLUEPRINT, list(set_values))


@cache
def service_of(*set_values: str) -> Plan:
    """Return the plan of the shipped service with overrides."""
    return planning.plan_of(SERVICE, list(set_values))


@cache
def finetuning_of(*set_values: str) -> Plan:
    """Return the plan of the shipped fine-tuning with overrides."""
    return planning.plan_of(FINETUNING, list(set_values))


@pytest.fixture(scope="module", params=FIXED, ids=lambda values: " ".join(values) or "as shipped")
def plan(request: pytest.FixtureRequest) -> Plan:
    """Return the plan of each fixed blueprint."""
    return plan_of(*request.param)


def test_the_answer_for_this_run_is_the_least_cash_of_every_ranked_way(plan: Plan) -> None:
    """Neither answer is undercut, and shares stand in no column of cash."""
    _answers_decide(plan)


def _answers_decide(plan: Plan) -> None:
    cash = [way.money.run_usd for way in plan.ranked if way.money.run_usd is not None]
    answer = plan.alternative(plan.recommended_key)
    assert (answer is None) == (not plan.ranked)
    if answer is not None:
        assert answer.ranked
        assert answer.target == plan.recommended
        assert answer.money.run_usd == min(cash, default=None)
    kept = plan.alternative(plan.recommended_horizon_key)
    if kept is not None:
        assert kept.money.npv_usd == min(way.money.npv_usd for way in plan.ranked if way.money.npv_usd is not None)
    for way in plan.ranking:
        assert way.ranked != bool(way.reason)
        # A share of what is bought or committed is never cash.
        assert way.money.run_usd is None or way.money.run_share_usd is None
        assert not (way.owned or way.mixed or way.money.term.startswith("reserved")) or way.money.run_usd is None
    assert all(option.money.run_usd is None for option in plan.options if option.design.facility is not None)


@settings(max_examples=12, deadline=None)
@given(
    goal=st.sampled_from(["4 days", "12 days", "21 days", "30 days", "90 days"]),
    work=st.tuples(st.sampled_from(["30e9", "300e9"]), st.sampled_from(["10 %", "50 %", "100 %"])),
    without=st.sets(st.sampled_from(["aws", "azure", "gcp", "onprem"]), max_size=3),
    capacities=st.tuples(st.sampled_from(["", "spot", "on-demand"]), st.sampled_from(["", "flex-start", "spot"])),
)
def test_no_ranked_way_undercuts_the_answer(
    goal: str, work: tuple[str, str], without: set[str], capacities: tuple[str, str]
) -> None:
    """Whatever goal, work, targets and capacities a blueprint has."""
    (tokens, utilisation), (aws, gcp) = work, capacities
    values = [f"goals.finish_within={goal}", f"workload.tokens={tokens}", f"economics.utilisation={utilisation}"]
    values += [f"targets.{name}=null" for name in sorted(without)]
    values += [f"targets.aws.capacity={aws}"] * bool(aws and "aws" not in without)
    values += [f"targets.gcp.capacity={gcp}"] * bool(gcp and "gcp" not in without)
    try:
        plan = plan_of(*values)
    except ClusterwrightError:
        return  # the job fits nowhere
    _answers_decide(plan)
    _shown_tables_decide(plan)


def test_no_row_of_what_is_printed_undercuts_the_answer(plan: Plan) -> None:
    """Terminal, Markdown, README and report show nothing cheaper among what is ranked."""
    _shown_tables_decide(plan)


def _shown_tables_decide(plan: Plan) -> None:
    answer, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    if answer is None or kept is None:
        return
    ranked = plan_text(plan, Path("blueprint.yaml"), details=True, money=USD).split(paper_title(plan))[0]
    asked = plan.workload.unit.asked
    assert _least(_text_column(ranked, asked, asked=asked), answer.money.run_usd)
    assert _least(_text_column(ranked, "NPV", asked=asked), kept.money.npv_usd)
    # The table of what the options consist of need not have the answers; it undercuts neither.
    for option in comparable(plan):
        assert (
            option.money.run_usd is None
            or answer.money.run_usd is None
            or option.money.run_usd >= answer.money.run_usd * 0.999
        )
        assert (
            option.money.npv_usd is None
            or kept.money.npv_usd is None
            or option.money.npv_usd >= kept.money.npv_usd * 0.999
        )
    for text in (comparison_markdown(plan, USD), readme(plan, USD)):
        ranked = text.split(paper_title(plan))[0]
        assert _least(_markdown_column(ranked, asked, asked=asked), answer.money.run_usd)
        assert _least(_markdown_column(ranked, "npv", asked=asked), kept.money.npv_usd)
    table = comparison(plan, Sources(), USD)
    for title, usd in ((capital(asked), answer.money.run_usd), ("Present value", kept.money.npv_usd)):
        cells = [row[table.columns.index(title)].text for row in table.rows]
        assert _least([_usd(cell) for cell in cells], usd)
    assert len(paper_table(plan, USD).rows) == len(paper_ways(plan))
    again = loads(dumps(plan))
    assert again.recommended_key == plan.recommended_key
    assert again.ranking == plan.ranking


def _least(shown: list[float | None], answer_usd: float | None) -> bool:
    """Tell whether nothing that is shown is less than the answer, as far as printed digits tell."""
    known = [usd for usd in shown if usd is not None]
    return answer_usd is None or (bool(known) and min(known) == pytest.approx(answer_usd, rel=0.006))


def _usd(text: str) -> float | None:
    found = re.search(r"\$([\d,.]+)( M| k)?", text)
    return None if found is None else float(found[1].replace(",", "")) * {" M": 1e6, " k": 1e3}.get(found[2], 1.0)


def _text_column(text: str, title: str, *, asked: str = "this run") -> list[float | None]:
    """Return the amounts under a title of the first table of a text for a terminal."""
    lines = text.splitlines()
    head = next(place for place, line in enumerate(lines) if asked in line and "share of a " in line)
    end = lines[head].index(title) + len(title)
    rows = lines[head + 1 : [*lines, ""].index("", head)]
    return [_usd(re.split(r"\s{2,}", row[:end])[-1]) for row in rows]


def _markdown_column(text: str, title: str, *, asked: str) -> list[float | None]:
    lines = text.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("|") and asked in line.lower())
    titles = [cell.strip().lower() for cell in lines[head].split("|")]
    column = next(place for place, cell in enumerate(titles) if cell.endswith(title))
    rows = [line for line in lines[head + 2 : [*lines, ""].index("", head)] if line.startswith("|")]
    return [_usd(row.replace("\\|", "").split("|")[column]) for row in rows]


@pytest.mark.parametrize("values", [(), ("tco.cloud={support: enterprise, egress: 300 TB}",), ("targets.onprem=null",)])
def test_nothing_undercuts_the_answer_of_a_service(values: tuple[str, ...]) -> None:
    """A month of a service is answered and shown by the same rules as a run."""
    plan = service_of(*values)
    assert plan.ranked
    _answers_decide(plan)
    _shown_tables_decide(plan)


@pytest.mark.parametrize("values", [(), TAXED, ("targets.onprem=null",)])
def test_nothing_undercuts_the_answer_of_fine_tuning(values: tuple[str, ...]) -> None:
    """A run of some hours is answered and shown by the same rules."""
    plan = finetuning_of(*values)
    assert plan.ranked
    _answers_decide(plan)
    _shown_tables_decide(plan)
    _documents_decide(plan)


@pytest.mark.parametrize(("of", "values"), [(plan_of, TAXED), (service_of, TAXED)])
def test_nothing_undercuts_the_answer_in_documents(of: Callable[..., Plan], values: tuple[str, ...]) -> None:
    """Workbook and JSON show nothing cheaper among what is ranked, with contracts and taxes, too."""
    plan = of(*values)
    _answers_decide(plan)
    _documents_decide(plan)


def _documents_decide(plan: Plan) -> None:
    answer, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    assert kept is not None
    found = finances(plan, PriceBook.open(), draws=10, seed=1)
    ranked = ranking_document(plan, found)["ranked"]
    runs = [row["run_usd"] for row in ranked if row["run_usd"] is not None]
    assert answer is None or answer.money.run_usd is None or min(runs) == answer.money.run_usd
    assert min(row["npv_usd"] for row in ranked if row["npv_usd"] is not None) == kept.money.npv_usd
    rows = [
        list(row)
        for row in load_workbook(BytesIO(workbook_xlsx(plan, found)), data_only=True)["Ranking"].iter_rows(
            values_only=True
        )
    ]
    head = next(place for place, row in enumerate(rows) if row[0] == "Ranked")
    shown = rows[head + 1 : head + 1 + len(plan.ranked)]
    cash = [row[3] for row in shown if isinstance(row[3], float)]
    assert answer is None or answer.money.run_usd is None or min(cash) == pytest.approx(answer.money.run_usd)
    assert min(row[6] for row in shown if isinstance(row[6], float)) == pytest.approx(kept.money.npv_usd)


@pytest.mark.parametrize("of", [service_of, finetuning_of])
def test_what_an_option_does_not_have_moves_none_of_its_figures(of: Callable[..., Plan]) -> None:
    """A dollar of the owner's transit leaves cost, bands and draws of all that is rented as they were, to the bit."""
    plain, plan = of(), of("tco.owner.transit_usd_per_month=1")
    rented = [way.key for way in plain.ranking if not (way.owned or way.mixed)]
    assert rented
    for key in rented:
        before, after = plain.alternative(key), plan.alternative(key)
        assert before is not None
        assert after is not None
        for name in ("run_usd", "run_usd_low", "run_usd_high", "horizon_usd", "npv_usd", "npv_usd_low", "npv_usd_high"):
            assert getattr(after.money, name) == getattr(before.money, name), (key, name)
    bands = [
        {
            entry.key: (entry.npv_usd_p10, entry.npv_usd_p50, entry.npv_usd_p90)
            for entry in finances(one, PriceBook.open(), draws=50, seed=1).drawn
            if entry.key in rented
        }
        for one in (plain, plan)
    ]
    assert bands[0] == bands[1]


@pytest.mark.parametrize("of", [plan_of, service_of])
def test_charges_beside_the_bill_are_in_the_options_as_in_the_ranking(of: Callable[..., Plan]) -> None:
    """An option, its row of the ranking, and the summary of the workbook have the same dollars, charges included."""
    plain, plan = of(), of("tco.cloud={support: enterprise, egress: 300 TB}")
    for option in plan.options:
        way = plan.alternative(option.target if option.design.facility else f"{option.target}/{option.money.term}")
        without = plain.option(option.target)
        assert way is not None
        assert without is not None
        for name in ("run_usd", "run_usd_low", "run_usd_high", "run_share_usd", "horizon_usd", "npv_usd"):
            usd = getattr(option.money, name)
            assert getattr(way.money, name) == (None if usd is None else pytest.approx(usd)), (option.target, name)
        if option.design.facility is None:
            assert option.money.npv_usd is not None
            assert without.money.npv_usd is not None
            assert option.money.npv_usd > without.money.npv_usd
    book = load_workbook(BytesIO(workbook_xlsx(plan)), data_only=True)
    rows = [list(row) for row in book["Summary"].iter_rows(values_only=True)]
    titles = next(row for row in rows if row[0] == "where")
    for option, row in zip(plan.options, rows[rows.index(titles) + 1 :], strict=False):
        run = row[4] if option.money.run_share_usd is None else row[5]
        shown = (run, row[titles.index("horizon, USD")], row[titles.index("present value, USD")])
        wanted = (option.money.run_share_usd or option.money.run_usd, option.money.horizon_usd, option.money.npv_usd)
        assert shown == pytest.approx(wanted, rel=1e-9), option.target
    assert book["Checks"]["C3"].value == "OK"


def test_what_work_costs_has_what_is_not_ranked_apart() -> None:
    """The least cash of the first table of `compare --finance` is the answer's; what undercuts it stands apart."""
    plan = plan_of()
    text = finance_text(plan, finances(plan, PriceBook.open(), draws=10, seed=1, everything=True), USD)
    ranked, paper = text.split(f"What work costs, {paper_title(plan).lower()}")
    ranked = ranked.partition("What work costs")[2]
    answer, spot = plan.alternative(plan.recommended_key), plan.alternative("azure/spot")
    assert answer is not None
    assert spot is not None
    assert _least(_text_column(f"  What work costs{ranked}", "this run"), answer.money.run_usd)
    assert term_text(spot.key) not in ranked
    assert f"{capital(term_text(spot.key))} " in paper
    assert USD.text(spot.money.run_usd) in paper


def test_bands_of_a_service_are_not_called_bands_of_days() -> None:
    """A month of service has no days that could take longer; a run has."""
    assert "days" not in band_text(service_of())
    assert "of P10 to P90 days with every assumed price" in band_text(plan_of())


def test_compare_has_what_is_ranked_and_what_is_not_apart() -> None:
    """The table of every way begins with the answers' least figures; the JSON has both lists."""
    plan = plan_of()
    found = finances(plan, PriceBook.open(), draws=10, seed=1, everything=True)
    text = "\n".join(ranking_lines(plan, found, money=USD))
    ranked, paper = text.split(f"  {paper_title(plan)}")
    answer, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    assert answer is not None
    assert kept is not None
    assert _least(_text_column(ranked, "this run"), answer.money.run_usd)
    assert _least(_text_column(ranked, "NPV"), kept.money.npv_usd)
    assert "nodes may be taken back" in " ".join(paper.split())
    document = ranking_document(plan, found)
    assert min(row["run_usd"] for row in document["ranked"] if row["run_usd"]) == answer.money.run_usd
    assert {row["key"] for row in document["not_ranked"]} >= {way.key for way in paper_ways(plan)}
    # What owning is held against is of the same ranking.
    assert found.compared_with == next(way.key for way in plan.ranked if not way.owned)
    assert found.owned_key == next(way.key for way in plan.ranked if way.owned and not way.mixed)


@pytest.mark.parametrize("width", [40, 80, 110, 400])
@pytest.mark.parametrize("sets", [(), FIXED[4]], ids=["several targets", "one target"])
def test_the_legend_explains_the_columns_that_are_shown(
    sets: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a column decides, and the share of draws, are said where the table has that column, and only there."""
    plan = plan_of(*sets)
    found = finances(plan, PriceBook.open(), draws=10, seed=1)
    monkeypatch.setattr(text_table, "line_width", lambda: width)
    lines = ranking_lines(plan, found, money=USD)
    hidden = " ".join(lines[0].partition("left out at this width: ")[2].split()).split(", ")
    for title in ("this run", "share of a run", "NPV", "best in"):
        assert (f"{title}: " in lines[1]) == (title not in hidden), title
    assert ("best in: share of 10 draws" in lines[1]) == (width > 80)


def test_no_legend_speaks_of_draws_that_were_not_made() -> None:
    """Where no ranked way is known in the draws, nothing is said of a share of them; without ranked ways, nothing."""
    plan = plan_of()
    found = finances(plan, PriceBook.open(), draws=10, seed=1)
    undrawn = replace(found, drawn=())
    assert "best in:" not in ranking_lines(plan, undrawn, money=USD)[1]
    none = replace(plan, alternatives=tuple(replace(way, ranked=False) for way in plan.alternatives))
    assert "best in" not in "\n".join(ranking_lines(none, undrawn, money=USD))


def test_runs_of_hours_are_shown_in_hours_in_every_table() -> None:
    """A run of 0.9 hours does not take 0.0 days, and one GPU is not 1 GPUs; runs of days keep their days."""
    plan = finetuning_of()
    found = finances(plan, PriceBook.open(), draws=10, seed=1)
    hours = [f"{way.performance.calendar_days * 24:.1f}" for way in plan.ranked]
    assert "0.0" not in hours
    head, *lines = ranking_lines(plan, found, money=USD)[0].splitlines()
    end = head.index("hours") + len("hours")
    assert [line[:end].split()[-1] for line in lines[: len(hours)]] == hours
    shown, again = comparison(plan, Sources(), USD), again_table(plan, USD)
    times = [row[shown.columns.index("Hours")].text for row in shown.rows]
    assert times == [f"{way.performance.calendar_days * 24:.1f} hours" for way in main_ways(plan)]
    assert [row[again.columns.index("Hours")].text for row in again.rows] == hours
    assert "| hours |" in comparison_markdown(plan, USD)
    assert "1 GPUs" not in [cell.detail for row in shown.rows for cell in row]
    assert "Days" in comparison(plan_of(), Sources(), USD).columns


def test_every_ranked_row_says_how_it_is_planned_again() -> None:
    """Terminal with details, Markdown and report have the overrides of each ranked way; without, where they are."""
    plan = plan_of()
    found = finances(plan, PriceBook.open(), draws=10, seed=1, everything=True)
    details = " ".join("\n".join(ranking_lines(plan, found, details=True, money=USD)).split())
    marked = " ".join(comparison_markdown(plan, USD).replace("\\", "").split())
    rows = {row[0].text: row[0].detail for row in again_table(plan, USD).rows}
    for way in plan.ranked:
        words = again_text(way)
        assert all(f"--set {value}" in words for value in way.set_values)
        assert bool(way.set_values) != (words == "the blueprint as it is")
        assert f"{term_text(way.key)} {words}" in details
        assert f"{term_text(way.key)}: {words}" in marked
        assert rows[capital(term_text(way.key))] == words
    assert "--details: how to plan each row again" in "\n".join(ranking_lines(plan, found, money=USD))


def test_the_first_page_names_the_quantities_of_the_answer() -> None:
    """A run that is paid whole has no band of two equal ends; the horizon is the present value of the answer."""
    plan = plan_of("targets.gcp.capacity=on-demand", LESS_SURE)
    found = finances(plan, PriceBook.open(), draws=10, seed=1)
    run, horizon, payback, sure = figures(plan, found, USD)
    alone, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    assert alone is not None
    assert kept is not None
    assert (run.title, run.value) == ("One run, cash", USD.text(alone.money.run_usd))
    assert run.band == "capacity block of 21 days, paid whole"
    assert (horizon.title, horizon.value) == ("36 months, present value", USD.text(kept.money.npv_usd))
    assert f"{horizon.value} ({horizon.band}) in present value" in answer_lines(plan, USD)[1]
    assert f"{USD.text(kept.money.horizon_usd)} paid" in horizon.of
    assert payback.of == "owning against AWS, on demand"
    assert sure.of == "on premises, of 10 draws"
    # Of what is paid by the hour, the days make the band.
    hourly = plan_of("targets.aws.capacity=on-demand")
    first = figures(hourly, finances(hourly, PriceBook.open(), draws=10, seed=1), USD)[0]
    assert " to " in first.band


def test_the_workbook_has_what_is_ranked_and_what_is_not_apart() -> None:
    """The sheet Ranking has the plan's figures; the summary has no share of owning as cash."""
    plan = plan_of()
    found = finances(plan, PriceBook.open(), draws=10, seed=1)
    book = load_workbook(BytesIO(workbook_xlsx(plan, found)), data_only=True)
    rows = [list(row) for row in book["Ranking"].iter_rows(values_only=True)]
    head = next(place for place, row in enumerate(rows) if row[0] == "Ranked")
    apart = next(place for place, row in enumerate(rows) if row[0] == paper_title(plan))
    cash = [row[3] for row in rows[head + 1 : apart] if isinstance(row[3], float)]
    answer = plan.alternative(plan.recommended_key)
    assert answer is not None
    assert min(cash) == pytest.approx(answer.money.run_usd)
    assert len(rows[apart + 1 :]) == len(paper_ways(plan))
    # Every ranked figure that another sheet holds is a formula with the engine's value.
    formulas = load_workbook(BytesIO(workbook_xlsx(plan, found)))["Ranking"]
    for place, way in enumerate(plan.ranked, start=head + 2):
        run = way.money.run_share_usd if way.money.run_usd is None else way.money.run_usd
        columns = {
            3: way.performance.calendar_days,
            4 if way.money.run_share_usd is None else 5: run,
            6: way.money.horizon_usd,
            7: way.money.npv_usd,
        }
        for column, value in columns.items():
            assert str(formulas.cell(place, column).value).startswith("="), (way.key, column)
            assert rows[place - 1][column - 1] == pytest.approx(value, rel=1e-6), (way.key, column)
    summary = [list(row) for row in book["Summary"].iter_rows(values_only=True)]
    owned = next(row for row in summary if row[0] == "on premises")
    titles = next(row for row in summary if row[0] == "where")
    assert owned[titles.index("this run, USD")] == "–"
    assert owned[titles.index("share of a run, USD")] == pytest.approx(plan.options[3].money.run_share_usd)


def _same_way(way: Alternative, again: Plan) -> Alternative:
    """Return the row of a plan that was made with a way's own overrides: of its target, hardware and terms."""
    return next(
        other
        for other in again.ranked
        if (other.target, other.cluster.instance, other.money.term, other.owned, other.mixed)
        == (way.target, way.cluster.instance, way.money.term, way.owned, way.mixed)
        and other.key.split("/")[1:]
        in (way.key.split("/")[1:], way.key.split("/")[1:] + [other.money.term] * (":" in way.key and way.owned))
    )


@pytest.mark.parametrize(
    ("of", "values"),
    [
        (plan_of, ()),
        (plan_of, ("targets.aws.allowed_instances=[p5.48xlarge, p5en.48xlarge]", "targets.aws.instance=null")),
        (plan_of, ("goals.finish_within=10 days", *TAXED)),
        (service_of, TAXED),
        (finetuning_of, ()),
    ],
)
def test_every_ranked_way_planned_by_its_own_overrides_gives_the_same_nodes_days_and_dollars(
    of: Callable[..., Plan], values: tuple[str, ...]
) -> None:
    """What is cheaper is planned, not hidden: its own `--set` makes it the plan's."""
    plan = of(*values)
    assert any(way.set_values for way in plan.ranked)
    for way in plan.ranked:
        again = _same_way(way, of(*values, *way.set_values))
        assert (again.cluster.nodes, again.performance.calendar_days) == (
            way.cluster.nodes,
            pytest.approx(way.performance.calendar_days),
        ), way.key
        for name in ("run_usd", "run_share_usd", "horizon_usd", "npv_usd"):
            usd = getattr(way.money, name)
            assert getattr(again.money, name) == (None if usd is None else pytest.approx(usd)), (way.key, name)


def test_a_capacity_block_pays_its_days_whole() -> None:
    """The run of 18.3 days pays 21 days of its 56 nodes."""
    block = plan_of(LESS_SURE).planned("aws/capacity_block")
    assert block is not None
    assert block.money.booked is not None
    assert (block.cluster.nodes, block.money.booked.days) == (56, 21)
    node_usd = block.money.lines[0].unit_usd
    assert node_usd is not None
    paid = sum(line.usd_per_period or 0.0 for line in block.money.lines[:2]) * block.performance.calendar_days * 24
    assert paid == pytest.approx(56 * 21 * 24 * node_usd)


def test_flex_start_is_planned_within_its_seven_days() -> None:
    """The size ends in time, six runs of ten."""
    flex = plan_of(LESS_SURE).alternative("gcp/flex_start")
    assert flex is not None
    assert flex.ranked
    assert flex.cluster.nodes == 192
    assert flex.performance.calendar_days_high is not None
    assert flex.performance.calendar_days_high <= 7


def test_a_flex_start_request_that_ends_before_the_run_is_not_ranked() -> None:
    """Forty nodes are not fast enough for one request."""
    flex = plan_of("targets.gcp.max_nodes=40").alternative("gcp/flex_start")
    assert flex is None or (not flex.ranked and "at most 7" in flex.reason)


def test_a_capacity_that_is_written_down_is_held() -> None:
    """Who writes a capacity down gets no other as the answer."""
    plan = plan_of("targets.gcp.capacity=on-demand", LESS_SURE)
    flex = plan.alternative("gcp/flex_start")
    assert flex is not None
    assert not flex.ranked
    assert flex.reason == "targets.gcp.capacity holds on-demand"


def test_the_price_on_demand_stands_beside_an_answer_that_is_not_on_demand() -> None:
    """The answer line has both."""
    plan = plan_of("targets.gcp.capacity=on-demand", LESS_SURE)
    text = plan_text(plan, Path("blueprint.yaml"), money=USD)
    assert "$1.19 M ($1.31 M on demand with 64 nodes in 15.3 days)" in " ".join(text.split())
    assert "capacity block of 21 days, paid whole" in " ".join(text.split())


def test_without_an_answer_nothing_is_called_cheaper_than_it() -> None:
    """Whatever shows the ways that are not ranked says that they are not, and nothing of paper."""
    plan = plan_of("economics.as_of=2015-01-01")
    assert not plan.ranked
    found = finances(plan, PriceBook.open(), draws=10, seed=1, everything=True)
    book = load_workbook(BytesIO(workbook_xlsx(plan, found)), data_only=True)
    sheet = "\n".join(str(row[0]) for row in book["Ranking"].iter_rows(values_only=True))
    shown = {
        "plan": plan_text(plan, Path("blueprint.yaml"), money=USD),
        "compare": "\n".join(ranking_lines(plan, found, money=USD)),
        "Markdown": comparison_markdown(plan, USD),
        "README": readme(plan, USD),
        "report": report_html(plan),
        "workbook": sheet,
    }
    for name, text in shown.items():
        assert "on paper" not in text, name
        assert "Not ranked" in text, name


def test_what_is_cheaper_on_paper_says_why_it_is_not_ranked() -> None:
    """Spot and prices of GPUs alone stand apart, with the reason."""
    plan = plan_of()
    paper = {way.key: way.reason for way in paper_ways(plan)}
    assert "nodes may be taken back" in paper["azure/spot"]
    assert "GPUs alone" in paper["lambda/on_demand"]
    assert not {way.key for way in main_ways(plan)} & set(paper)


def test_a_way_within_the_band_of_the_horizons_answer_is_named_beside_it() -> None:
    """What may cost less than the answer stands in its sentence and in the short table; what lies above does not."""
    plan = plan_of()
    answer = plan.alternative(plan.recommended_horizon_key)
    assert answer is not None
    others = [way for way in plan.ranked if way.key != answer.key and way.money.npv_usd is not None]
    near = min(others, key=lambda way: way.money.npv_usd or 0.0)

    def with_high_end(high: float | None) -> Plan:
        ways = tuple(
            replace(way, money=replace(way.money, npv_usd_high=high)) if way.key == answer.key else way
            for way in plan.alternatives
        )
        return replace(plan, alternatives=ways)

    assert near.money.npv_usd is not None
    inside, outside, unknown = (
        with_high_end(near.money.npv_usd),
        with_high_end(near.money.npv_usd * 0.999),
        with_high_end(None),
    )
    assert inside.contender == near
    assert (
        f"{term_text(near.key)}, at {USD.text(near.money.npv_usd)}, is within that band" in answer_lines(inside, USD)[1]
    )
    assert near in main_ways(inside)
    for apart in (outside, unknown):
        assert apart.contender is None
        assert "within that band" not in answer_lines(apart, USD)[1]


def test_the_main_reason_is_that_of_most_ways() -> None:
    """The words up to the first semicolon, with how many of the ways they are of where others have another reason."""
    way = plan_of().alternatives[0]
    alone, lent = (
        replace(way, reason=reason) for reason in ("GPUs alone; as long as on AWS", "they may be taken back")
    )
    assert main_reason_text((alone, alone)) == "GPUs alone"
    assert main_reason_text((lent, alone, alone)) == "GPUs alone (2 of 3)"


def test_a_budget_below_every_run_is_the_reason_for_no_answer() -> None:
    """Where prices are known, what is missing is the money, not a price."""
    plan = plan_of()
    poor = replace(plan, goals=replace(plan.goals, budget_usd=5.0))
    assert no_unit_answer(poor, USD) == "no way that is paid by the run is within the budget of $5.00"
    assert no_unit_answer(plan, USD).endswith(f"has all its prices on {plan.as_of}")


@pytest.mark.parametrize(
    ("tokens", "shown"), [(15e12, "15,000 B tokens"), (1.4e9, "1.4 B tokens"), (5e7, "50 M tokens"), (3.0, "3 tokens")]
)
def test_few_tokens_are_counted_in_millions(tokens: float, shown: str) -> None:
    """No run has 0 B tokens."""
    assert replace(training_plan(plan_of()).workload, tokens=tokens, framework="").amount_text == shown


def test_a_service_without_a_goal_of_latency_meets_none() -> None:
    """What is probable is then that the peak is served, which the answer says."""
    plan = serving_plan(service_of())
    option = plan.options[0]
    free = replace(plan, goals=replace(plan.goals, first_token_s=None, time_per_token_s=None))
    assert certainty_text(plan, option).endswith("probable that the goals are met at the peak")
    assert certainty_text(free, option).endswith("probable that the peak is served (no goal of latency is given)")
