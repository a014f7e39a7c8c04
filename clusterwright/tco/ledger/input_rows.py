"""Candidates, priced lines, parameters, contracts and mixes as rows of the input tables of a cash flow."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.facility.bill import Bill
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.formulas.payments import payments
from clusterwright.tco.ledger.priced_lines import is_by_term
from clusterwright.tco.renting.mixes import Mix
from clusterwright.tco.terms.contracts import TERM_MONTHS
from clusterwright.tco.terms.records import Candidate, Parameter, PricedLine

Row = dict[str, Any]


def contract_tables(
    candidates: Sequence[Candidate], mixes: Sequence[Mix], horizon_months: float
) -> dict[str, list[Row]]:
    """Return the rows of the tables of contracts and mixes, by name of the table."""
    return {
        "contract": [
            {"key": candidate.key, "all_categories": not candidate.contract.categories}
            | asdict(candidate.contract)
            | {"categories": list(candidate.contract.categories)}
            for candidate in candidates
            if candidate.contract is not None
        ],
        "charge": [
            {"key": candidate.key}
            | {name: value for name, value in asdict(charge).items() if name != "bytes_per_month"}
            for candidate in candidates
            for charge in candidate.charges
        ],
        "support_tier": [row for candidate in candidates for row in _tiers(candidate)],
        "mix": [
            {
                "key": mix.key,
                "delivery_months": mix.delivery_months,
                "deposit": mix.deposit,
                "leased": mix.financing is not None and mix.financing.kind == "operating_lease",
            }
            for mix in mixes
        ],
        "payment": [
            {"key": mix.key} | asdict(entry)
            for mix in mixes
            if mix.financing is not None
            for entry in payments(mix.financing, horizon_months)
        ],
        "mix_part": [
            {"key": mix.key, "part_key": part.key}
            | {name: value for name, value in asdict(part).items() if name != "key"}
            for mix in mixes
            for part in mix.parts
        ],
    }


def _tiers(candidate: Candidate) -> list[Row]:
    plan = candidate.support
    if plan is None:
        return []
    ends = [*(tier.from_usd for tier in plan.tiers[1:]), None]
    return [
        {
            "key": candidate.key,
            "item": plan.item,
            "from_usd": tier.from_usd,
            "to_usd": end,
            "fraction": tier.fraction,
            "minimum_usd": plan.minimum_usd,
            "basis": plan.basis,
            "source": plan.source,
            "price_date": plan.price_date,
            "confidence": plan.confidence,
        }
        for tier, end in zip(plan.tiers, ends, strict=True)
    ]


def as_candidate(mix: Mix, candidates: Sequence[Candidate], work_shares: Mapping[str, float]) -> Candidate:
    """Return a mix as a candidate; its calendar days are the mean of its parts, weighted by their share of the work."""
    parts = [candidate for candidate in candidates if candidate.key in work_shares]
    return Candidate(
        key=mix.key,
        target=mix.target,
        bill=Bill(target=mix.target, lines=(), it_power_w=0.0 if any(entry.owned for entry in parts) else None),
        nodes=mix.nodes,
        gpus=mix.gpus,
        calendar_days=sum(entry.calendar_days * work_shares[entry.key] for entry in parts),
        competes=all(entry.competes or entry.owned for entry in parts),
    )


def candidate_row(candidate: Candidate, priced: bool) -> Row:
    """Return a candidate as a row; `priced` states whether every line of its bill has a price."""
    return {
        "key": candidate.key,
        "owned": candidate.owned,
        "priced": priced,
        "competes": candidate.competes,
        "listed": candidate.listed,
        "nodes": float(candidate.nodes),
        "gpus": float(candidate.gpus),
        "calendar_days": candidate.calendar_days,
        "run_time_low": candidate.run_time_low,
        "run_time_high": candidate.run_time_high,
        "utilisation": candidate.utilisation,
        "it_power_w": candidate.bill.it_power_w,
    }


def line_rows(candidate: Candidate, lines: Sequence[PricedLine]) -> list[Row]:
    """Return the priced lines of a candidate as rows."""
    return [
        {
            "key": candidate.key,
            "item": priced.line.item,
            "category": priced.line.category,
            "charge": priced.line.charge,
            "scales_with": priced.line.scales_with,
            "committed": priced.term in COMMITTED_TERMS,
            "by_term": is_by_term(priced.line),
            "term_months": TERM_MONTHS.get(priced.term),
            "quantity": float(priced.line.quantity),
            "unit_usd": priced.unit_usd,
            "unit_usd_low": priced.unit_usd_low,
            "unit_usd_high": priced.unit_usd_high,
            "basis": priced.basis,
            "source": priced.source,
            "price_date": priced.price_date,
            "confidence": priced.confidence,
        }
        for priced in lines
    ]


def parameter_rows(parameter: Parameter, scenarios: Sequence[str], candidate_key: str = "") -> list[Row]:
    """Return a parameter as a row per scenario, for one candidate or, without a key, for all."""
    values = {"base": parameter.value, "low": parameter.low, "high": parameter.high}
    record = asdict(parameter)
    return [
        {
            "scenario": scenario,
            "candidate_key": candidate_key,
            "key": parameter.key,
            "value": values[scenario],
            "basis": record["basis"],
            "source": record["source"],
            "price_date": record["date"],
            "confidence": "high" if parameter.basis == "given" else "low",
        }
        for scenario in scenarios
    ]
