"""Cost: one cash flow for all candidates in DuckDB, and every metric a query over it (`docs/explain/money.md`)."""

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from operator import attrgetter
from typing import Any

from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import TERMS
from clusterwright.pricing.statements import files, parsed, private_connection, statement, words
from clusterwright.tco.formulas.finance import Levelisation, LevelisedCost
from clusterwright.tco.formulas.returns import Flow
from clusterwright.tco.formulas.unit_cost import RunPart, RunTotal, run_total
from clusterwright.tco.ledger.input_rows import as_candidate, candidate_row, contract_tables, line_rows, parameter_rows
from clusterwright.tco.ledger.priced_lines import price_lines
from clusterwright.tco.ledger.results import SCENARIOS, breakevens, candidate_costs, cumulative_points, run_parts
from clusterwright.tco.renting.commitments import CommitmentLot, commitment_lots, committed_months
from clusterwright.tco.renting.mixes import Mix
from clusterwright.tco.terms.assumptions import assumptions, own_parameters, parameters, resale_curve
from clusterwright.tco.terms.owner_costs import owner_costs
from clusterwright.tco.terms.records import (
    Assumption,
    BasisAmount,
    Breakeven,
    Candidate,
    CandidateCost,
    CashFlowRow,
    CumulativePoint,
    Economics,
    Parameter,
    PresentYear,
    PricedLine,
)
from clusterwright.tco.terms.stages import CapacityEvent, MonthState, PurchaseLot, combined, purchase_lots

Row = dict[str, Any]

_BUSY = "tco/sql/candidate_busy.sql"
#: Tables of a cash flow besides its inputs; each is a statement in `tco/sql` over the tables before it.
TABLES = (
    "work",
    "run_time",
    "period",
    "mix_work",
    "option_work",
    "scenario_line",
    "purchase_flow",
    "rented_line",
    "rent_flow",
    "owner_flow",
    "surcharge_flow",
    "charge_flow",
    "spend_term",
    "commitment_year",
    "commitment_flow",
    "support_flow",
    "part_term",
    "cash_term",
    "cash_flow",
)
#: Input table that a derived table is joined to: without input rows the derived table is empty. For a few candidates
#: DuckDB spends longer planning such a statement than running it, so it is skipped.
EMPTY_WITHOUT = {
    "mix_work": "mix_part",
    "surcharge_flow": "surcharge",
    "charge_flow": "charge",
    "spend_term": "contract",
    "commitment_year": "contract",
    "commitment_flow": "contract",
    "support_flow": "support_tier",
}
#: Tables that few queries use; each is created when a statement first names it.
LAZY_TABLES = ("drawn_term", "drawn_flow", "term_input", "cumulative")


def cost(
    candidates: Sequence[Candidate], economics: Economics, book: PriceBook, scenarios: Sequence[str] = SCENARIOS
) -> tuple[CandidateCost, ...]:
    """Return the cost of each candidate, in order.

    Args:
        candidates: candidates to compare; all do the same number of runs in the horizon.
        economics: economic inputs.
        book: documented prices.
        scenarios: scenarios to calculate; the bands of costs are unknown without `low` and `high`.

    Raises:
        InputError: an economic value is out of range, or two candidates share a key.
    """
    return Ledger(candidates, economics, book, scenarios=scenarios).costs()


