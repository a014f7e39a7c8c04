"""What the commands of the price store do and print."""

import datetime as dt
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.feeds.object_storage import reach
from clusterwright.units import day_of

SCHEMA_VERSION = 1


def import_quotes(
    path: Path, *, source: str, seen_on: str | None, hand_kept: bool, store: str | Path | None, as_json: bool
) -> int:
    """Store a list of quotes and print what came of its lines; return 1 if any is in quarantine.

    Raises:
        InputError: the list or the day cannot be read; StoreError: the store cannot be written.
    """
    from clusterwright.feeds.quotes import not_plain, read_quotes, store_quotes
    from clusterwright.pricing.store import PriceStore

    if not source.strip():
        raise InputError("quotes need a source", help="--source 'offer Contoso 4711'")
    if said := not_plain(source):
        raise InputError(f"--source {said}", help="--source 'offer Contoso 4711'")
    now = dt.datetime.now(dt.UTC)
    at = now if seen_on is None else dt.datetime.combine(day_of(seen_on), dt.time(), tzinfo=dt.UTC)
    if at > now:
        raise InputError(f"{seen_on} is yet to come", help="give the day on which the prices were seen")
    quotes = read_quotes(path)
    with PriceStore.open(store) as opened:
        found = store_quotes(opened, quotes, source=source.strip(), at=at, is_hand_kept=hand_kept)
        place = opened.path
    if as_json:
        print(_json(ingested_document(found) | {"left_open": quotes.left_open}))
    else:
        print(ingested_text(found, place))
        if quotes.left_open:
            print(f"  lines without an amount and a day, left out: {quotes.left_open:,}")
    return EXIT_RULE_FAILED if found.quarantined else EXIT_FINE


def ingested_document(found: Any) -> dict[str, Any]:  # noqa: ANN401 - Ingested, loaded lazily
    """Return what came of a document's rows for JSON."""
    return asdict(found)


def ingested_text(found: Any, place: str | Path) -> str:  # noqa: ANN401
    """Return what came of a document's rows in words."""
    lines = [f"{found.read:,} prices read, {found.stored:,} stored, {found.repeated:,} known, {place}"]
    if not found.read:
        lines.append("  nothing in it is a product that is known: see clusterwright docs feeds")
    if found.known:
        lines = [f"this document was read before; nothing was added to {place}"]
    lines += [f"  in quarantine by {gate}: {count:,}" for gate, count in found.by_gate.items()]
    lines += [f"  stored with a warning by {gate}: {count:,}" for gate, count in found.warnings.items()]
    if found.quarantined:
        lines.append("see why: clusterwright prices quarantine")
    return "\n".join(lines)


def rate(currency: str, usd: float, *, day: str, source: str, store: str | Path | None) -> int:
    """Store an exchange rate.

    Raises:
        InputError: the currency, the rate or the day is impossible.
    """
    from clusterwright.feeds.quotes import not_plain
    from clusterwright.pricing.store import PriceStore

    if said := not_plain(source):
        raise InputError(f"--source {said}", help="for example ECB reference rate")
    code = currency.upper()
    if len(code) != 3 or not code.isalpha() or code == "USD":  # noqa: PLR2004 - ISO 4217
        raise InputError(f"{currency!r} is no foreign currency", help="write its three letters, for example EUR")
    on = day_of(day)
    if on > dt.datetime.now(dt.UTC).date():
        raise InputError(f"{day} is yet to come", help="give the day whose rate it is")
    with PriceStore.open(store) as opened:
        opened.add_exchange_rate(currency=code, day=on, usd_per_currency=usd, source=source)
    print(f"1 {code} = {usd:g} USD on {day} ({source})")
    return EXIT_FINE


def quarantine(gate: str, *, store: str | Path | None, as_json: bool) -> int:
    """Print the prices in quarantine.

    Raises:
        InputError: there is no such gate; StoreError: there is no store.
    """
    from clusterwright.pricing.statements import files
    from clusterwright.pricing.store import PriceStore

    gates = [path.stem for path in files("pricing/gates/refuse")]
    if gate and gate not in gates:
        raise InputError(f"there is no gate {gate!r}", help=f"gates: {', '.join(gates)}")
    with PriceStore.open(store, read_only=True, reach=reach) as opened:
        rows = opened.rows("pricing/sql/in_quarantine.sql", {"gate": gate})
    if as_json:
        print(_json({"quarantine": rows}))
        return EXIT_FINE
    for row in rows:
        amount = "no price" if row["amount"] is None else f"{row['amount']:,.4f} {row['currency']}"
        print(
            f"{row['quarantine_id']:>6}  {row['sku'] or 'no product'} {row['region']} {row['term']}  {amount}  "
            f"seen on {row['observed_on']}  [{row['feed']}, {row['locator']}]\n        {row['gate']}: {row['reason']}"
        )
    print(f"{len(rows):,} in quarantine" if rows else "nothing is in quarantine")
    if rows:
        print("let one out: clusterwright prices release NUMBER --reason 'why it is right'")
    return EXIT_FINE


def release(numbers: list[int], *, reason: str, store: str | Path | None) -> int:
    """Let prices out of quarantine.

    Raises:
        InputError: a number is not in quarantine, or no reason is given.
    """
    from clusterwright.pricing.store import PriceStore

    with PriceStore.open(store) as opened:
        count = opened.release(list(dict.fromkeys(numbers)), reason=reason)
    print(f"{count:,} let out of quarantine")
    return EXIT_FINE


def export(folder: Path, *, store: str | Path | None) -> int:
    """Write the store as Parquet files.

    Raises:
        InputError: the folder exists or cannot be written; StoreError: there is no store.
    """
    from clusterwright.pricing.archive import export_archive
    from clusterwright.pricing.store import PriceStore

    with PriceStore.open(store, read_only=True, reach=reach) as opened:
        count = export_archive(opened, folder)
    print(f"{count:,} prices in {folder}")
    return EXIT_FINE


def restore(folder: Path, *, store: str | Path | None) -> int:
    """Read Parquet files into an empty store.

    Raises:
        InputError: the store has prices, or the folder is no archive; StoreError: the store cannot be written.
    """
    from clusterwright.pricing.archive import import_archive
    from clusterwright.pricing.store import PriceStore

    with PriceStore.open(store) as opened:
        count = import_archive(opened, folder)
        place = opened.path
    print(f"{count:,} prices in {place}")
    return EXIT_FINE


def _json(value: dict[str, Any]) -> str:
    return json.dumps({"schema": SCHEMA_VERSION, **value}, indent=1, allow_nan=False, default=str)
