"""One option's monthly cash flow as a sheet of formulas over the named inputs and the bill.

The same rules as `tco/sql/cash_flow.sql`, written a second time in the spreadsheet's language on purpose: the workbook
proves the engine, and the engine fills the cached values.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.plan.record import Option, Plan
from clusterwright.plan.words import NAME_OF_TARGET

_HEAD_HEIGHT = 32  # points: two lines
_FIRST_ROW = 11  # spreadsheet row of month 0, counted from one
_GPUS, _POWER, _DAYS, _BUSY, _HELD, _RUNNING = "$B$3", "$B$4", "$B$5", "$B$6", "$B$7", "$B$8"
_BUILDING = ("purchase", "installation", "spares")


def _bill(target: str, charge: str, paid: str) -> str:
    return f'SUMIFS(bill_usd,bill_target,"{target}",bill_charge,"{charge}",bill_paid,"{paid}")'


def _rent(target: str, paid: str) -> str:
    return f"({_bill(target, 'hourly', paid)}*hours_per_month+{_bill(target, 'monthly', paid)})"


@dataclass(frozen=True, kw_only=True, slots=True)
class CashSheet:
    """A sheet for one option; `write` fills it, the `*_formula` methods give the summary's references into it."""

    sheet: Any
    plan: Plan
    option: Option
    formats: Mapping[str, Any]

    @property
    def months(self) -> int:
        """Rows after month 0."""
        return math.ceil(self.plan.economics.horizon_months)

    @property
    def owned(self) -> bool:
        """Whether the option is bought, powered and staffed by its owner."""
        return self.option.it_power_w is not None

    def columns(self) -> dict[str, str]:
        """Return column title to formula; `{r}` is the row, month in column A and length of the month in B."""
        target = self.option.target
        equipment = _bill(target, "once", "once")
        kilowatts = f"{_POWER}/1000"
        energy = f"{kilowatts}*pue*power_price_usd_per_kwh*hours_per_month*$B{{r}}"
        own = {
            "purchase": f"=IF($A{{r}}=0,{equipment},0)",
            "installation": f"=IF($A{{r}}=0,{equipment}*installation_fraction,0)",
            "spares": f"=IF($A{{r}}=0,{equipment}*spares_fraction,0)",
            "support": f"={equipment}*support_fraction_per_year/12*$B{{r}}",
            "staff": f"={_GPUS}*staff_fte_per_gpu*staff_usd_per_fte_year/12*$B{{r}}",
            "facility": f"={kilowatts}*colocation_usd_per_kw_month*$B{{r}}",
            "energy always": f"={energy}*idle_power_fraction",
            "energy working": f"={energy}*(load_power_fraction-idle_power_fraction)*{_BUSY}",
            "resale": f"=IF(AND($A{{r}}=horizon_months,$B{{r}}>0),-{equipment}*resale_fraction,0)",
        }
        rented = {
            "rent while working": f"={_rent(target, 'while working')}*{_BUSY}*$B{{r}}",
            "rent always": f"={_rent(target, 'always')}*$B{{r}}",
            "rent committed": f"={_rent(target, 'committed')}*$B{{r}}",
        }
        charges = {line.line.charge for line in self.option.lines}
        if not self.owned:
            return {"purchase": own["purchase"], **rented} if "once" in charges else rented
        return {**own, **rented} if charges & {"hourly", "monthly"} else own

    def write(self, amounts: Mapping[tuple[float, str], float]) -> None:
        """Write the sheet.

        Args:
            amounts: the engine's USD by month and column, cached beside the formulas.
        """
        self._head()
        columns = self.columns()
        titles = ("month", "months", *columns, "total", "cumulative before resale", "discount factor", "present value")
        self.sheet.set_row(_FIRST_ROW - 2, _HEAD_HEIGHT)
        for column, title in enumerate(titles):
            self.sheet.write_string(_FIRST_ROW - 2, column, title, self.formats["right"])
        horizon, rate = self.plan.economics.horizon_months, self.plan.economics.discount_rate
        cumulative = 0.0
        for index in range(self.months + 1):
            row, month = _FIRST_ROW + index, min(float(index), horizon)
            length = 0.0 if index == 0 else month - (index - 1)
            here = {title: amounts.get((month, title), 0.0) for title in columns}
            total = sum(here.values())
            cumulative += total - here.get("resale", 0.0)
            factor = (1 + rate) ** (-month / 12)
            cells = [
                (f"=MIN({index},horizon_months)", month, "number"),
                ("=0" if index == 0 else f"=A{row}-A{row - 1}", length, "number"),
                *((formula.format(r=row), here[title], "usd") for title, formula in columns.items()),
            ]
            last = _letter(len(cells) - 1)
            resale = f"-{self._letter_of('resale')}{row}" if "resale" in columns else ""
            before = f"+{_letter(len(cells) + 1)}{row - 1}" if index else ""
            total_at, factor_at = f"{_letter(len(cells))}{row}", f"{_letter(len(cells) + 2)}{row}"
            cells += [
                (f"=SUM(C{row}:{last}{row})", total, "usd"),
                (f"={total_at}{resale}{before}", cumulative, "usd"),
                (f"=(1+discount_rate)^(-A{row}/12)", factor, "number"),
                (f"={total_at}*{factor_at}", total * factor, "usd"),
            ]
            for column, (formula, value, style) in enumerate(cells):
                self.sheet.write_formula(row - 1, column, formula, self.formats[style], value)

    def _head(self) -> None:
        option, economics = self.option, self.plan.economics
        hours = economics.horizon_months * economics.hours_per_month
        run_hours = option.calendar_days * 24
        self.sheet.set_column(0, 0, 26)
        self.sheet.set_column(1, 20, 17)
        self.sheet.repeat_rows(_FIRST_ROW - 2)
        self.sheet.freeze_panes(_FIRST_ROW - 1, 2)
        self.sheet.write_string(0, 0, f"Cash flow: {NAME_OF_TARGET[option.target]}", self.formats["title"])
        for row, (title, value) in enumerate(
            (
                ("GPUs", option.gpus),
                ("IT power at nameplate, W", option.it_power_w or 0.0),
                ("days of a run", option.calendar_days),
            ),
            start=2,
        ):
            self.sheet.write_string(row, 0, title)
            self.sheet.write_number(row, 1, value, self.formats["input"])
        for row, (title, formula, cached) in enumerate(
            (
                (
                    "busy share of the horizon",
                    f"=runs_in_horizon*{_DAYS}*24/(horizon_months*hours_per_month)",
                    option.busy_fraction,
                ),
                (
                    "run's share of hours worked",
                    f"={_DAYS}*24/(horizon_months*hours_per_month*utilisation)",
                    run_hours / (hours * economics.utilisation),
                ),
                ("run's share of the horizon", f"={_DAYS}*24/(horizon_months*hours_per_month)", run_hours / hours),
            ),
            start=5,
        ):
            self.sheet.write_string(row, 0, title)
            self.sheet.write_formula(row, 1, formula, self.formats["number"], cached)

    def _letter_of(self, title: str) -> str:
        extra = ("total", "cumulative before resale", "discount factor", "present value")
        return _letter(("month", "months", *self.columns(), *extra).index(title))

    def _sum(self, title: str) -> str:
        letter = self._letter_of(title)
        return f"SUM('{self.sheet.get_name()}'!{letter}{_FIRST_ROW}:{letter}{_FIRST_ROW + self.months})"

    def total_formula(self, title: str) -> str:
        """Return the sum of a column over all months; `unknown` where an owned cluster cannot do the work in time."""
        return self._guarded(self._sum(title), feasible=self.owned)

    def _guarded(self, formula: str, *, feasible: bool = False) -> str:
        """Return a formula that says `unknown` for a horizon with more months than the sheet has rows."""
        too_long = f"horizon_months>{self.months}"
        busy = f"'{self.sheet.get_name()}'!{_BUSY}>1+1E-9"
        return f'=IF({f"OR({too_long},{busy})" if feasible else too_long},"unknown",{formula})'

    def capex_formula(self) -> str:
        """Return what is paid at the start for what is bought."""
        bought = [title for title in self.columns() if title in _BUILDING]
        return "=" + ("+".join(self._sum(title) for title in bought) or "0")

    def run_formula(self) -> str:
        """Return the cost of one run: variable costs over the runs, the rest by the run's share of hours."""
        name = f"'{self.sheet.get_name()}'!"
        shares = {
            "rent while working": "/runs_in_horizon",
            "energy working": "/runs_in_horizon",
            "rent always": f"*{name}{_HELD if self.owned else _RUNNING}",
        }
        parts = [f"{self._sum(title)}{shares.get(title, f'*{name}{_HELD}')}" for title in self.columns()]
        return self._guarded("+".join(parts))


def _letter(column: int) -> str:
    """Return a column's letter (A is 0); no sheet here has more than 26 columns."""
    return chr(ord("A") + column)
