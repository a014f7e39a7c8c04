"""The cost report: it says what the plan says, names the source of every price, asks nothing of a network."""

import base64
import hashlib
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from clusterwright import assets
from clusterwright.cli.planning import plan_of
from clusterwright.errors import Finding
from clusterwright.finance.chance_words import chance_sentences
from clusterwright.finance.finances import finances
from clusterwright.outputs.drawing.charts import GAIN, LOSS
from clusterwright.outputs.page_parts import plain
from clusterwright.outputs.report import tables as report_tables
from clusterwright.outputs.report.sensitivity import sensitivities
from clusterwright.plan.alternatives.answer_basis import basis_lines
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.currency import Currency
from clusterwright.plan.record import Plan
from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.money import USD, MoneyFormat
from clusterwright.plan.text.ranking import main_ways
from clusterwright.plan.text.words import answer_lines, capital, cluster_text, term_text
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.chance.uncertainty import SEED
from clusterwright.units import days_text, percent
from tests.opened import report_html
from tests.terms import with_finance

SHIPPED = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
HOSTILE = "<script>alert(1)</script><img src=//evil.example/x onerror=alert(2)>\" ' & {{ 7*7 }}"


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, the text, and the rows of tables."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.rows: list[list[str]] = []
        self._hidden = 0
        self._in_cell = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the element."""
        self.elements.append((tag, dict(attrs)))
        self._hidden += tag in ("style", "script")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        """Leave a style sheet, a script, or a cell."""
        self._hidden -= tag in ("style", "script")
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        """Keep the text, and in tables by cell."""
        if self._hidden:
            return
        # Amounts stay on one line.
        words = data.replace("\xa0", " ")
        self.pieces.append(words)
        if self._in_cell:
            self.rows[-1][-1] += f" {words}"

    @property
    def text(self) -> str:
        """Return all text, with single spaces."""
        return " ".join(" ".join(self.pieces).split())

    def row(self, start: str) -> str:
        """Return the first table row whose first cell begins with a text."""
        return next(" ".join(" ".join(row).split()) for row in self.rows if row and row[0].strip().startswith(start))


@pytest.fixture(scope="module")
def html(shipped_plan: Plan) -> str:
    """Return the report of the shipped blueprint."""
    return report_html(shipped_plan)


def test_the_report_says_what_the_plan_says(shipped_plan: Plan, html: str) -> None:
    """The answer and every figure of the comparison stand in it as the other deliverables print them."""
    page = Page(html)
    for line in answer_lines(shipped_plan, USD):
        assert line[1:] in page.text
    ways = main_ways(shipped_plan)
    columns = (USD.column(getattr(way.money, name) for way in ways) for name in ("horizon_usd", "npv_usd"))
    for way, *totals in zip(ways, *columns, strict=True):
        row, option = page.row(capital(term_text(way.key))), shipped_plan.planned(way.key)
        assert option is not None
        figures = [
            *totals,
            USD.text(way.money.run_cost_usd),
            USD.text(way.money.horizon_usd_high).removeprefix("$"),
            days_text(way.performance.calendar_days),
            percent(way.money.priced_share),
            f"{way.money.usd_per_gpu_hour:.2f}",
        ]
        assert [figure for figure in figures if figure not in row] == []
        assert all(part in row for part in cluster_text(option).removesuffix(")").split(" ("))


def test_every_price_names_its_day_and_source(shipped_plan: Plan, html: str) -> None:
    """Each bill line stands in a table with its price, its date and the number of a listed source."""
    page = Page(html)
    rows = [" ".join(" ".join(row).split()) for row in page.rows]
    listed = re.findall(r'<li id="source-(\d+)">(.*?)</li>', html)
    for option in shipped_plan.options:
        for line in option.money.lines:
            assert line.unit_usd is not None
            start = f"{line.line.item} {line.line.note}".strip()
            price = f" {plain(line.unit_usd)} "
            numbers = [
                found[1]
                for row in rows
                if row.startswith(start) and price in row and line.price_date in row
                if (found := re.search(r"\[(\d+)\]$", row))
            ]
            sources = [
                unescape(re.sub("<[^>]*>", "", text)).replace("\xa0", " ") for index, text in listed if index in numbers
            ]
            assert any(source.startswith(line.source) for source in sources), start


def test_the_report_asks_nothing_of_a_network(html: str) -> None:
    """Nothing is loaded from outside the file, links lead to places in it or to sources, a policy forbids the rest."""
    page = Page(html)
    assert {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "base", "form"} == set()
    places = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    for _, attributes in page.elements:
        assert not attributes.keys() & {"src", "srcset", "xlink:href", "action", "onload", "onerror", "data"}
        # A link to a source does not name the report as its referrer.
        if (attributes.get("href") or "").startswith("https://"):
            assert attributes["rel"] == "noreferrer"
        elif "href" in attributes:
            assert (attributes["href"] or "").removeprefix("#") in places
    assert not re.search(r"@import|url\s*\(", html)
    policies = [
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    script = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert [attributes for tag, attributes in page.elements if tag == "script"] == [
        {"type": "application/json", "id": "what-if-data"},
        {},
    ]
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert policies == [f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"]
    assert not re.search(r"\beval\b|Function\(|fetch|XMLHttp|import\(|innerHTML|document\.write", script[0])


def test_hostile_texts_stay_texts(shipped_plan: Plan) -> None:
    """Names that look like markup or templates are shown as they are, wherever they come from."""
    option = shipped_plan.options[0]
    line = replace(
        option.money.lines[0], line=replace(option.money.lines[0].line, item=HOSTILE, note=HOSTILE), source=HOSTILE
    )
    plan = replace(
        shipped_plan,
        name=HOSTILE,
        description=HOSTILE,
        findings=(Finding(id="X", message=HOSTILE, help=HOSTILE, path=()),),
        not_counted=(HOSTILE,),
        options=(
            replace(option, money=replace(option.money, lines=(line, *option.money.lines[1:]))),
            *shipped_plan.options[1:],
        ),
    )
    page = Page(report_html(plan))
    assert [attributes.get("id") for tag, attributes in page.elements if tag in ("script", "img")] == [
        "what-if-data",
        None,
    ]
    assert page.text.count(" ".join(HOSTILE.split())) >= 7


def test_unknown_prices_are_named_and_never_zero(unpriced_plan: Plan) -> None:
    """Where a price is missing the totals say unknown, the line is listed, and no drawing shows a bar for it."""
    option = unpriced_plan.option("aws")
    assert option is not None
    html = report_html(unpriced_plan)
    page = Page(html)
    row = page.row("AWS, spot")
    assert row.count("unknown") == 4
    assert "no price of" in row
    assert "$0" not in row
    for missing in option.money.missing:
        assert f"{missing.item}: {missing.reason}" in page.text
    assert "AWS: totals are unknown" in page.text
    assert 'aria-label="Cost of this run"' in html


def test_a_plan_without_any_known_total_still_has_a_report(unpriced_plan: Plan) -> None:
    """One target without a price leads to a report without cost charts, not to an error."""
    option = unpriced_plan.option("aws")
    assert option is not None
    html = report_html(replace(unpriced_plan, options=(option,), breakevens=(), recommended="", recommended_horizon=""))
    assert 'aria-label="Cost of this run"' not in html
    assert 'aria-label="Memory of the fullest GPU"' in html
    assert "There is nothing to compare" in html


def test_findings_stand_under_the_answer(shipped_plan: Plan) -> None:
    """A rule that failed is shown with what would help."""
    finding = Finding(id="MEM001", message="does not fit", help="use more nodes", path=())
    page = Page(report_html(replace(shipped_plan, findings=(finding,))))
    assert "MEM001 does not fit use more nodes" in page.text


def test_the_same_plan_gives_the_same_bytes(shipped_plan: Plan, html: str) -> None:
    """A second report is identical."""
    assert report_html(shipped_plan) == html


def test_yearly_cash_adds_up_to_the_horizon(shipped_plan: Plan) -> None:
    """The sum at the corner of each cash flow table is the horizon's cost."""
    money_of = ledger(shipped_plan, PriceBook.open())
    for option in shipped_plan.options:
        table = report_tables.cash_flow(money_of.cash_flow_rows(option.target), USD)
        assert option.money.horizon_usd is not None
        assert table.rows[-1][-1].text == f"{option.money.horizon_usd:,.0f}"