def growth_tables(
    candidates: Sequence[Candidate],
    economics: Economics,
    busy_fractions: Mapping[str, float],
    known: Mapping[str, Assumption],
) -> dict[str, list[Row]]:
    """Return the rows of the tables of purchase lots, months, events and commitments, by name of the table.

    Args:
        candidates: candidates to compare.
        economics: source of growth, replacement and resale values.
        busy_fractions: share of the hours that the work of the first year takes, by key of the candidate.
        known: assumptions by key.
    """
    lots_by_key = {entry.key: _lots(entry, economics, busy_fractions[entry.key], known) for entry in candidates}
    sized_lots = [(lot, {"lot_month": lot.month, "size": lot.size}) for lots in lots_by_key.values() for lot in lots]
    schedules = [combined(key, lots) for key, lots in lots_by_key.items()]
    committed = [lot for entry in candidates for lot in _committed(entry, economics, busy_fractions[entry.key])]
    return {
        "lot_stage": [row | size for lot, size in sized_lots for row in _rows_of(lot.states)],
        "lot_event": [row | size for lot, size in sized_lots for row in _rows_of(lot.events)],
        "stage": _rows_of(row for states, _ in schedules for row in states),
        "event": _rows_of(row for _, events in schedules for row in events),
        "commitment_lot": _rows_of(committed),
    }


def _lots(
    candidate: Candidate, economics: Economics, busy_fraction: float, known: Mapping[str, Assumption]
) -> tuple[PurchaseLot, ...]:
    return purchase_lots(
        candidate.key,
        economics.growth if candidate.owned else replace(economics.growth, refresh_months=None),
        horizon_months=economics.horizon_months,
        busy_fraction=busy_fraction if candidate.owned and candidate.expands else 0.0,
        nodes=max(1, candidate.nodes),
        resale=resale_curve(economics, known),
    )


def _committed(candidate: Candidate, economics: Economics, busy_fraction: float) -> tuple[CommitmentLot, ...]:
    months = committed_months(candidate, economics)
    if months is None:
        return ()
    return commitment_lots(
        candidate.key,
        economics.growth,
        horizon_months=economics.horizon_months,
        busy_fraction=busy_fraction,
        period_months=months,
    )


def _rows_of(records: Iterable[MonthState | CapacityEvent | CommitmentLot]) -> list[Row]:
    """Return records of one kind as rows: a growing cluster has thousands."""
    found = list(records)
    if not found:
        return []
    names = found[0].__slots__
    values = attrgetter(*names)
    return [dict(zip(names, values(record), strict=True)) for record in found]


#: Longest horizon in months: the life of a building.
MAX_HORIZON_MONTHS = 600


def check(candidates: Sequence[Candidate], economics: Economics, mixes: Sequence[Mix]) -> None:
    """Reject inputs without a meaningful cost.

    Raises:
        InputError: a value is out of range, a term is unknown, or two candidates or mixes share a key.
    """
    keys = [*(candidate.key for candidate in candidates), *(mix.key for mix in mixes)]
    if len(set(keys)) < len(keys):
        raise InputError("two candidates have the same key", help="give each candidate its own key")
    for candidate in candidates:
        if not candidate.calendar_days > 0:
            raise InputError(f"{candidate.key}: a run takes more than 0 days", help="give the calendar days of a run")
        if not 0 < candidate.run_time_low <= 1 <= candidate.run_time_high:
            raise InputError(
                f"{candidate.key}: a run takes {candidate.run_time_low:g} to {candidate.run_time_high:g} "
                "times its days",
                help="the range must include 1",
            )
        if candidate.utilisation is not None and not 0 < candidate.utilisation <= 1:
            raise InputError(
                f"{candidate.key}: utilisation is {candidate.utilisation}", help="it must be above 0 and at most 1"
            )
        if candidate.term is not None and candidate.term not in TERMS:
            raise InputError(f"{candidate.term!r} is not a term", help=f"use one of {', '.join(TERMS)}")
    if economics.term not in TERMS:
        raise InputError(f"{economics.term!r} is not a term", help=f"use one of {', '.join(TERMS)}")
    for name, allowed, fits in (
        (
            "horizon_months",
            f"above 0 and at most {MAX_HORIZON_MONTHS}",
            0 < economics.horizon_months <= MAX_HORIZON_MONTHS,
        ),
        ("utilisation", "above 0 and at most 1", 0 < economics.utilisation <= 1),
        ("discount_rate", "from 0 to 1", 0 <= economics.discount_rate <= 1),
        ("hours_per_month", "above 0", economics.hours_per_month > 0),
        ("runs", "above 0", economics.runs is None or economics.runs > 0),
        ("reference_days", "above 0", economics.reference_days is None or economics.reference_days > 0),
    ):
        if not fits:
            raise InputError(f"{name} is {getattr(economics, name)}", help=f"it must be {allowed}")


