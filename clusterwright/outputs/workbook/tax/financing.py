"""The sheet Financing: the purchase paid in cash, by a loan, by an operating and by a finance lease, side by side."""

from dataclasses import dataclass

from clusterwright.outputs.workbook.tax.sheet import Taxed
from clusterwright.outputs.workbook.writing.annuity import interest_part, payment
from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    added,
    both,
    figure,
    largest,
    product_sum,
    span,
    total,
    when,
    whole,
)
from clusterwright.outputs.workbook.writing.shared import Workbook

_FIRST = 4
_KINDS = ("cash", "loan", "operating lease", "finance lease")
_ROWS = (
    "financed, USD",
    "payment a month, USD",
    "interest over the horizon, USD",
    "liability at the start, USD",
    "present value after tax, USD",
    "more than cash, USD",
)
_LOAN = ("payment, USD", "interest, USD", "paid back, USD", "owed, USD", "cash after tax, USD")
_LEASE = (
    "payment, USD",
    "interest, USD",
    "owed, USD",
    "operating: cash after tax, USD",
    "finance: cash after tax, USD",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Schedule:
    """A schedule: each payment, interest over the horizon, cash after tax by month; `unpaid` is 0 if it adds up."""

    monthly: Figure
    interest: Figure
    unpaid: Figure
    cash: tuple[tuple[Figure, ...], ...]


def write_financing(work: Workbook, taxed: dict[str, Taxed]) -> dict[str, dict[str, Figure]]:
    """Write the sheet; return the cells of every way to pay, by name."""
    page = work.page("Financing")
    page.title(
        "The purchase paid in cash, by a loan, or leased",
        "Shares and rates are on the sheet Inputs. Financing stands beside the cash flow and is discounted at the same "
        "rate; interest lowers income.",
    )
    page.widths(34, rest=18, columns=5)
    owned = work.owned
    if owned is None:
        page.text(3, 0, "Nothing is bought in this plan.", "note")
        return {}
    paid = taxed.get(f"{owned.key}/bridged", taxed[owned.key])
    page.sheet.freeze_panes(_FIRST, 1)
    page.head(3, (paid.label, *_KINDS))
    for row, title in enumerate(_ROWS, start=4):
        page.label(row, 0, title)
    financing = work.plan.finance.financing
    given = "" if financing is None else financing.kind
    note = "in the blueprint" if given == "loan" else "example"
    page.text(10, 0, "source", "note")
    page.text(10, 2, note, "text_right")
    for column, kind in ((3, "operating_lease"), (4, "finance_lease")):
        page.text(10, column, "in the blueprint" if given == kind else "example", "text_right")
    cost = page.put(11, 1, total(span(paid.bought)))
    page.label(11, 0, "purchase, USD")
    worth = paid.figures["npv_after"]
    principal = work.names["loan_share"] * cost
    loan = _loan(work, principal)
    leased = _lease(work, cost)
    factors = span(work.factors)
    capital = added([product_sum(span(cells), factors) for cells in (paid.bought, paid.sold, paid.capital_tax)])
    purchase = product_sum(span(paid.bought), factors)
    residual = work.names["lease_residual"] * cost
    months = _lease_months(work)
    rate = work.names["lease_rate"] / 12.0
    values = {
        "cash": (figure(0.0), figure(0.0), figure(0.0), figure(0.0), worth),
        "loan": (
            principal,
            loan.monthly,
            loan.interest,
            principal,
            worth - principal + product_sum(span(loan.cash[0]), factors),
        ),
        "operating lease": (
            cost,
            leased.monthly,
            leased.interest,
            cost - residual * (1.0 + rate) ** -months,
            worth - capital + product_sum(span(leased.cash[0]), factors),
        ),
        "finance lease": (
            cost,
            leased.monthly,
            leased.interest,
            cost,
            worth - purchase + product_sum(span(leased.cash[1]), factors),
        ),
    }
    found: dict[str, dict[str, Figure]] = {}
    for column, (kind, figures) in enumerate(values.items(), start=1):
        cells = [page.put(row, column, usd) for row, usd in enumerate(figures, start=4)]
        more = page.put(9, column, cells[4] - page.money(8, 1, worth.value) if column > 1 else figure(0.0))
        found[kind] = dict(zip(_ROWS, [*cells, more], strict=True))
    work.checks.append(("loan: paid back + still owed = borrowed", loan.unpaid))
    work.checks.append(("lease: paid back + residual = leased", leased.unpaid))
    return found


def _loan(work: Workbook, principal: Figure) -> _Schedule:
    names, view, page = work.names, work.page("Financing"), work.page("Financing by month")
    page.title("Financing by month: the loan, and the lease over the whole months of the horizon")
    page.widths(9, rest=17, columns=2 + len(_LOAN) + len(_LEASE))
    page.sheet.freeze_panes(_FIRST, 1)
    page.sheet.repeat_columns(0)
    page.text(_FIRST - 2, 1, "Loan", "bold")
    page.head(_FIRST - 1, ("month", *_LOAN), texts=0)
    rate, periods = names["loan_rate"] / 12.0, names["loan_months"]
    monthly = view.put(12, 1, payment(rate, periods, principal))
    view.label(12, 0, "loan: payment a month, USD")
    owed = principal
    interests, returned, cash = [], [], []
    for row, month in enumerate(work.months):
        at = _FIRST + row
        number = page.put(at, 0, month, "number")
        full = both(number.equals(float(row)), number.above(0.0), work.lengths[row].above(0.0))
        due = both(full, number.at_most(periods))
        paid = page.put(at, 1, when(due, monthly, 0.0))
        interest = page.put(at, 2, when(due, interest_part(rate, number, periods, principal), 0.0))
        back = page.put(at, 3, paid - interest)
        owed = page.put(at, 4, owed - back)
        last = both(number.equals(names["horizon_months"]), work.lengths[row].above(0.0))
        rest = when(last, owed, 0.0)
        cash.append(page.put(at, 5, interest * (1.0 - names["tax_rate"]) + back + rest))
        interests.append(interest)
        returned.append(back)
    unpaid = total(span(returned)) + owed - principal
    return _Schedule(monthly=monthly, interest=total(span(interests)), unpaid=unpaid, cash=(tuple(cash),))


def _lease_months(work: Workbook) -> Figure:
    return largest(1.0, whole(work.names["horizon_months"]))


def _lease(work: Workbook, cost: Figure) -> _Schedule:
    names, view, page = work.names, work.page("Financing"), work.page("Financing by month")
    column = 7
    page.text(_FIRST - 2, column, "Lease", "bold")
    page.head(_FIRST - 1, _LEASE, texts=0, column=column)
    rate, left = names["lease_rate"] / 12.0, names["lease_residual"] * cost
    months = view.put(13, 1, _lease_months(work), "count")
    view.text(13, 0, "lease: payments")
    monthly = view.put(14, 1, payment(rate, months, cost, left))
    view.label(14, 0, "lease: payment a month, USD")
    owed = cost
    interests, operating, finance = [], [], []
    for row in range(work.rows):
        at = _FIRST + row
        number = figure(float(row))
        due = number.at_most(months) if row else None
        paid = page.put(at, column, when(due, monthly, 0.0) if due else figure(0.0))
        interest = page.put(at, column + 1, when(due, owed * rate, 0.0) if due else figure(0.0))
        owed = page.put(at, column + 2, owed - (paid - interest))
        operating.append(page.put(at, column + 3, paid * (1.0 - names["tax_rate"])))
        residual = when(months.equals(number), left, 0.0)
        finance.append(page.put(at, column + 4, interest * (1.0 - names["tax_rate"]) + (paid - interest) + residual))
        interests.append(interest)
    cash = (tuple(operating), tuple(finance))
    return _Schedule(monthly=monthly, interest=total(span(interests)), unpaid=owed - left, cash=cash)