def test_sensitivity_is_ordered_and_brackets_the_base(shipped_plan: Plan) -> None:
    """Every input's cheap end lowers the share of a run, its dear end raises it, the widest range comes first."""
    book = PriceBook.open()
    option = shipped_plan.option("onprem")
    assert option is not None
    assert option.money.run_share_usd is not None
    found = sensitivities(ledger(shipped_plan, book), book, "onprem", USD)
    assert 5 <= len(found) <= 10
    assert all(entry.low_usd <= option.money.run_share_usd * (1 + 1e-12) for entry in found)
    assert all(entry.high_usd >= option.money.run_share_usd * (1 - 1e-12) for entry in found)
    widths = [entry.high_usd - entry.low_usd for entry in found]
    assert all(before >= after for before, after in pairwise(widths))


def test_sensitivity_to_installation_by_hand(shipped_plan: Plan) -> None:
    """Installation is a share of the equipment, and a run takes its share of the hours worked over the horizon."""
    book = PriceBook.open()
    option = shipped_plan.option("onprem")
    parameter = next(entry for entry in shipped_plan.parameters if entry.key == "installation_fraction")
    assert option is not None
    equipment = sum(line.usd_per_period or 0.0 for line in option.money.lines)
    economics = shipped_plan.economics
    share = (
        option.performance.calendar_days
        * 24
        / (economics.horizon_months * economics.hours_per_month * economics.utilisation)
    )
    found = {entry.name: entry for entry in sensitivities(ledger(shipped_plan, book), book, "onprem", USD)}
    moved = found["installation"].high_usd - found["installation"].low_usd
    assert moved == pytest.approx(equipment * (parameter.high - parameter.low) * share)


