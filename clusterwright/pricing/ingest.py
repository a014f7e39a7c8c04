"""Reading documents into the price store: an extraction rule, the gates, then storage or quarantine, all or nothing.

An extraction rule is a query over a document (`pricing/feeds`) whose rows have the columns of `COLUMNS`. Gates are
queries that must return no row (`pricing/gates/refuse`); what one returns goes to quarantine with the gate's reason.
Those of `pricing/gates/warn` leave a note.
"""

import datetime as dt
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import InputError
from clusterwright.pricing.statements import exactly, files, statement
from clusterwright.pricing.store import PriceStore

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What the rows of an extraction rule must have.
COLUMNS = (
    "sku",
    "provider",
    "region",
    "zone",
    "provider_sku",
    "instance_type",
    "gpu",
    "gpu_count",
    "term",
    "payment",
    "charge",
    "unit",
    "tier_start",
    "currency",
    "amount",
    "effective_from",
    "effective_to",
    "locator",
    "confidence",
    "note",
    "missing",
)
#: Documents up to this size are kept whole, larger ones by their hash.
KEPT_BYTES = 4 * 2**20
_BLOCK_BYTES = 2**20
_TEMPORARY = (
    "extracted",
    "incoming",
    "refused",
    "repeated",
    "reference_on_demand",
    "shipped_price",
    "shipped_on_demand",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A file that was fetched, or that somebody handed over.

    Attributes:
        paths: files that hold it, several if it came in pages.
        feed: what it is, for example `aws-offer`; source: id of `pricing/sources.csv`, or the feed again.
        url: where it came from; fetched_at: when, with a time zone; published_on: by its own words.
        is_hand_kept: a list that people keep, which may be dated again without a look at the prices.
        digest: SHA-256 of the files one after the other and their bytes, where that was found out already.
    """

    paths: tuple[Path, ...]
    feed: str
    source: str
    url: str
    fetched_at: dt.datetime
    published_on: dt.date | None = None
    is_hand_kept: bool = False
    digest: tuple[str, int] | None = None

    @property
    def observed_on(self) -> dt.date:
        """The day on which its prices were seen, in UTC."""
        return self.fetched_at.astimezone(dt.UTC).date()


@dataclass(frozen=True, kw_only=True, slots=True)
class Ingested:
    """What came of a document's rows.

    Attributes:
        read, stored, repeated, quarantined: rows; repeated ones were stored before for the same day.
        by_gate: rows in quarantine by gate; warnings: by gate.
        known: the document had been read before by the same rule; nothing was done.
    """

    read: int
    stored: int
    repeated: int
    quarantined: int
    by_gate: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)
    known: bool = False


def content_digest(paths: tuple[Path, ...]) -> tuple[str, int]:
    """Return the SHA-256 of files one after the other, and their bytes.

    Raises:
        InputError: a file cannot be read, or there is nothing in them.
    """
    digest, size = hashlib.sha256(), 0
    for path in paths:
        try:
            with path.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    digest.update(block)
                    size += len(block)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if not size:
        raise InputError(f"{paths[0].name if paths else 'the document'} is empty", help="fetch it again")
    return digest.hexdigest(), size


def ingest(store: PriceStore, document: Document, *, rule: str, parameters: dict[str, Any] | None = None) -> Ingested:
    """Read a document into the store.

    Reading the same document twice adds nothing the second time. Several prices of a document are one transaction.

    Args:
        store: open for writing.
        document: what to read.
        rule: file of an extraction rule, for example `pricing/feeds/quotes.sql`.
        parameters: of the rule, beside `files` and `observed_on`.

    Raises:
        InputError: the document cannot be read by the rule.
        StoreError: the store cannot be written.
    """
    digest, size = document.digest or content_digest(document.paths)
    rule_digest = hashlib.sha256(statement(rule).encode()).hexdigest()
    identity = {"document_id": digest, "rule_sha256": rule_digest, "observed_on": document.observed_on}
    with store.transaction() as connection:
        known = store.rows("pricing/sql/ingest_of_document.sql", identity)
        if known:
            row = known[0]
            return Ingested(
                read=row["rows_read"],
                stored=0,
                repeated=row["rows_stored"] + row["rows_repeated"],
                quarantined=row["rows_quarantined"],
                known=True,
            )
        _extract(connection, document, rule, parameters or {})
        ingest_id = store.rows("pricing/sql/next_ingest.sql")[0]["ingest_id"]
        by_gate = _refuse(connection, document)
        asked = {"ingest_id": ingest_id, "feed": document.feed, "source": document.source}
        _temporary(connection, "repeated", "pricing/sql/repeated.sql", {"feed": document.feed})
        counts = store.rows("pricing/sql/ingest_counts.sql")[0]
        warnings = _warn(connection, ingest_id)
        connection.execute(statement("pricing/sql/stored.sql"), asked)
        connection.execute(statement("pricing/sql/quarantined.sql"), asked)
        stored = counts["rows_read"] - counts["rows_refused"] - counts["rows_repeated"]
        connection.execute(
            statement("pricing/sql/add_document.sql"),
            {
                "document_id": digest,
                "feed": document.feed,
                "url": document.url,
                "fetched_at": document.fetched_at,
                "published_on": document.published_on,
                "byte_count": size,
                "content": b"".join(path.read_bytes() for path in document.paths) if size <= KEPT_BYTES else None,
            },
        )
        connection.execute(
            statement("pricing/sql/add_ingest.sql"),
            {
                **identity,
                "ingest_id": ingest_id,
                "rule": rule,
                "rows_read": counts["rows_read"],
                "rows_stored": stored,
                "rows_repeated": counts["rows_repeated"],
                "rows_quarantined": counts["rows_refused"],
            },
        )
        for table in _TEMPORARY:
            connection.execute(f"drop table if exists temp.{table}")
    return Ingested(
        read=counts["rows_read"],
        stored=stored,
        repeated=counts["rows_repeated"],
        quarantined=counts["rows_refused"],
        by_gate=by_gate,
        warnings=warnings,
    )


def _extract(connection: "DuckDBPyConnection", document: Document, rule: str, parameters: dict[str, Any]) -> None:
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with a store pay

    named = {"files": [exactly(path) for path in document.paths], "observed_on": document.observed_on, **parameters}
    try:
        _temporary(connection, "extracted", rule, _used(statement(rule), named))
    except (duckdb.InvalidInputException, duckdb.ConversionException, duckdb.BinderException) as error:
        raise InputError(
            f"{document.paths[0].name} is not what {document.feed} gives: {str(error).splitlines()[0]}",
            help="nothing was stored; if the provider changed the format, the rule has to follow",
        ) from error
    _temporary(connection, "incoming", "pricing/sql/incoming.sql", {"observed_on": document.observed_on})
    _temporary(connection, "reference_on_demand", "pricing/sql/reference_on_demand.sql", {})
    shipped = [str(path) for path in files("pricing", "*.csv") if path.name != "sources.csv"]
    _temporary(connection, "shipped_price", "pricing/sql/stg_price_point.sql", {"files": shipped})
    _temporary(
        connection, "shipped_on_demand", "pricing/sql/shipped_on_demand.sql", {"observed_on": document.observed_on}
    )


def _refuse(connection: "DuckDBPyConnection", document: Document) -> dict[str, int]:
    """Fill the table `refused` with the first gate that each row fails; return rows by gate."""
    connection.execute("create or replace temp table refused (row_number bigint, gate varchar, reason varchar)")
    counts: dict[str, int] = {}
    for path in files("pricing/gates/refuse"):
        text = statement(f"pricing/gates/refuse/{path.name}")
        asked = _used(text, {"feed": document.feed, "is_hand_kept": document.is_hand_kept})
        found = connection.execute(
            f"insert into refused select row_number, '{path.stem}', any_value(reason) from ({text}) "  # noqa: S608 - our own files
            "anti join refused using (row_number) group by row_number",
            asked,
        ).fetchall()
        if found[0][0]:
            counts[path.stem] = found[0][0]
    return counts


def _warn(connection: "DuckDBPyConnection", ingest_id: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for path in files("pricing/gates/warn"):
        text = statement(f"pricing/gates/warn/{path.name}")
        found = connection.execute(
            f"insert into warning select {ingest_id:d}, '{path.stem}', incoming.sku, incoming.region, incoming.term, "  # noqa: S608 - our own files
            f"noted.reason from ({text}) as noted inner join incoming using (row_number) "
            "anti join refused using (row_number)",
        ).fetchall()
        if found[0][0]:
            counts[path.stem] = found[0][0]
    return counts


def _used(text: str, named: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a statement names; DuckDB refuses others."""
    return {name: value for name, value in named.items() if f"${name}" in text}


def _temporary(connection: "DuckDBPyConnection", name: str, path: str, parameters: dict[str, Any]) -> None:
    connection.execute(f"create or replace temp table {name} as {statement(path)}", parameters)
