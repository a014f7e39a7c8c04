"""The commands that look things up: facts and prices."""

import json
from dataclasses import asdict, fields
from typing import Any

from clusterwright.cli.render.terminal import line_width
from clusterwright.cli.render.text_table import Column, commands, fitted, prose, table
from clusterwright.errors import EXIT_FINE
from clusterwright.feeds.object_storage import reach
from clusterwright.units import day_of

_INDENT = 2
#: USD below which a price is shown with six decimals.
_SMALL = 0.01


def facts(name: str | None, *, conflicts: bool, as_json: bool) -> int:
    """List entities, or show one with its sources; return the exit code.

    Raises:
        InputError: nothing has that name.
    """
    from clusterwright.catalog import lookup
    from clusterwright.catalog.claims import claims_of
    from clusterwright.catalog.claims import conflicts as disputed
    from clusterwright.catalog.load import load

    catalogue = load()
    if name is None and not conflicts:
        groups = _groups(catalogue)
        if as_json:
            _print_json({"catalogue": catalogue.version, **{kind: sorted(entries) for kind, entries in groups.items()}})
            return EXIT_FINE
        for kind, entries in groups.items():
            print(f"{kind} ({len(entries)})")
            print("\n".join(f"  {line}" for line in _columns(sorted(entries))))
        asking = (
            ("clusterwright facts h100-sxm-80gb", "one with its sources"),
            ("clusterwright facts --conflicts", "what sources dispute"),
        )
        print("\n".join(["", *commands(asking)]))
        return EXIT_FINE
    entity = None if name is None else lookup.entity_id(catalogue, name)
    known = disputed(catalogue) if entity is None else claims_of(catalogue, entity)
    claims = [claim for fact in known if fact.rejected or not conflicts for claim in (fact.chosen, *fact.rejected)]
    record = None if entity is None else _record(catalogue, entity)
    if as_json:
        sources = {claim.source: asdict(catalogue.sources[claim.source]) for claim in claims}
        if record is not None and getattr(record, "source", "") in catalogue.sources:
            sources[record.source] = asdict(catalogue.sources[record.source])
        shown = asdict(record) if record is not None else None
        _print_json(
            {"entity": entity, "record": shown, "claims": [asdict(item) for item in claims], "sources": sources}
        )
        return EXIT_FINE
    if record is not None and not conflicts:
        _show_record(catalogue, record, claims)
    _show_claims(catalogue, claims, conflicts=conflicts)
    return EXIT_FINE


