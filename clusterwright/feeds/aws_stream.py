"""AWS's large JSON documents, read as a stream: what is kept goes line by line into a small table beside them."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from clusterwright.feeds.download import FeedError
from clusterwright.feeds.meters import is_metered
from clusterwright.feeds.pages import not_utf8
from clusterwright.pricing.offer_lines import plain_name

#: What tells the one price of a type and region from those that only look like it; as in aws_offer.sql.
_LINUX = {
    "operatingsystem": "Linux",
    "tenancy": "Shared",
    "preinstalledsw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
    "locationtype": "AWS Region",
    "operation": "RunInstances",
}
#: Columns of an offer file by their plain names, and whether no row can be read without them.
OFFER_COLUMNS = {
    "sku": True,
    "offertermcode": False,
    "ratecode": True,
    "termtype": True,
    "effectivedate": True,
    "startingrange": False,
    "unit": True,
    "priceperunit": True,
    "currency": True,
    "leasecontractlength": False,
    "purchaseoption": False,
    "offeringclass": False,
    "productfamily": False,
    "location": False,
    "locationtype": False,
    "regioncode": False,
    "fromlocation": False,
    "fromlocationtype": False,
    "fromregioncode": False,
    "instancetype": False,
    "operatingsystem": False,
    "tenancy": False,
    "preinstalledsw": False,
    "capacitystatus": False,
    "marketoption": False,
    "operation": False,
    "usagetype": False,
    "transfertype": False,
    "filesystemtype": False,
    "storagetype": False,
    "throughputcapacity": False,
}
#: Those that a file with instances has to have beside: without one of them another product could not be distinguished.
INSTANCE_COLUMNS = (*_LINUX, "regioncode")
#: Brackets that are open at once; some may be in texts.
_MOST_DEPTH = 2_000
T = TypeVar("T")
_RATES = (
    "discounted_sku",
    "plan_sku",
    "plan_name",
    "family",
    "years",
    "purchase_option",
    "currency",
    "amount",
    "effective_date",
)


def offer_table(document: Path, table: Path, *, instance_types: frozenset[str]) -> Path:
    """Write the rows of an offer file in JSON that can be prices to a table with `OFFER_COLUMNS`, and return it.

    The file is read once for its products and once for each kind of terms, since any of them may be first.

    Args:
        document: the offer file.
        table: where to.
        instance_types: that are kept, beside the services of `catalog/service_meters.csv`.

    Raises:
        FeedError: the document is truncated, or no offer file.
    """

    def products(file: "_Shallow", ijson: Any) -> dict[str, dict[str, str]]:  # noqa: ANN401 - an extra without types
        found = {}
        for sku, product in ijson.kvitems(file, "products"):
            # Nearly all products are instances that nobody asked for.
            if (name := product["attributes"].get("instanceType")) and name not in instance_types:
                continue
            attributes = {plain_name(name): str(value) for name, value in product["attributes"].items()}
            attributes["productfamily"] = str(product.get("productFamily", ""))
            if _is_wanted(attributes, instance_types):
                found[sku] = {name: attributes.get(name, "") for name in OFFER_COLUMNS}
        return found

    known = _streamed(document, products)
    with table.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, OFFER_COLUMNS, extrasaction="ignore")
        writer.writeheader()

        def rows(file: "_Shallow", ijson: Any, kind: str) -> int:  # noqa: ANN401
            terms = 0
            for sku, offers in ijson.kvitems(file, f"terms.{kind}"):
                terms += 1
                if sku in known:
                    writer.writerows(_offer_rows(sku, kind, known[sku], offers))
            return terms

        if not _streamed(document, lambda file, ijson: rows(file, ijson, "OnDemand")):
            raise _not_it(document, "it has no terms.OnDemand")
        _streamed(document, lambda file, ijson: rows(file, ijson, "Reserved"))
    return table


def _is_wanted(attributes: dict[str, str], instance_types: frozenset[str]) -> bool:
    if attributes.get("instancetype") in instance_types:
        return all(attributes.get(name) == value for name, value in _LINUX.items())
    return is_metered("aws", attributes)


def _offer_rows(sku: str, kind: str, product: dict[str, str], offers: dict[str, Any]) -> Iterator[dict[str, str]]:
    for offer in offers.values():
        said = {plain_name(name): value for name, value in offer.get("termAttributes", {}).items()}
        term = {
            "sku": sku,
            "offertermcode": offer.get("offerTermCode", ""),
            "termtype": kind,
            "effectivedate": offer["effectiveDate"],
        }
        for code, dimension in offer["priceDimensions"].items():
            for currency, amount in dimension["pricePerUnit"].items():
                yield (
                    product
                    | said
                    | term
                    | {
                        "ratecode": code,
                        "unit": dimension["unit"],
                        "startingrange": dimension.get("beginRange", ""),
                        "priceperunit": amount,
                        "currency": currency,
                    }
                )


def rates_table(document: Path, table: Path) -> Path:
    """Write every rate of a savings plan document to a table and return it.

    Args:
        document: the savings plan file of a region.
        table: where to.

    Raises:
        FeedError: the document is truncated, or no savings plan file.
    """

    def products(file: "_Shallow", ijson: Any) -> dict[str, dict[str, str]]:  # noqa: ANN401
        return {
            product["sku"]: {"productFamily": product.get("productFamily", "")} | product["attributes"]
            for product in ijson.items(file, "products.item")
        }

    known = _streamed(document, products)

    def rows(file: "_Shallow", ijson: Any) -> int:  # noqa: ANN401
        with table.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow(_RATES)
            plans = 0
            for plan in ijson.items(file, "terms.savingsPlan.item"):
                plans += 1
                attributes = known.get(plan["sku"], {})
                writer.writerows(_rate_rows(plan, attributes))
            return plans

    if not _streamed(document, rows):
        raise _not_it(document, "it has no terms.savingsPlan")
    return table


def _rate_rows(plan: dict[str, Any], attributes: dict[str, str]) -> Iterator[tuple[str, ...]]:
    length = plan["leaseContractLength"]
    years = str(length["duration"]) if length["unit"].lower().startswith("year") else ""
    for rate in plan["rates"]:
        price = rate["discountedRate"]
        yield (
            rate["discountedSku"],
            plan["sku"],
            plan.get("description", ""),
            attributes.get("productFamily", ""),
            years,
            attributes.get("purchaseOption", ""),
            price["currency"],
            price["price"],
            plan.get("effectiveDate", ""),
        )


def _streamed(document: Path, read: "Callable[[_Shallow, Any], T]") -> T:
    """Run a reader over a document; whatever is wrong with it becomes one message."""
    try:
        import ijson  # noqa: PLC0415 - an extra
    except ImportError:
        raise FeedError(
            "reading AWS's JSON needs the extra feeds", help="pip install 'clusterwright[feeds]', or give the CSV file"
        ) from None
    try:
        with document.open("rb") as file:
            return read(_Shallow(file, document), ijson)
    except ijson.JSONError as error:
        said = error.args[0] if error.args else ""
        text = (said.decode(errors="replace") if isinstance(said, bytes) else str(said)).partition("\n")[0]
        if "UTF8" in text or _begins_in_utf16(document):
            raise not_utf8(document) from None
        raise FeedError(
            f"{document.name} is no whole JSON, it may be truncated: {text[:60]}",
            help="fetch it again; nothing was stored",
        ) from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _not_it(document, str(error)) from None
    except OSError as error:
        raise FeedError(f"{document} cannot be read: {error.strerror}", help="fetch it again") from None


def _begins_in_utf16(document: Path) -> bool:
    """Return whether a mark says so, or every other byte of the first two characters is 0."""
    with document.open("rb") as file:
        start = file.read(4)
    return start[:2] in (b"\xff\xfe", b"\xfe\xff") or start[0::2] == b"\0\0" or start[1::2] == b"\0\0"


class _Shallow:
    """A file of JSON that is nested no deeper than price lists are: a parser takes memory with the square of that."""

    def __init__(self, file: IO[bytes], document: Path) -> None:
        self._file, self._document, self._depth = file, document, 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes.

        Raises:
            FeedError: brackets are open that no price list has.
        """
        block = self._file.read(size)
        self._depth += sum(map(block.count, (b"[", b"{"))) - sum(map(block.count, (b"]", b"}")))
        if self._depth > _MOST_DEPTH:
            raise _not_it(self._document, f"it is nested deeper than {_MOST_DEPTH:,}")
        return block


def _not_it(document: Path, said: str) -> FeedError:
    return FeedError(
        f"{document.name} is not the document that AWS gives: {said}",
        help="nothing was stored; if the provider changed the format, the rule has to follow",
    )