class Ledger:
    """Cash flow of a set of candidates, with the queries over it.

    Attributes:
        economics: economic inputs.
        candidates, mixes: the alternatives, in the given order.
        book: documented prices.
        as_of: day of the prices.
        parameters: economic values that were used, with their origin.
        lines: priced bill of each candidate, by key.
        own_parameters: parameters that apply to one candidate alone, by its key.
        busy_fractions: share of the hours that the work of the first year takes on each candidate, by key.
        work_shares: share of the horizon's work by candidate, by key of the mix.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        economics: Economics,
        book: PriceBook,
        mixes: Sequence[Mix] = (),
        scenarios: Sequence[str] = SCENARIOS,
    ) -> None:
        check(candidates, economics, mixes)
        known = assumptions()
        skus = {line.sku for candidate in candidates for line in candidate.bill.lines}
        self.economics = economics
        self.candidates = tuple(candidates)
        self.mixes = tuple(mixes)
        self.book = book
        self.as_of: dt.date = economics.as_of or book.newest_day
        self.parameters: tuple[Parameter, ...] = parameters(economics, known, skus)
        priced = price_lines(self.candidates, economics, book, known, self.as_of)
        self.lines: dict[str, tuple[PricedLine, ...]] = {
            candidate.key: lines for candidate, lines in zip(self.candidates, priced, strict=True)
        }
        common = {parameter.key for parameter in self.parameters}
        self.own_parameters = {entry.key: own_parameters(entry, known, common) for entry in self.candidates}
        self.busy_fractions: dict[str, float] = {}
        self._made: set[str] = set()
        self._connection = private_connection()
        self._fill(known, scenarios)
        self.work_shares: dict[str, dict[str, float]] = {mix.key: {} for mix in self.mixes}
        for row in self._rows("tco/sql/mix_work_row.sql"):
            self.work_shares[row["key"]][row["part_key"]] = row["work_share"]

    def costs(self) -> tuple[CandidateCost, ...]:
        """Return the cost of each candidate and then of each mix, in the given order."""
        return candidate_costs(
            (
                *(candidate for candidate in self.candidates if candidate.listed),
                *(as_candidate(mix, self.candidates, self.work_shares[mix.key]) for mix in self.mixes),
            ),
            self.economics,
            self.lines | {mix.key: () for mix in self.mixes},
            mixed={mix.key for mix in self.mixes},
            work=self._rows("tco/sql/candidate_work.sql"),
            totals=self._rows("tco/sql/candidate_total.sql"),
            runs=self._run_totals(),
            categories=self._rows("tco/sql/category_total.sql"),
        )

    def breakevens(self, *, every_pair: bool = False) -> tuple[Breakeven, ...]:
        """Return the breakeven of each owned candidate with each rented one, without candidates of unknown price.

        Args:
            every_pair: whether to compare every candidate with every other one, for example an upfront payment with
                none.
        """
        return breakevens(
            months=self._rows("tco/sql/breakeven_month.sql", {"every_pair": every_pair}),
            utilisations=self._rows("tco/sql/breakeven_utilisation.sql", {"every_pair": every_pair}),
            horizon_months=self.economics.horizon_months,
        )

    def cumulative(self) -> tuple[CumulativePoint, ...]:
        """Return the cumulative cash by month for the breakeven curve, without candidates of unknown price."""
        return cumulative_points(self._rows("tco/sql/cumulative.sql"))

    def cash_flow_rows(self, key: str | None = None) -> tuple[CashFlowRow, ...]:
        """Return the dated rows of the base scenario by candidate and month, or those of one candidate."""
        rows = self._rows("tco/sql/cash_flow_row.sql", {"key": key or ""})
        return tuple(CashFlowRow(month=row.pop("month_end"), **row) for row in rows)

    def basis_amounts(self) -> tuple[BasisAmount, ...]:
        """Return the dollars of every candidate and mix by the origin of their prices."""
        return tuple(BasisAmount(**row) for row in self._rows("tco/sql/basis_amount.sql"))

    def present_years(self, key: str) -> tuple[PresentYear, ...]:
        """Return the payments of a candidate in each year of the base scenario, with their present value."""
        return tuple(PresentYear(**row) for row in self._rows("tco/sql/present_year.sql", {"key": key}))

    def net_flow(self, key: str, other_key: str) -> tuple[Flow, ...]:
        """Return the monthly savings of a candidate against another: the other's payments less its own."""
        rows = self._rows("tco/sql/net_flow.sql", {"key": key, "other_key": other_key})
        return tuple((row["month_end"], row["usd"]) for row in rows)

    def levelised(self, levelisations: Mapping[str, Levelisation]) -> dict[str, LevelisedCost]:
        """Return the levelised cost of a useful GPU-hour by candidate, with purchases at a fixed yearly charge rate."""
        rows = [{"key": key} | asdict(levelisation) for key, levelisation in levelisations.items()]
        self.create("levelisation", "tco/sql/stg_levelisation.sql", {"rows": rows})
        costs = self._rows("tco/sql/levelised_cost.sql")
        return {row.pop("key"): LevelisedCost(**row) for row in costs}

    def run_parts(self, key: str) -> tuple[RunPart, ...]:
        """Return the amounts behind the cost of one run in the base scenario, by part; empty if a price is unknown."""
        return tuple(self._run_parts().get((key, "base"), ()))

    def _run_parts(self) -> dict[tuple[str, str], list[RunPart]]:
        return run_parts(self._rows("tco/sql/run_total.sql"))

    def _run_totals(self) -> dict[tuple[str, str], RunTotal]:
        return {option: run_total(parts) for option, parts in self._run_parts().items()}

    def audit(self) -> tuple[Row, ...]:
        """Run every audit in `tco/audits` over the cash flow; an empty result means that the views reconcile."""
        runs = [
            {"scenario": scenario, "key": key, "run_usd": total.usd}
            for (key, scenario), total in self._run_totals().items()
        ]
        self.create("run_cost", "tco/sql/stg_run_cost.sql", {"rows": runs})
        return tuple(
            {"audit": path.stem, **row} for path in files("tco/audits") for row in self._rows(f"tco/audits/{path.name}")
        )

    def reconciled(self) -> "Ledger":
        """Audit the cash flow and return the ledger itself.

        Raises:
            ClusterwrightError: the views of the cash flow do not reconcile, which is a bug.
        """
        broken = self.audit()
        if broken:
            raise ClusterwrightError(
                f"the views of the cash flow do not reconcile: {broken[0]}", help="report this with the blueprint"
            )
        return self

    def _fill(self, known: Mapping[str, Assumption], scenarios: Sequence[str]) -> None:
        unpriced = {key for key, lines in self.lines.items() if any(line.unit_usd is None for line in lines)}
        tables = {
            "candidate": [candidate_row(candidate, candidate.key not in unpriced) for candidate in self.candidates],
            "priced_line": [
                row
                for candidate in self.candidates
                if candidate.key not in unpriced
                for row in line_rows(candidate, self.lines[candidate.key])
            ],
            "parameter": [
                *(row for parameter in self.parameters for row in parameter_rows(parameter, scenarios)),
                *(
                    row
                    for candidate in self.candidates
                    for parameter in self.own_parameters[candidate.key]
                    for row in parameter_rows(parameter, scenarios, candidate.key)
                ),
            ],
            "owner_cost": [asdict(term) | {"parameters": list(term.parameters)} for term in owner_costs()],
            "surcharge": [
                {"key": candidate.key} | asdict(surcharge) | {"of_categories": list(surcharge.of_categories)}
                for candidate in self.candidates
                for surcharge in candidate.surcharges
            ],
        }
        tables |= contract_tables(self.candidates, self.mixes, self.economics.horizon_months)
        for name, rows in tables.items():
            self._store(name, rows)
        for name in TABLES:
            if name in EMPTY_WITHOUT and not tables[EMPTY_WITHOUT[name]]:
                self._create_empty(name, f"tco/sql/{name}.sql", {})
            else:
                self._create(name)
            if name == "period":
                self.busy_fractions = {row["key"]: row["busy_fraction"] for row in self._rows(_BUSY)}
                growing = growth_tables(self.candidates, self.economics, self.busy_fractions, known)
                for table, rows in growing.items():
                    self._store(table, rows)

    def create(self, name: str, path: str, more: Row, *, append: bool = False) -> None:
        """Store the result of a statement in a table, which replaces one of that name or, with `append`, extends it.

        Rows are passed as JSON, which DuckDB reads in less than half the time that it takes for Python dicts.
        """
        text = self._statement(path).replace("$rows", "cast($rows as json)")
        start = f"insert into {name}" if append else f"create or replace temp table {name} as"
        given = more | {"rows": json.dumps(more["rows"])} if "rows" in more else more
        self._connection.execute(parsed(f"{start} {text}"), self._arguments(path, given))

    @contextmanager
    def registered(self, name: str, columns: Mapping[str, Any]) -> Iterator[None]:
        """Register columns of numbers as a table that statements can read within the block."""
        self._connection.register(name, dict(columns))
        try:
            yield
        finally:
            self._connection.unregister(name)

    def query(self, path: str, more: Row) -> list[Row]:
        """Return the rows of a statement over the cash flow; `more` holds parameters besides those of the economics."""
        return self._rows(path, more)

    def _create(self, name: str) -> None:
        self.create(name, f"tco/sql/{name}.sql", {})

    def _store(self, name: str, rows: list[Row]) -> None:
        """Store the rows of an input table."""
        make = self.create if rows else self._create_empty
        make(name, f"tco/sql/stg_{name}.sql", {"rows": rows})

    def _create_empty(self, name: str, path: str, more: Row) -> None:
        """Create an empty table with the columns of a statement.

        The columns are kept as an empty table in the database that all connections of the process share, since finding
        them takes as long as planning the statement.
        """
        import duckdb  # noqa: PLC0415 - 0.2 s that only commands with prices pay

        columns = f"memory.main.columns_of_{name}"
        try:
            self._connection.execute(f"create or replace temp table {name} as from {columns}")
        except duckdb.CatalogException:
            self.create(name, path, more)
            # Another thread may have created it in the meantime.
            with suppress(duckdb.TransactionException):
                self._connection.execute(f"create table if not exists {columns} as from {name} limit 0")

    def _statement(self, path: str) -> str:
        """Return a statement after creating those of the `LAZY_TABLES` that it names."""
        for name in LAZY_TABLES:
            if name not in self._made and name in words(path):
                self._made.add(name)
                self._create(name)
        return statement(path)

    def _arguments(self, path: str, more: Row | None = None) -> Row:
        values: Row = (more or {}) | {
            "horizon_months": self.economics.horizon_months,
            "hours_per_month": self.economics.hours_per_month,
            "utilisation": self.economics.utilisation,
            "discount_rate": self.economics.discount_rate,
            "runs": self.economics.runs,
            "reference_days": self.economics.reference_days,
            "mean_work": self.economics.growth.mean_work(self.economics.horizon_months),
        }
        return {name: value for name, value in values.items() if f"${name}" in words(path)}

    def _rows(self, path: str, more: Row | None = None) -> list[Row]:
        cursor = self._connection.execute(parsed(self._statement(path)), self._arguments(path, more))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
