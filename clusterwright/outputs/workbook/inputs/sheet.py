"""The sheet Inputs: every economic value as a named, yellow cell with its unit, basis, source and date."""

import math
from dataclasses import dataclass

from clusterwright.outputs.workbook.inputs.front import Stated, write_front
from clusterwright.outputs.workbook.inputs.method_shares import NAMES
from clusterwright.outputs.workbook.inputs.resale import Resale, curve_of, reference_age, write_resale
from clusterwright.outputs.workbook.inputs.stages import mean_work, staged
from clusterwright.outputs.workbook.writing.formula import Figure, largest, when
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Workbook, is_given
from clusterwright.tco.renting.metered import SERVICES

_COLUMNS = ("name", "value", "unit", "basis", "reason", "source", "date")
_FIRST = 3
_GB = 1e9
#: Columns whose text is right of a number and would touch it.
_UNIT = 2
#: Name of the method that purchases are written off by; with `_of_` and a category, of those that have another.
METHOD = "depreciation_method"
_EXAMPLE = "the blueprint has none: an example on the sheet Financing, nothing else depends on it"


#: Parameters that are on the sheet in any case where the work grows or equipment is replaced.
_PACE = ("growth_fraction_per_year", "refresh_months", "purchase_price_change_per_year")


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """One named value."""

    name: str
    value: float | str
    unit: str
    basis: str = "given"
    reason: str = ""
    source: str = "blueprint"
    date: str = ""


def write_inputs(work: Workbook) -> Resale:
    """Write the inputs and give them their names; return what equipment brings by its age."""
    page = work.page("Inputs")
    page.title("Inputs: change the yellow cells", "Every formula of this workbook reads them by name.")
    page.sheet.freeze_panes(_FIRST, 1)
    for column, title in enumerate(_COLUMNS):
        page.text(_FIRST - 1, column, title, {1: "right", _UNIT: "after"}.get(column, "head"))
    rows = [*_economics(work), *_parameters(work), *_finance(work)]
    last = _FIRST + len(rows)
    resale = write_resale(page, last + 3, curve_of(work))
    formulas: list[Figure | None] = []
    for row, entry in enumerate(rows, start=_FIRST):
        formulas.append(_formula(work, entry, resale))
        _name(work, page, entry.name, row, entry.value)
    front = write_front(
        work,
        [
            Stated(name=entry.name, value=entry.value, unit=entry.unit, row=row, counted=formula is not None)
            for row, (entry, formula) in enumerate(zip(rows, formulas, strict=True), start=_FIRST)
        ],
    )
    for row, (entry, formula) in enumerate(zip(rows, formulas, strict=True), start=_FIRST):
        _write(page, row, entry, front[entry.name][1] if entry.name in front else formula)
    names = work.names
    if staged(work):
        names["mean_work"] = Figure("mean_work", mean_work(work))
    runs = names["utilisation"] * names["horizon_months"] * names["hours_per_month"] / (names["reference_days"] * 24.0)
    if "mean_work" in names:
        runs *= names["mean_work"]
    plural = work.plan.workload.unit.plural
    page.text(last, 0, "runs_in_horizon")
    page.put(last, 1, runs, "number")
    page.text(last, _UNIT, plural, "text")
    page.text(last, 4, f"{plural} of this blueprint in the horizon, the same for every option")
    _name(work, page, "runs_in_horizon", last, runs.value)
    page.sheet.autofit(520)
    _limits(work, page, {entry.name: row for row, entry in enumerate(rows, start=_FIRST)})
    _numbers(work, work.page("Summary"), {name: row for name, (row, _) in front.items()})
    return resale


def _formula(work: Workbook, entry: Input, resale: Resale) -> Figure | None:
    """Return what an input is found by, as long as nobody types another value; None where it is a number."""
    names = work.names
    if entry.name == "resale_fraction":
        found = resale(reference_age(names, resale, given=is_given(work, "resale_fraction")))
    elif entry.name == "building_value_fraction":
        found = largest(0.0, 1.0 - names["horizon_months"] / 12.0 / names["building_life_years"])
    elif entry.name == "usd_per_shown":
        assert work.currency is not None  # noqa: S101 - the input is there with it alone
        found = when(names["shown_in"].says("USD"), 1.0, names[f"usd_per_{work.currency.code.lower()}"])
    else:
        return None
    same = isinstance(found.value, float) and isinstance(entry.value, float) and math.isclose(found.value, entry.value)
    return found if same else None