def test_nothing_moves_a_cost_that_is_unknown(unpriced_plan: Plan) -> None:
    """An option without a price has no sensitivities."""
    book = PriceBook.open()
    assert sensitivities(ledger(unpriced_plan, book), book, "aws", USD) == ()


def test_the_ranking_is_that_of_the_comparison(shipped_plan: Plan, html: str) -> None:
    """Every option of `compare --finance` stands in it with the same figures, and the shares of cheapest add up."""
    found = finances(shipped_plan, PriceBook.open(), draws=10_000, seed=SEED)
    page = Page(html)
    assert len(found.drawn) > len(shipped_plan.options)
    rows = [" ".join(" ".join(row).split()) for row in page.rows]
    figures = (
        USD.column(getattr(entry, name) for entry in found.drawn)
        for name in ("npv_usd_p10", "npv_usd_p50", "npv_usd_p90", "npv_usd_dearest_tenth", "regret_usd")
    )
    for entry, p10, p50, p90, dearest, regret in zip(found.drawn, *figures, strict=True):
        name = capital(term_text(entry.key))
        wanted = " ".join((p10, p50, p90, dearest, percent(entry.probability_cheapest), regret))
        assert any(row.startswith(name) and row.endswith(wanted) for row in rows), name
    assert sum(entry.probability_cheapest for entry in found.drawn) == pytest.approx(1.0)


