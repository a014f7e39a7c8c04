"""AWS's large JSON documents, read as a stream: what is kept goes line by line into a small table beside them."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from clusterwright.feeds.download import FeedError

#: What tells the one price of a type and region from those that only look like it; as in aws_offer_csv.sql.
_LINUX = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
    "locationType": "AWS Region",
    "operation": "RunInstances",
}
T = TypeVar("T")
_OFFER = ("instance_type", "region", "provider_sku", "rate_code", "currency", "amount", "effective_date")
_RATES = ("discounted_sku", "plan_sku", "plan_name", "years", "purchase_option", "currency", "amount", "effective_date")


def offer_table(document: Path, table: Path, *, instance_types: frozenset[str]) -> Path:
    """Write the on-demand prices of an offer file in JSON to a table and return it.

    The file is read twice, for its products and for their terms, since either may stand first.

    Args:
        document: the offer file.
        table: where to.
        instance_types: that are kept.

    Raises:
        FeedError: the document is truncated, or no offer file.
    """

    def products(file: IO[bytes], ijson: Any) -> dict[str, dict[str, str]]:  # noqa: ANN401 - an extra without types
        return {
            sku: product["attributes"]
            for sku, product in ijson.kvitems(file, "products")
            if product["attributes"].get("instanceType") in instance_types
            and all(product["attributes"].get(name) == value for name, value in _LINUX.items())
        }

    known = _streamed(document, products)

    def rows(file: IO[bytes], ijson: Any) -> int:  # noqa: ANN401
        with table.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow(_OFFER)
            terms = 0
            for sku, offers in ijson.kvitems(file, "terms.OnDemand"):
                terms += 1
                if sku in known:
                    writer.writerows(_offer_rows(sku, known[sku], offers))
            return terms

    if not _streamed(document, rows):
        raise _not_it(document, "it has no terms.OnDemand")
    return table


def _offer_rows(sku: str, attributes: dict[str, str], offers: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for offer in offers.values():
        for code, dimension in offer["priceDimensions"].items():
            if dimension["unit"] != "Hrs":
                continue
            for currency, amount in dimension["pricePerUnit"].items():
                place = attributes.get("regionCode", "")
                yield attributes["instanceType"], place, sku, code, currency, amount, offer["effectiveDate"]


def rates_table(document: Path, table: Path) -> Path:
    """Write every rate of a savings plan document to a table and return it.

    Args:
        document: the savings plan file of a region.
        table: where to.

    Raises:
        FeedError: the document is truncated, or no savings plan file.
    """

    def products(file: IO[bytes], ijson: Any) -> dict[str, dict[str, str]]:  # noqa: ANN401
        return {product["sku"]: product["attributes"] for product in ijson.items(file, "products.item")}

    known = _streamed(document, products)

    def rows(file: IO[bytes], ijson: Any) -> int:  # noqa: ANN401
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
            years,
            attributes.get("purchaseOption", ""),
            price["currency"],
            price["price"],
            plan.get("effectiveDate", ""),
        )


def _streamed(document: Path, read: Callable[[IO[bytes], Any], T]) -> T:
    """Run a reader over a document; whatever is wrong with it becomes one message."""
    try:
        import ijson  # noqa: PLC0415 - an extra
    except ImportError:
        raise FeedError(
            "reading AWS's JSON needs the extra feeds", help="pip install 'clusterwright[feeds]', or give the CSV file"
        ) from None
    try:
        with document.open("rb") as file:
            return read(file, ijson)
    except ijson.JSONError as error:
        raise FeedError(
            f"{document.name} is no whole JSON, it may be truncated: {str(error).splitlines()[0][:60]}",
            help="fetch it again; nothing was stored",
        ) from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _not_it(document, str(error)) from None
    except OSError as error:
        raise FeedError(f"{document} cannot be read: {error.strerror}", help="fetch it again") from None


def _not_it(document: Path, said: str) -> FeedError:
    return FeedError(
        f"{document.name} is not the document that AWS gives: {said}",
        help="nothing was stored; if the provider changed the format, the rule has to follow",
    )