def _groups(catalogue: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401 - Catalogue, loaded lazily
    return {
        "accelerators": catalogue.accelerators,
        "systems": catalogue.systems,
        "instances": catalogue.instances,
        "switches": catalogue.switches,
        "parts": catalogue.parts,
        "models": catalogue.models,
        "storage systems": catalogue.storage_systems,
    }


def _record(catalogue: Any, entity: str) -> Any:  # noqa: ANN401
    return next((entries[entity] for entries in _groups(catalogue).values() if entity in entries), None)


def _columns(names: list[str]) -> list[str]:
    widest = max((len(name) for name in names), default=0) + 2
    per_line = max(1, (line_width() - _INDENT) // widest)
    return [
        "".join(f"{name:<{widest}}" for name in names[start : start + per_line]).rstrip()
        for start in range(0, len(names), per_line)
    ]


def _show_record(catalogue: Any, record: Any, claims: list[Any]) -> None:  # noqa: ANN401
    chosen = {claim.attribute: claim for claim in claims if claim.status == "chosen"}
    width = max(len(field.name) for field in fields(record))
    print(f"{record.id}\n")
    for field in fields(record):
        value = getattr(record, field.name)
        claim = chosen.get(field.name)
        source = f"   {claim.value} {claim.unit} [{claim.source}]" if claim else ""
        print(fitted(f"  {field.name:<{width}}  {_shown(value)}{source}"))
    for title, entry in _referred(catalogue, record):
        print(f"\n  {title}: {entry.id}")
        for field in fields(entry):
            value = getattr(entry, field.name)
            if field.name not in ("id", "cloud") and value not in (None, "", ()):
                print(fitted(f"    {field.name:<{width}}{_shown(value)}"))
    source = catalogue.sources.get(getattr(record, "source", ""))
    if source is not None:
        print(fitted(f"\n  source: {source.title}, {source.where} ({source.date}, {source.confidence})"))


def _referred(catalogue: Any, record: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    """Return what an instance type or a storage system refers to, each with its title; nothing for other records."""
    if getattr(record, "id", "") in catalogue.storage_systems:
        boxes = (("data box", record.data_box), ("front box", record.front_box))
        return [(title, catalogue.parts[part]) for title, part in boxes if part]
    if getattr(record, "id", "") not in catalogue.instances:
        return []
    found = [("capacity", catalogue.capacity_objects[key]) for key in record.capacity_objects]
    found += [("placement", entry) for entry in (catalogue.placement(record), catalogue.tpu_slice(record)) if entry]
    found += [("quota", catalogue.quotas[record.quota])] if record.quota else []
    return found


def _shown(value: Any) -> str:  # noqa: ANN401
    if value is None:
        return "unknown"
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _show_claims(catalogue: Any, claims: list[Any], *, conflicts: bool) -> None:  # noqa: ANN401
    if not claims:
        if conflicts:
            print("no source disputes these facts")
        return
    print("" if conflicts else "\nclaims")
    last = None
    for claim in sorted(claims, key=lambda item: (item.entity, item.attribute, item.status)):
        if (claim.entity, claim.attribute) != last:
            print(f"  {claim.entity} {claim.attribute}")
            last = (claim.entity, claim.attribute)
        source = catalogue.sources[claim.source]
        place = f", {claim.locator}" if claim.locator else ""
        print(fitted(f"    {claim.status:<8}  {claim.value} {claim.unit}   {source.title}{place} ({source.date})"))
        if claim.note:
            print(fitted(f"              {claim.note}"))


def prices(
    sku: str | None, as_of: str | None, *, history: bool, rejected: bool, every: bool, store: str | None, as_json: bool
) -> int:
    """Print a page about the price book, an accelerator's or a product's prices, or what is not used and why.

    Returns:
        the exit code.

    Raises:
        InputError: the day cannot be read, or nothing has that name.
        MissingFactError: it has no price on that day.
    """
    from clusterwright.catalog.load import load
    from clusterwright.cli.render import prices as price_pages
    from clusterwright.interface.documented_prices import no_price, price_rows, products_called, rented_products
    from clusterwright.pricing.book import PriceBook

    book = PriceBook.open(store=store, reach=reach)
    day = book.newest_day if as_of is None else day_of(as_of)
    if rejected:
        rows = book.query("pricing/sql/rejected_claim.sql", {"sku": sku or ""})
        if as_json:
            _print_json({"as_of": day.isoformat(), "prices": rows})
        else:
            _show_prices(rows, f"{len(rows):,} claims that are not used, and why")
        return EXIT_FINE
    products = book.products()
    if sku is None and not (history or every or as_json):
        return price_pages.overview(book, products, day)
    catalogue = load()
    named = sku is None or any(entry.is_called(sku) for entry in products)
    rented = () if named or sku is None else rented_products(catalogue, sku)
    if rented and not history:
        return price_pages.of_accelerators(book, rented, day, name=sku or "", as_json=as_json)
    found = products_called(book, catalogue, sku)
    rows = price_rows(book, found, None if as_of is None and history else day, history=history)
    if sku is not None and not rows:
        raise no_price(sku, day)
    if as_json:
        _print_json({"as_of": day.isoformat(), "prices": rows})
        return EXIT_FINE
    documented = "every documented price" if as_of is None else f"every price documented until {day}"
    _show_prices(rows, documented if history else f"prices as of {day}")
    return EXIT_FINE


def _decimals(usd: float) -> int:
    """Return decimals enough for a cent of a GB as for a server."""
    return 4 if usd >= _SMALL else 6


def _show_prices(rows: list[dict[str, Any]], title: str) -> None:
    columns = [
        Column("Product", "left"),
        Column("region", "left", drop=2),
        Column("term", "left", drop=0),
        Column("USD", drop=0),
        Column("unit", "left", drop=0),
        Column("charge", "left", drop=0),
        Column("since", drop=3),
        Column("seen", drop=1),
        Column("source", "left", drop=4),
        Column("", "left", drop=0),
    ]
    unused = dict.fromkeys(row["note"] for row in rows if row["status"] != "chosen")
    marks = {note: f"[{number}]" for number, note in enumerate(unused, 1)}
    cells = [
        [
            row["sku"],
            row["region"] or "–",
            row["term"],
            f"{row['usd']:,.{_decimals(row['usd'])}f}",
            row["unit"],
            row["charge"],
            str(row["effective_from"]),
            str(row["last_seen"]),
            row["source"],
            "" if row["status"] == "chosen" else f"{row['status']} {marks[row['note']]}",
        ]
        for row in rows
    ]
    lines = [*prose(f"{title}, USD per unit and charge period"), table(columns, cells)]
    lines += [line for note, mark in marks.items() for line in prose(f"{mark} {note}", indent=2, hanging=6)]
    print("\n".join(lines))


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps({"schema": 1, **value}, indent=1, allow_nan=False, default=str))