def _write(page: Page, row: int, entry: Input, formula: Figure | None) -> None:
    page.text(row, 0, entry.name)
    if formula is not None:
        page.put(row, 1, formula, "input")
    elif isinstance(entry.value, str):
        page.text(row, 1, entry.value, "input_text")
    else:
        page.number(row, 1, entry.value, "input")
    texts = (entry.unit, entry.basis, entry.reason, entry.source, entry.date)
    for column, text in enumerate(texts, start=_UNIT):
        page.text(row, column, text, "text" if column == _UNIT else None)


def _name(work: Workbook, page: Page, name: str, row: int, value: object) -> None:
    work.book.define_name(name, f"={page.name}!$B${row + 1}")
    work.names[name] = Figure(name, value)  # type: ignore[arg-type]


def _economics(work: Workbook) -> list[Input]:
    economics, unit = work.plan.economics, work.plan.workload.unit
    runs = next((cost.runs_in_horizon for cost in work.found.costs), work.plan.options[0].money.runs_in_horizon)
    runs /= mean_work(work)
    days = economics.utilisation * economics.horizon_months * economics.hours_per_month / (runs * 24)
    growth = economics.growth
    grown = (
        [
            Input(name=_PACE[0], value=growth.growth_per_year, unit="share by which each year has more work"),
            Input(
                name=_PACE[1], value=growth.refresh_months or 0.0, unit="whole months", reason="0: nothing is replaced"
            ),
            Input(name=_PACE[2], value=growth.price_change_per_year, unit="of the price of equipment, per year"),
        ]
        if staged(work)
        else []
    )
    return [
        Input(name="horizon_months", value=economics.horizon_months, unit="months"),
        Input(
            name="hours_per_month",
            value=economics.hours_per_month,
            unit="hours",
            reason="8,760 hours a year",
            source="",
        ),
        Input(name="utilisation", value=economics.utilisation, unit="share of the horizon"),
        Input(name="discount_rate", value=economics.discount_rate, unit="per year"),
        Input(
            name="reference_days",
            value=days,
            unit="days",
            reason=f"{unit.name} that the number of {unit.plural} is counted with",
            source="plan",
        ),
        *_currency(work),
        *grown,
        *(
            [Input(name="building_life_years", value=building_life_years, unit="years")]
            if (building_life_years := work.plan.finance.building_life_years) is not None
            else []
        ),
    ]


def _currency(work: Workbook) -> list[Input]:
    """Return which currency the views show, and its rate."""
    told = work.currency
    if told is None:
        return []
    return [
        Input(name="shown_in", value=told.code, unit=f"{told.code} or USD", reason="of the sheets before this one"),
        Input(
            name=f"usd_per_{told.code.lower()}",
            value=told.usd,
            unit=f"USD for one {told.code}",
            source=told.source,
            date=told.day,
        ),
        Input(name="usd_per_shown", value=told.usd, unit="USD for one unit of what is shown"),
    ]


def _parameters(work: Workbook) -> list[Input]:
    return [
        Input(
            name=entry.key,
            value=entry.value,
            unit=entry.unit,
            basis=entry.basis,
            reason=entry.reason,
            source=entry.source,
            date=entry.date,
        )
        for entry in work.plan.parameters
        if entry.key not in _PACE
    ]


