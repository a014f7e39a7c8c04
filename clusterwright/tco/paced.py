"""What is in each month, what is bought and sold when, and what is committed, as rows of a cash flow's tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusterwright.tco.assumptions import resale_curve
from clusterwright.tco.commitments import CommitmentLot, commitment_lots, committed_months
from clusterwright.tco.records import Assumption, Candidate, Economics
from clusterwright.tco.stages import Event, Lot, Stage, lots, together

Row = dict[str, Any]


def pace_tables(
    candidates: Sequence[Candidate],
    economics: Economics,
    busy_fractions: Mapping[str, float],
    known: Mapping[str, Assumption],
) -> dict[str, list[Row]]:
    """Return the rows of the tables of lots, stages, events and commitments, by name of the table.

    Args:
        candidates: compared with each other.
        economics: with how the work changes, and resale.
        busy_fractions: share of the hours that the work of the first year takes, by key of the candidate.
        known: assumptions by key.
    """
    found = {entry.key: _lots(entry, economics, busy_fractions[entry.key], known) for entry in candidates}
    of_lots = [(lot, {"lot_month": lot.month, "size": lot.size}) for of_key in found.values() for lot in of_key]
    whole = [together(key, of_key) for key, of_key in found.items()]
    committed = [lot for entry in candidates for lot in _committed(entry, economics, busy_fractions[entry.key])]
    return {
        "lot_stage": [_columns_of(row) | size for lot, size in of_lots for row in lot.stages],
        "lot_event": [_columns_of(row) | size for lot, size in of_lots for row in lot.events],
        "stage": [_columns_of(row) for stages, _ in whole for row in stages],
        "event": [_columns_of(row) for _, events in whole for row in events],
        "commitment_lot": [_columns_of(row) for row in committed],
    }


def _lots(
    candidate: Candidate, economics: Economics, busy_fraction: float, known: Mapping[str, Assumption]
) -> tuple[Lot, ...]:
    return lots(
        candidate.key,
        economics.pace if candidate.owned else replace(economics.pace, refresh_months=None),
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
        economics.pace,
        horizon_months=economics.horizon_months,
        busy_fraction=busy_fraction,
        period_months=months,
    )


def _columns_of(record: Stage | Event | CommitmentLot) -> Row:
    return {name: getattr(record, name) for name in record.__slots__}
