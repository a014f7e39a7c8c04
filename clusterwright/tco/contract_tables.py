"""Contracts, charges, support plans and mixes of candidates as rows of the cash flow's tables."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.facility.bill import Bill
from clusterwright.tco.contracts import Mix
from clusterwright.tco.records import Candidate

Row = dict[str, Any]


def contract_tables(candidates: Sequence[Candidate], mixes: Sequence[Mix]) -> dict[str, list[Row]]:
    """Return the rows of the tables `contract`, `charge`, `support_tier` and `mix_part`."""
    return {
        "contract": [
            {"key": candidate.key, "all_categories": not candidate.contract.categories}
            | asdict(candidate.contract)
            | {"categories": list(candidate.contract.categories)}
            for candidate in candidates
            if candidate.contract is not None
        ],
        "charge": [
            {"key": candidate.key} | asdict(charge) for candidate in candidates for charge in candidate.charges
        ],
        "support_tier": [row for candidate in candidates for row in _tiers(candidate)],
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
            "source": plan.source,
            "price_date": plan.price_date,
            "confidence": plan.confidence,
        }
        for tier, end in zip(plan.tiers, ends, strict=True)
    ]


def as_candidate(mix: Mix, candidates: Sequence[Candidate]) -> Candidate:
    """Return what a mix is beside the candidates: its days are those of its parts by their share of the work."""
    by_key = {candidate.key: candidate for candidate in candidates}
    parts = [(by_key[part.key], part) for part in mix.parts]
    work = sum(part.variable_share for _, part in parts) or 1.0
    return Candidate(
        key=mix.key,
        target=mix.target,
        bill=Bill(target=mix.target, lines=(), it_power_w=0.0 if any(entry.owned for entry, _ in parts) else None),
        nodes=mix.nodes,
        gpus=mix.gpus,
        calendar_days=sum(entry.calendar_days * part.variable_share for entry, part in parts) / work,
        complete=all(entry.complete for entry, _ in parts),
    )
