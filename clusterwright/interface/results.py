"""Answers to one blueprint: its plan, and from it comparison, explanations, files and tables."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.blueprint.rules.hardware import CLOUDS
from clusterwright.errors import Finding, InputError
from clusterwright.explain.explanation import explanations, find
from clusterwright.explain.records import Explanation
from clusterwright.facility.bill import BillLine
from clusterwright.finance.finances import Finances, finances
from clusterwright.interface.documents import comparison_document, ranking_document, scenario
from clusterwright.interface.places import placed, placing
from clusterwright.interface.tables import Relation, scalar_fields, table
from clusterwright.outputs import folder
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.document import dumps
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Alternative, Option, Plan
from clusterwright.plan.text.currency import money_as_asked, with_currency
from clusterwright.tco.chance.uncertainty import SEED
from clusterwright.tco.terms.records import CandidateCost, CashFlowRow, Parameter, PricedLine

if TYPE_CHECKING:
    from clusterwright.feeds.vendor_quotes import VendorQuotes

#: Records of options and alternatives whose values are columns of their tables.
_INNER = ("cluster", "performance", "money", "deployment")
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
        chosen = ", ".join(
            f"{option.target}: {option.cluster.nodes} × {option.cluster.instance}" for option in self.plan.options
        )
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
        with placing(self.blueprint):
            money = money_as_asked(self.plan)
            return explanations(self.plan, on or self._target, ledger(self.plan, self.facts.book), money)

    def explain(self, number: str, on: str | None = None) -> Explanation:
        """Return where one number comes from: equation, inputs, sources.

        Args:
            number: its name, such as `mfu` or `run_usd`.
            on: as in `explanations`.

        Raises:
            InputError: there is no such number or target.
        """
        return find(self.explanations(on), number, self.plan.workload.kind)

    def build(
        self, output: Path | str, *, only: Sequence[str] = (), force: bool = False, pdf: bool = False
    ) -> folder.Written:
        """Write every file for every target into a folder: whole, or not at all.

        Args:
            output: made if missing.
            only: parts to write, as targets or `report`; what the folder has of other parts of this plan stays.
            force: replace files even if they were changed since they were written.
            pdf: print report and drawings too, which needs a browser.

        Raises:
            InputError: the plan has no such part; the folder cannot be written, holds changes, or parts of another
                plan.
        """
        from clusterwright.outputs.deliverables import parts_of  # noqa: PLC0415 - heavy

        files = self.files(only=only, pdf=pdf)
        return folder.write(Path(output), files, parts=parts_of(self.plan, only), force=force)

    def files(self, *, only: Sequence[str] = (), pdf: bool = False) -> dict[str, folder.File]:
        """Return every file that `build` writes, by path in the folder; errors as `build`."""
        from clusterwright.outputs.deliverables import everything, parts_of  # noqa: PLC0415 - heavy

        with placing(self.blueprint):
            money = money_as_asked(self.plan)
            return everything(self.plan, self.facts, parts=parts_of(self.plan, only), pdf=pdf, money=money)

    def stack(self, output: Path | str, on: str, *, force: bool = False) -> folder.Written:
        """Write the project of one cloud into a folder: whole, or not at all.

        Args:
            output: made if missing.
            on: the cloud, such as `aws`.
            force: replace files even if they were changed since they were written.

        Raises:
            BlueprintError: a rule failed; a project is not written for a cluster that does not do what was asked.
            InputError: the plan has no such cloud, or the folder cannot be written, or holds changes.
        """
        if on not in CLOUDS:
            raise InputError(f"there is no cloud {on!r}", help=f"one of {', '.join(CLOUDS)}")
        return folder.write(Path(output), self.target_files(on), force=force)

    def onprem(self, output: Path | str, *, force: bool = False, pdf: bool = False) -> folder.Written:
        """Write the documents of the cluster on premises into a folder; arguments and errors as `stack` and `build`."""
        return folder.write(Path(output), self.target_files("onprem", pdf=pdf), force=force)

    def target_files(self, on: str, *, pdf: bool = False) -> dict[str, folder.File]:
        """Return the files of one target: a cloud's project, or the documents on premises.

        Args:
            on: the target.
            pdf: print the drawings too, which needs a browser.

        Raises:
            BlueprintError: a rule failed; InputError: there is no such target.
        """
        from clusterwright.outputs.deliverables import cloud_files, onprem_files  # noqa: PLC0415 - heavy

        option = self._planned(on)
        if option.target not in CLOUDS:
            documents = onprem_files(self.plan, option, self.facts.catalogue, pdf=pdf)
            return {"plan.json": folder.text(dumps(self.plan))} | documents
        with placing(self.blueprint):
            money = money_as_asked(self.plan)
            return cloud_files(self.plan, option, self.facts.catalogue, money)

    def export(self, to: str, on: str) -> str:
        """Return one cloud's plan as the file of another deployment tool.

        Args:
            to: `parallelcluster`, `cluster-toolkit` or `skypilot`; FOCUS rows are `focus`.
            on: the cloud.

        Raises:
            BlueprintError: a rule failed; InputError: no such tool or cloud, or the tool does not deploy to it.
        """
        from clusterwright.outputs.exports.formats import FORMATS, export_text  # noqa: PLC0415 - heavy

        if to not in FORMATS:
            raise InputError(f"there is no export {to!r}", help=f"one of {', '.join(FORMATS)}")
        return export_text(self.plan, self._planned(on), self.facts.catalogue, to)

    def focus(self, *, begin: dt.date | None = None) -> tuple[dict[str, str], ...]:
        """Return what the plan will be billed, month by month, as rows of FOCUS.

        Args:
            begin: first day of the horizon; the first of the month after the as-of day if None.

        Raises:
            InputError: the begin is not the first of a month.
        """
        from clusterwright.outputs.exports.focus import focus_rows  # noqa: PLC0415 - heavy

        with placing(self.blueprint):
            money = money_as_asked(self.plan)
            return focus_rows(self.plan, ledger(self.plan, self.facts.book), begin=begin, money=money)

    def _planned(self, on: str) -> Option:
        if self.findings:
            raise placed(self.blueprint, self.findings)
        option = self.plan.option(on)
        if option is None:
            known = ", ".join(entry.target for entry in self.options)
            raise InputError(f"the plan has no target {on!r}", help=f"one of {known}")
        return option

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
        return table(rows, scalar_fields(kind, *_INNER))

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
        with placing(self.result.blueprint):
            money = money_as_asked(plan)
            document = comparison_document(plan) | {
                "scenario": scenario(self.result.blueprint, plan),
                "ranking": ranking_document(plan, self.finances),
            }
            return with_currency(document, money.currency)

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
        return table(rows, scalar_fields(kind, *_INNER))


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
        for priced in option.money.lines
    ]
    return table(rows, {"target": str} | of_line | of_price)