def test_what_does_not_compete_stands_apart(shipped_plan: Plan, html: str) -> None:
    """What undercuts an answer and is none stands with its cost and the reason, and in no ranking."""
    section = html.partition('<h3 id="beside">')[2].partition("<h2")[0]
    found = finances(shipped_plan, PriceBook.open(), draws=1, seed=SEED, everything=True)
    rows = [" ".join(" ".join(row).split()) for row in Page(section).rows[1:]]
    cash = shipped_plan.alternative(shipped_plan.recommended_key)
    kept = shipped_plan.alternative(shipped_plan.recommended_horizon_key)
    assert cash is not None
    assert kept is not None
    others = [cost for cost in found.costs if not cost.competes]
    apart = [
        cost
        for cost in others
        if (cost.run_cash_usd or 0.0) < (cash.money.run_usd or 0.0)
        or (cost.npv_usd or 0.0) < (kept.money.npv_usd or 0.0)
    ]
    assert len(others) > len(apart) == len(rows) > 1
    for row, cost, npv in zip(rows, apart, USD.column(cost.npv_usd for cost in apart), strict=True):
        assert row.startswith(f"{capital(term_text(cost.key))} {found.ways[cost.key].note}")
        assert npv in row
    below = {" ".join(row[0].split()) for row in Page(html.partition('<h2 id="breakeven">')[2]).rows if row}
    assert {capital(term_text(cost.key)) for cost in others}.isdisjoint(below)


def test_the_tornado_shows_the_widest_swings(shipped_plan: Plan, html: str) -> None:
    """Its rows are the swings, widest first, both ends named by the saving that they lead to; more of it is blue."""
    found = finances(shipped_plan, PriceBook.open(), draws=10, seed=SEED)
    drawing = html.partition('aria-label="What moves the saving of owning"')[2].partition("</svg>")[0]
    places = [drawing.index(f">{input_words(entry.key)}</text>") for entry in found.swings[:8]]
    assert places == sorted(places)
    widest = found.swings[0]
    assert f"P10: {USD.text(widest.saving_usd_low)}" in drawing
    assert f"P90: {USD.text(widest.saving_usd_high)}" in drawing
    bars = re.findall(r'height="20" fill="([^"]*)"><title>[^<]*: (-?[0-9.,]+) million', drawing)
    assert {colour for colour, _ in bars} == {GAIN, LOSS}
    assert found.base_saving_usd is not None
    for colour, saved in bars:
        above = float(saved.replace(",", "")) - found.base_saving_usd / 1e6
        assert colour == (GAIN if above > 0 else LOSS) or abs(above) < 0.05
    assert f"the upright line is {USD.text(found.base_saving_usd)}" in html


def test_owning_as_an_investment(shipped_plan: Plan, html: str) -> None:
    """Every rented option has its present value saved, its rate of return and its months, as the comparison says."""
    found = finances(shipped_plan, PriceBook.open(), draws=10, seed=SEED)
    section = html.partition('<h3 id="investment">Owning as an investment</h3>')[2].partition("<h3")[0]
    rows = [[" ".join(cell.split()) for cell in row] for row in Page(section).rows[1:]]
    assert len(rows) == len(found.returns)
    saved = USD.column(entry.npv_usd for entry in found.returns)
    for row, entry, usd in zip(rows, found.returns, saved, strict=True):
        assert row[0].startswith(capital(term_text(entry.rented_key)))
        assert entry.irr_per_year is not None
        assert entry.payback_months is not None
        assert row[1:4] == [usd, f"{percent(entry.irr_per_year)} a year", f"month {entry.payback_months:.1f}"]


def test_the_map_is_blue_where_owning_costs_less(shipped_plan: Plan, html: str) -> None:
    """Each cell holds the saving of its pair of inputs; the colour's sign is that of the amount, white at nothing."""
    found = finances(shipped_plan, PriceBook.open(), draws=10, seed=SEED)
    drawing = html.partition('aria-label="What owning saves by utilisation and rental price"')[2].partition("</svg>")[0]
    cells = re.findall(r'fill="#(..)..(..)" stroke="#fff"><title>([^<]*)</title>', drawing)
    wanted = {
        f"utilisation {percent(cell.utilisation)}, price of the rented nodes, of today's {percent(cell.cloud_price)}: "
        f"{words}": cell.saving_usd
        for cell, words in zip(found.heat, USD.column(cell.saving_usd for cell in found.heat), strict=True)
    }
    assert f"saves in present value against {term_text(found.mapped_with)} by the share" in html
    assert {unescape(tip) for *_, tip in cells} == wanted.keys()
    assert {usd > 0 for usd in wanted.values()} == {True, False}
    for red, blue, tip in cells:
        assert (int(blue, 16) > int(red, 16)) == (wanted[unescape(tip)] > 0)


