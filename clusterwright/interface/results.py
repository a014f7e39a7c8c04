"""Answers to one blueprint: its plan, and from it comparison, explanations, files and tables."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.errors import Finding, InputError
from clusterwright.explain.explanation import explanations, find
from clusterwright.explain.records import Explanation
from clusterwright.facility.bill import BillLine
from clusterwright.finance.finances import Finances, finances
from clusterwright.interface.documents import comparison_document, ranking_document, scenario
from clusterwright.interface.places import placing
from clusterwright.interface.tables import Relation, scalar_fields, table
from clusterwright.outputs import folder
from clusterwright.plan.document import dumps
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Alternative, Option, Plan
from clusterwright.plan.recount import ledger
from clusterwright.plan.text.currency import told_as_asked, with_currency
from clusterwright.tco.chance.uncertainty import SEED
from clusterwright.tco.records import CandidateCost, CashFlowRow, Parameter, PricedLine

if TYPE_CHECKING:
    from clusterwright.feeds.vendor_quotes import VendorQuotes

#: Draws behind shares and bands of a comparison.
DRAWS = 10_000


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class PlanResult:
    """The plan of a blueprint, with what it rests on.

    Attributes:
        blueprint: as loaded; with `on`, its targets are those that were planned.
        plan: the record that `plan.json` holds.
        facts: that it was made with, own facts included.
        quotes: of a vendor that it is priced with, None without.
    """

    blueprint: LoadedBlueprint
    plan: Plan
    facts: Facts
    quotes: "VendorQuotes | None" = None

    def __repr__(self) -> str:
        chosen = ", ".join(f"{option.target}: {option.nodes} × {option.instance}" for option in self.plan.options)
        return f"<PlanResult of {self.plan.name}: {chosen}>"

    @property
    def options(self) -> tuple[Option, ...]:
        """The chosen cluster of each target."""
        return self.plan.options

    @property
    def recommended(self) -> Option | None:
        """The option that is recommended for this run, None where none can be."""
        return self.plan.option(self.plan.recommended)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Rules that failed: the plan shows what there is, and does not do what was asked."""
        return self.plan.findings

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is allowed and may still be wrong."""
        return self.plan.warnings

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as `plan.json` holds it."""
        document: dict[str, Any] = json.loads(dumps(self.plan))
        return document

    def compare(self, *, draws: int = DRAWS, seed: int = SEED, everything: bool = True) -> "Comparison":
        """Return every way to have the cluster, renting and owning, with what each costs.

        Args:
            draws: of the uncertain inputs, 1 to a million.
            seed: of the draws.
            everything: also ways that are never called the cheapest, such as spot nodes that nobody asked for.

        Raises:
            InputError: draws are out of range, or a section cannot be counted with.
        """
        with placing(self.blueprint):
            found = finances(self.plan, self.facts.book, draws=draws, seed=seed, everything=everything)
        return Comparison(result=self, finances=found)

    def explanations(self, on: str | None = None) -> tuple[Explanation, ...]:
        """Return where every number of a target comes from.

        Args:
            on: the target; the recommended one, or the first, if None.

        Raises:
            InputError: the plan has no such target.
        """
        with placing(self.blueprint), told_as_asked(self.plan, self.facts.book):
            return explanations(self.plan, on or self._target, ledger(self.plan, self.facts.book))

    def explain(self, number: str, on: str | None = None) -> Explanation:
        """Return where one number comes from: equation, inputs, sources.

        Args:
            number: its name, such as `mfu` or `run_usd`.
            on: as in `explanations`.

        Raises:
            InputError: there is no such number or target.
        """
        return find(self.explanations(on), number, self.plan.workload.kind)

    def build(self, output: Path | str, *, force: bool = False, pdf: bool = False) -> folder.Written:
        """Write every file for every target into a folder: whole, or not at all.

        Args:
            output: made if missing.
            force: replace files even if they were changed since they were written.
            pdf: print report and drawings too, which needs a browser.

        Raises:
            InputError: the folder cannot be written, or holds changes.
        """
        return folder.write(Path(output), self.files(pdf=pdf), force=force)

    def files(self, *, pdf: bool = False) -> dict[str, folder.File]:
        """Return every file that `build` writes, by path in the folder."""
        from clusterwright.outputs.deliverables import everything  # noqa: PLC0415 - heavy

        with placing(self.blueprint), told_as_asked(self.plan, self.facts.book):
            return everything(self.plan, self.facts, pdf=pdf)

    def table(self, name: str) -> Relation:
        """Return a table of the plan as a DuckDB relation.

        Args:
            name: `options`, `ranking`, `bill` or `parameters`.

        Raises:
            InputError: there is no such table.
        """
        if name == "bill":
            return _bill(self.plan)
        records: Mapping[str, tuple[type, tuple[Any, ...]]] = {
            "options": (Option, self.plan.options),
            "ranking": (Alternative, self.plan.ranking),
            "parameters": (Parameter, self.plan.parameters),
        }
        kind, rows = _named(name, records, "bill")
        return table(rows, scalar_fields(kind))

    @property
    def _target(self) -> str:
        return (self.recommended or self.plan.options[0]).target


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Comparison:
    """Every way to have a plan's cluster, with what each costs and how sure the order is.

    Attributes:
        result: the plan that is compared.
        finances: its figures in the terms of finance.
    """

    result: PlanResult
    finances: Finances

    def __repr__(self) -> str:
        return (
            f"<Comparison of {self.result.plan.name}: {len(self.finances.costs)} ways, {self.finances.draws:,} draws>"
        )

    @property
    def ranking(self) -> tuple[Alternative, ...]:
        """Every way, those that compete first, cheapest first."""
        return self.result.plan.ranking

    def to_dict(self) -> dict[str, Any]:
        """Return what `clusterwright compare --json` prints."""
        plan = self.result.plan
        with placing(self.result.blueprint), told_as_asked(plan, self.result.facts.book) as currency:
            document = comparison_document(plan) | {
                "scenario": scenario(self.result.blueprint, plan),
                "ranking": ranking_document(plan, self.finances),
            }
            return with_currency(document, currency)

    def table(self, name: str) -> Relation:
        """Return a table of the comparison as a DuckDB relation.

        Args:
            name: `ranking`, `costs` or `cash_flow` (a row for each way, month and kind of cost).

        Raises:
            InputError: there is no such table.
        """
        flows = tuple(row for rows in self.finances.rows.values() for row in rows)
        records: Mapping[str, tuple[type, tuple[Any, ...]]] = {
            "ranking": (Alternative, self.ranking),
            "costs": (CandidateCost, self.finances.costs),
            "cash_flow": (CashFlowRow, flows),
        }
        kind, rows = _named(name, records)
        return table(rows, scalar_fields(kind))


def _named(name: str, records: Mapping[str, tuple[type, tuple[Any, ...]]], *more: str) -> tuple[type, tuple[Any, ...]]:
    if name not in records:
        raise InputError(f"there is no table {name!r}", help=f"one of {', '.join((*records, *more))}")
    return records[name]


def _bill(plan: Plan) -> Relation:
    """Return the priced lines of every option."""
    of_line, of_price = scalar_fields(BillLine), scalar_fields(PricedLine)
    rows = [
        {"target": option.target}
        | {name: getattr(priced.line, name) for name in of_line}
        | {name: getattr(priced, name) for name in of_price}
        for option in plan.options
        for priced in option.lines
    ]
    return table(rows, {"target": str} | of_line | of_price)