def _finance(work: Workbook) -> list[Input]:
    found, financing = work.found.taxed, work.plan.finance.financing
    loan = financing if financing and financing.kind == "loan" else None
    lease = financing if financing and financing.kind != "loan" else None
    rate = work.plan.economics.discount_rate
    example = {"basis": "example", "reason": _EXAMPLE, "source": ""}
    borrowed = {} if loan else example
    leased = {} if lease else example
    months = loan.months if loan and loan.months else min(48, work.rows - 1)
    rows = [
        Input(name="tax_rate", value=found.tax_rate, unit="share of income"),
        Input(name=METHOD, value=found.depreciation, unit="row of the sheet Depreciation"),
        *(
            Input(name=f"{METHOD}_of_{category}", value=method, unit="row of the sheet Depreciation")
            for category, method in _own_methods(work).items()
        ),
        Input(
            name="bonus_depreciation", value=found.bonus_fraction, unit="share written off at once in the first year"
        ),
        Input(name="loan_share", value=loan.share if loan else 0.8, unit="share of the purchase", **borrowed),
        Input(
            name="loan_rate",
            value=loan.rate_per_year if loan else rate,
            unit="per year, a twelfth per month",
            **borrowed,
        ),
        Input(name="loan_months", value=max(1, months), unit="payments", **borrowed),
        Input(
            name="lease_rate",
            value=lease.rate_per_year if lease else rate,
            unit="per year, a twelfth per month",
            **leased,
        ),
        Input(
            name="lease_residual", value=lease.residual if lease else 0.0, unit="share of the purchase left", **leased
        ),
    ]
    rows += _cloud(work)
    if found.delivery_months and found.deposit < 1:
        rows.append(Input(name="deposit", value=found.deposit, unit="share of the purchase paid at the order"))
    if found.delivery_months:
        rows.append(Input(name="delivery_months", value=float(found.delivery_months), unit="whole months"))
    return rows


def _own_methods(work: Workbook) -> dict[str, str]:
    """Return the methods of categories that are not written off like the rest."""
    has_building = work.plan.finance.building_life_years is not None
    methods = work.plan.finance.taxes.depreciation_of
    return {name: method for name, method in methods.items() if has_building or name != "building"}


def _cloud(work: Workbook) -> list[Input]:
    """Return what providers charge beside the bill, as far as the blueprint gives it."""
    rented = [way.candidate for way in work.plan.alternatives if way.candidate is not None and not way.owned]
    charges = {charge.item: charge for candidate in rented for charge in candidate.charges}
    rows = [
        Input(name=f"{service}_gb_per_month", value=charges[item].bytes_per_month / _GB, unit="GB a month", reason=item)
        for service, item in SERVICES.items()
        if item in charges
    ]
    once = next((charge.usd for charge in charges.values() if charge.once), 0.0)
    lost = next((entry.fraction for candidate in rented for entry in candidate.surcharges), 0.0)
    shares = (share for candidate in rented if candidate.support and (share := candidate.support.share))
    rows.append(Input(name="setup_usd", value=once, unit="USD at the start of what is rented"))
    rows.append(Input(name="goodput_loss", value=lost, unit="share of the price of GPU nodes"))
    rows.append(Input(name="support_share", value=next(shares, 0.0), unit="share of a month's rent and charges"))
    return [row for row in rows if row.value]


def _limits(work: Workbook, page: Page, rows: dict[str, int]) -> None:
    """Refuse values that the sheets have no rows for, or that no formula can count with."""
    _numbers(work, page, rows)
    if work.currency is not None:
        row = rows["shown_in"]
        page.sheet.data_validation(row, 1, row, 1, {"validate": "list", "source": [work.currency.code, "USD"]})
    for name, row in rows.items():
        if name.startswith(METHOD):
            page.sheet.data_validation(row, 1, row, 1, {"validate": "list", "source": NAMES})


def _numbers(work: Workbook, page: Page, rows: dict[str, int]) -> None:
    """Refuse numbers outside their range in the cells of a sheet, by the name of their input."""
    months = work.rows - 1
    limits = {
        "horizon_months": (0.1, months, f"The sheets by month have rows for {months} months."),
        "utilisation": (0.0001, 1, "A share above 0, at most 1."),
        "discount_rate": (0, 1, "A share from 0 to 1."),
        "tax_rate": (0, 0.9999, "A share from 0 to below 1."),
        "bonus_depreciation": (0, 1, "A share from 0 to 1."),
        "loan_share": (0, 1, "A share from 0 to 1."),
        "loan_rate": (0, 1, "A share from 0 to 1."),
        "loan_months": (1, 480, "Whole months."),
        "lease_rate": (0, 1, "A share from 0 to 1."),
        "lease_residual": (0, 0.9999, "A share from 0 to below 1."),
        "delivery_months": (0, months, "Whole months within the horizon."),
    }
    for name, (least, most, message) in limits.items():
        if name in rows:
            page.sheet.data_validation(
                rows[name],
                1,
                rows[name],
                1,
                {
                    "validate": "decimal",
                    "criteria": "between",
                    "minimum": least,
                    "maximum": most,
                    "error_title": name.replace("_", " "),
                    "error_message": message,
                },
            )