def test_tax_and_books_are_those_of_the_blueprint(shipped_plan: Plan) -> None:
    """With tax the present value after tax, the books by year and the loan are printed; the books sum to the cash."""
    loan = {"rate": "8 %", "term": "48 months"}
    plan = with_finance(shipped_plan, {"tax_rate": "21 %", "depreciation": "macrs_5", "loan": loan})
    found = finances(plan, PriceBook.open(), draws=10, seed=SEED)
    html = report_html(plan, found)
    page = Page(html.partition('<h2 id="tax">')[2].partition("<h2")[0])
    rows = {" ".join(row[0].split()): [" ".join(cell.split()) for cell in row[1:]] for row in page.rows}
    mine = next(entry for entry in found.taxed.options if entry.key == "onprem")
    assert rows["On premises"][:2] == [USD.text(mine.npv_before_tax_usd), USD.text(mine.npv_after_tax_usd)]
    assert mine.npv_after_tax_usd < mine.npv_before_tax_usd
    assert mine.opex_usd + mine.depreciation_usd + mine.loss_on_disposal_usd == pytest.approx(mine.before_tax_usd)
    first, second = found.taxed.books[:2]
    assert rows["1"] == [f"{first.depreciation_usd:,.0f}", f"{first.book_value_usd:,.0f}"]
    assert second.depreciation_usd / first.depreciation_usd == pytest.approx(1.6)
    told = " ".join(page.pieces)
    assert "Tax of 21 % on income; purchases are written off MACRS over 5 years." in told
    assert found.taxed.financed is not None
    assert f"With a loan of {USD.text(found.taxed.financed.financed_usd)}" in told


def test_chance_and_carbon_are_those_of_the_comparison(shipped_plan: Plan) -> None:
    """Bands after tax, the cost of a wrong choice and carbon stand in the report as the comparison has them."""
    plan = with_finance(shipped_plan, {"tax_rate": "21 %", "carbon": {"grid": "us-va"}})
    found = finances(plan, PriceBook.open(), draws=200, seed=SEED)
    page = Page(report_html(plan, found))
    rows = {" ".join(" ".join(row).split()) for row in page.rows}
    mine = next(entry for entry in found.drawn if entry.key == "onprem")
    after = (
        mine.npv_after_tax_usd_p10,
        mine.npv_after_tax_usd_p50,
        mine.npv_after_tax_usd_p90,
        mine.npv_after_tax_usd_dearest_tenth,
    )
    wanted = " ".join(map(USD.text, after))
    assert any(row.startswith(f"On premises {wanted}") for row in rows)
    assert mine.npv_after_tax_usd_p50 is not None
    assert mine.npv_usd_p50 is not None
    assert mine.npv_after_tax_usd_p50 < mine.npv_usd_p50
    emitted = next(entry for entry in found.carbon if entry.key == "onprem")
    assert emitted.kwh is not None
    assert any(row.startswith(f"On premises {emitted.kwh / 1000:,.0f} ") for row in rows)
    told = " ".join(" ".join(page.pieces).split())
    for sentence in chance_sentences(found):
        assert capital(sentence) in told


def test_the_answer_names_a_contract_that_costs_less(html: str) -> None:
    """A contract that costs less than all else is the answer itself, and stands first in the ranking."""
    assert "CoreWeave" not in _answer(html)
    plan = plan_of(SHIPPED, ["tco.contracts=[{target: coreweave, rate: 1 USD}]"])
    found = finances(plan, PriceBook.open(), draws=50, seed=SEED)
    best = found.costs[0]
    assert best.key == "coreweave/on_demand/contract" == plan.recommended_horizon_key
    answer = _answer(report_html(plan, found))
    assert term_text(best.key) in answer
    assert USD.text(best.npv_usd) in answer


