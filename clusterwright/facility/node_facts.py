"""What the buyer knows of a system better than the catalogue: power, height and weight of the one that is ordered."""

from dataclasses import dataclass, replace

from clusterwright.catalog.records import System


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeFacts:
    """Facts of one node as stated by the buyer; None where the catalogue's holds."""

    power_w: float | None = None
    height_u: float | None = None
    weight_kg: float | None = None


def as_told(system: System, facts: NodeFacts) -> System:
    """Return a system with what the buyer stated."""
    return replace(
        system,
        power_max_w=system.power_max_w if facts.power_w is None else facts.power_w,
        height_u=system.height_u if facts.height_u is None else facts.height_u,
        weight_kg=system.weight_kg if facts.weight_kg is None else facts.weight_kg,
    )


def told_note(system: System, facts: NodeFacts) -> str | None:
    """Return what the buyer stated instead of the catalogue, None if nothing."""
    rows = (
        ("power", facts.power_w, system.power_max_w, "W"),
        ("height", facts.height_u, system.height_u, "U"),
        ("weight", facts.weight_kg, system.weight_kg, "kg"),
    )
    said = [
        f"{name} {told:,.10g} {unit} (catalogue: {'unknown' if known is None else f'{known:,.10g} {unit}'})"
        for name, told, known, unit in rows
        if told is not None
    ]
    return f"Of one node as the blueprint says: {', '.join(said)}." if said else None
