"""Rent by month, by the hour worked, committed and standing; see `tco/sql/rent_flow.sql`."""

from clusterwright.outputs.workbook.contract_months import under_contract
from clusterwright.outputs.workbook.contracts import Terms
from clusterwright.outputs.workbook.formula import Figure
from clusterwright.outputs.workbook.rent_case import Case, Rented, Rents
from clusterwright.outputs.workbook.shared import Class, Rows, Workbook, bill_label
from clusterwright.tco.records import CandidateCost


def rent_of(work: Workbook, rents: Rents, cost: CandidateCost, busy: Figure) -> Rented:
    """Return what a rented option costs by month.

    Args:
        work: the workbook.
        rents: what it is counted with.
        cost: the option.
        busy: share of the first year's hours at work.
    """
    case = Case(
        work=work, bill=rents.bill, key=bill_label(work, cost), busy=busy, terms=rents.terms.get(cost.key, Terms()),
        done=rents.stages.factors["work"] if rents.stages else None,
    )  # fmt: skip
    if cost.key in rents.terms:
        return under_contract(case)
    found: dict[Class, Rows] = {}
    rows, lengths = range(work.rows), work.lengths
    usd = case.usd_per_month("while working", "")
    if usd is not None:
        found["used"] = tuple(usd * busy * case.work_in(max(0, row - 1)) * lengths[row] for row in rows)
    usd = case.usd_per_month("committed", "")
    if usd is not None:
        found["committed"] = tuple(usd * case.nodes_in(max(0, row - 1)) * lengths[row] for row in rows)
    usd = case.usd_per_month("always", "")
    if usd is not None:
        found["standing"] = tuple(usd * length for length in lengths)
    return Rented(flows=found)