def _answer(html: str) -> str:
    """Return the text of a report's answer."""
    return Page(html.partition('<div class="answer">')[2].partition("</div>")[0]).text


def test_totals_in_another_currency(shipped_plan: Plan, html: str) -> None:
    """All money is told in the report's currency, in tables, charts and sentences, with the rate."""
    euro = Currency(code="EUR", usd=1.25, day="2026-10-01", source="ECB <b>")
    found = finances(shipped_plan, PriceBook.open(), draws=10, seed=SEED)
    told_html = report_html(shipped_plan, found, money=MoneyFormat(currency=euro))
    page = Page(told_html)
    assert "All money in" not in html
    assert "$" not in told_html
    for drawing in re.findall(r"<svg.*?</svg>", told_html, re.DOTALL):
        assert "USD" not in drawing
    assert not [row for row in page.rows if any("USD" in cell for cell in row[:4])]
    told = " ".join(" ".join(page.pieces).split())
    assert "1 EUR = 1.25 USD on 2026-10-01 (ECB <b>)" in told
    rows = [[" ".join(cell.split()) for cell in row] for row in page.rows]
    mine = next(cost for cost in found.costs if cost.key == "onprem")
    assert mine.run_share_usd is not None
    assert mine.horizon_usd is not None
    compared = next(row for row in rows if row and row[0].startswith("On premises cheapest"))
    assert compared[1] == "–"
    assert compared[2] == f"€{round(mine.run_share_usd / 1.25e3):,.0f},000"
    assert compared[3].startswith(f"€{mine.horizon_usd / 1.25e6:,.1f} M")
    yearly = next(row for row in rows if row and row[0] == "resale")
    assert yearly[-1] == f"{sum(r.usd for r in found.rows['onprem'] if r.category == 'resale') / 1.25:,.0f}"


def test_the_report_says_what_its_answer_rests_on(shipped_plan: Plan, html: str) -> None:
    """Right below the answer, in the words of every other output."""
    said = " ".join(" ".join(Page(html).pieces).split())
    for line in basis_lines(shipped_plan, USD):
        assert line[1:] in said


def test_every_change_of_a_price_is_listed(shipped_plan: Plan, html: str) -> None:
    """The cut of p5.48xlarge in June 2025 stands with both prices; a price that is repeated is no change."""
    section = html.partition('<h3 id="changes">Changes of the on-demand price</h3>')[2].partition("</section")[0]
    rows = [[" ".join(cell.split()) for cell in row] for row in Page(section).rows[1:]]
    aws = [row[1:4] for row in rows if row[0].startswith("p5.48xlarge")]
    assert aws == [["2025-06-05", "55.04", "6.88"], ["2023-07-31", "98.32", "12.29"]]
    for before, after in pairwise(rows):
        assert before[0] != after[0] or before[2] != after[2]
    assert {row[0].split()[0] for row in rows} == {
        option.cluster.instance for option in shipped_plan.options if option.design.facility is None
    }


def test_what_has_no_price_is_not_ranked(unpriced_plan: Plan) -> None:
    """Neither what has no price nor what the blueprint's capacity leaves out has a row; nothing owned, no tornado."""
    options = tuple(option for option in unpriced_plan.options if option.design.facility is None)
    ways = tuple(way for way in unpriced_plan.alternatives if not way.owned)
    rented = replace(unpriced_plan, options=options, alternatives=ways)
    html = report_html(replace(rented, breakevens=(), recommended="", recommended_horizon=""))
    section = html.partition('<h2 id="sure">')[2].partition("<h2")[0]
    assert 'aria-label="What moves the saving of owning"' not in html
    assert '<td data-title="Where and how">Google Cloud, on demand</td>' in section
    assert "AWS" not in section
    assert not re.search(r"\bnan\b|\binf\b", section, re.I)


