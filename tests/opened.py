"""Answers with the shipped prices, as a command opens them, for tests that have no facts of their own."""

import datetime as dt
from pathlib import Path

from clusterwright.catalog.records import Catalogue
from clusterwright.evidence.cost_cases import check
from clusterwright.evidence.cost_cases.check import CheckedCase
from clusterwright.explain import explanation
from clusterwright.explain.explanation import Explanation
from clusterwright.finance.finances import Finances
from clusterwright.outputs.deliverables import cloud_files, onprem_files
from clusterwright.outputs.exports import focus
from clusterwright.outputs.folder import File
from clusterwright.outputs.report import page, ranking
from clusterwright.outputs.workbook import book as workbook
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.currency import Currency
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import USD, MoneyFormat
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger


def target_files(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    """Return the files of one target."""
    if option.target == "onprem":
        return onprem_files(plan, option, catalogue)
    return cloud_files(plan, option, catalogue, USD)


def explanations(plan: Plan, target: str, counted: Ledger | None = None) -> tuple[Explanation, ...]:
    """Return every number of a target that can be explained."""
    return explanation.explanations(plan, target, counted or ledger(plan, PriceBook.open()), USD)


def focus_rows(
    plan: Plan,
    *,
    begin: dt.date | None = None,
    counted: Ledger | None = None,
    found: Finances | None = None,
    money: MoneyFormat = USD,
) -> tuple[focus.Row, ...]:
    """Return the charges of a plan as FOCUS rows."""
    return focus.focus_rows(plan, counted or ledger(plan, PriceBook.open()), begin=begin, found=found, money=money)


def report_html(
    plan: Plan, found: Finances | None = None, counted: Ledger | None = None, *, money: MoneyFormat = USD
) -> str:
    """Return the report of a plan."""
    ranked = found or ranking.ranked(plan, PriceBook.open())
    return page.report_html(plan, ranked, counted or ranking.counted(plan, ranked), money)


def workbook_xlsx(plan: Plan, found: Finances | None = None, currency: Currency | None = None) -> bytes:
    """Return the workbook of a plan."""
    return workbook.workbook_xlsx(plan, found or ranking.ranked(plan, PriceBook.open()), currency)


def check_case(path: Path, book: PriceBook | None = None) -> CheckedCase:
    """Return a published cost case, calculated again."""
    return check.check_case(path, book or PriceBook.open())