def test_warnings_stand_under_the_answer(shipped_plan: Plan) -> None:
    """What a plan warns of is in its report too, old prices among it."""
    page = Page(report_html(shipped_plan))
    for warning in shipped_plan.warnings:
        assert f"{warning.id} {warning.message} {warning.help}" in page.text
    assert [warning.id for warning in shipped_plan.warnings] == ["TCO002"]


def test_the_first_page_has_four_figures_with_bands_and_a_chart(shipped_plan: Plan, html: str) -> None:
    """Answer, four figures and one chart come first after the tabs; what is warned of and every table follow."""
    order = ("<nav", 'class="answer"', 'class="figures"', "<figure>", 'class="warned"', "<table>")
    places = [html.index(mark) for mark in order]
    assert places == sorted(places)
    assert html[: places[4]].count("<figure>") == 1
    tiles = html[places[2] : places[3]].replace("\xa0", " ")
    answers = (shipped_plan.recommended_key, shipped_plan.recommended_horizon_key)
    run, kept = (shipped_plan.planned(key) for key in answers)
    assert run is not None
    assert kept is not None
    assert tiles.count("<li>") == 4
    # The horizon is the present value of the answer.
    cash = USD.span(run.money.run_usd_low or 0.0, run.money.run_usd_high or 0.0)
    present = USD.span(kept.money.npv_usd_low or 0.0, kept.money.npv_usd_high or 0.0)
    for usd, band in ((run.money.run_usd, cash), (kept.money.npv_usd, present)):
        assert f"<strong>{USD.text(usd)}</strong><span>{band}</span>" in tiles
    pair = next(entry for entry in shipped_plan.breakevens if entry.rented_key.partition("/")[0] == run.target)
    assert pair.months is not None
    assert f"month {pair.months:.0f}" in tiles


def test_the_chart_leads_to_the_total_of_the_figures(shipped_plan: Plan, html: str) -> None:
    """The lines end before the sale of the equipment: the caption says how much it is, and what remains."""
    kept = shipped_plan.alternative(shipped_plan.recommended_horizon_key)
    assert kept is not None
    assert kept.money.capex_usd
    tiles = html.partition('class="figures"')[2].partition("</ul>")[0].replace("\xa0", " ")
    assert (
        f"{USD.text(kept.money.horizon_usd)} paid net of resale, {USD.text(kept.money.capex_usd)} at the start" in tiles
    )
    flow = ledger(shipped_plan, PriceBook.open())
    sale = -sum(row.usd for row in flow.cash_flow_rows(kept.target) if row.category == "resale")
    paid = [point.usd for point in flow.cumulative() if point.key == kept.target][-1]
    assert paid - sale == pytest.approx(kept.money.horizon_usd, rel=1e-9)
    caption = html.partition("<figcaption>")[2].partition("</figcaption>")[0].replace("\xa0", " ")
    whole = USD.text(kept.money.horizon_usd)
    words = f"{USD.text(paid)} paid, less {USD.text(sale)} for the sale of the equipment, are the {whole}"
    assert f"On premises: {words} of the totals." in caption
    assert caption.count(" paid, less ") == 1


def test_nothing_is_repeated_at_no_tax(html: str) -> None:
    """At a rate of 0 % a sentence stands in place of rows that are equal before and after tax."""
    section = html.partition('<h2 id="tax">')[2].partition("<h2")[0]
    assert "Present value after tax" not in section
    assert "After tax every figure is as before it" in section


def test_a_phone_and_a_dark_screen_are_thought_of(html: str) -> None:
    """Cells bring the title of their column, which a narrow screen shows beside them; colours follow the scheme."""
    assert 'data-title="This run" class="number"' in html
    assert "prefers-color-scheme: dark" in html
    style = html.partition("<style>")[2].partition("</style>")[0]
    rules = style.partition("figure svg { filter")[2]
    assert "background: #" not in rules
