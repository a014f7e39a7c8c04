"""Azure's Retail Prices API: public, paged, all regions in one list.

The list has 130,000 virtual machine prices in pages of 100 to 1,000, so that only sizes of the catalogue are asked for.
Values in its filter are distinguished by case. Prices of the commitments stand in it too: savings plans only in the
preview version of the interface.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from clusterwright.feeds.download import FeedError, Fetcher, Request, json_request
from clusterwright.feeds.meters import chosen_services, first_values, meters
from clusterwright.feeds.pages import Shape, fetch_pages, read_page
from clusterwright.feeds.reading import Asked, Feed, Reading, wanted_instances

URL = "https://prices.azure.com/api/retail/prices"
RULE = "pricing/feeds/azure_retail.sql"
NAME = "azure"
_VERSION = "2023-01-01-preview"
_FIELDS = (
    "armRegionName",
    "armSkuName",
    "currencyCode",
    "effectiveStartDate",
    "isPrimaryMeterRegion",
    "meterId",
    "meterName",
    "productName",
    "retailPrice",
    "serviceName",
    "skuName",
    "type",
    "unitOfMeasure",
)
_SHAPE = Shape(feed="Azure Retail Prices", items="Items", count="Count", fields=_FIELDS)
#: Sizes named in one question: an address of some 2,000 characters is safe everywhere.
_SIZES_AT_ONCE = 12


def fetch(fetcher: Fetcher, asked: Asked) -> Sequence[Reading]:
    """Fetch the prices of the catalogue's sizes, or of the services that are named.

    Raises:
        FeedError: a page cannot be had, or is not a page of the list. InputError: no rule reads the service.
    """
    paths: list[Path] = []
    for number, question in enumerate(_questions(asked)):
        folder = asked.folder / f"part-{number:02d}"
        folder.mkdir()
        paths += fetch_pages(fetcher, folder, json_request(question), shape=_SHAPE, following=_following)
    return (_reading(paths, asked.folder, asked.url),)


def read(paths: Sequence[Path], folder: Path) -> Sequence[Reading]:
    """Return saved pages as one document.

    Raises:
        FeedError: one is not a page of the list.
    """
    return (_reading(paths, folder, f"file:{paths[0].name}"),)


def _reading(paths: Sequence[Path], folder: Path, url: str) -> Reading:
    """Return pages as one document, with a page of what is wanted for the rule: one item in a hundred."""
    wanted, metered = wanted_instances(NAME), meters(NAME)
    sizes = {entry["instance_type"] for entry in wanted}
    names = set(first_values(NAME))
    items = [
        item
        for path in paths
        for item in read_page(path, _SHAPE)["Items"]
        if isinstance(item, dict) and (str(item.get("armSkuName")) in sizes or str(item.get("meterName")) in names)
    ]
    extract = folder / "wanted-items.json"
    extract.write_text(json.dumps({"Items": items}), encoding="utf-8")
    parameters = {"wanted": wanted, "meters": metered, "extract": str(extract)}
    return Reading(paths=tuple(paths), feed="azure-retail", url=url, rule=RULE, parameters=parameters)


def _questions(asked: Asked) -> Iterator[str]:
    """Yield the address of each first page: an OData filter, in which a quote is doubled."""

    def any_of(name: str, values: Sequence[str]) -> str:
        said = " or ".join(f"{name} eq '{value.replace(chr(39), chr(39) * 2)}'" for value in values)
        return f"({said})"

    def question(service: str, name: str, values: Sequence[str]) -> str:
        terms = [f"serviceName eq '{service}'", any_of(name, values)]
        if asked.regions:
            terms.append(any_of("armRegionName", asked.regions))
        return f"{asked.url}?{urlencode({'api-version': _VERSION, '$filter': ' and '.join(terms)})}"

    for service in chosen_services(NAME, asked.services):
        yield question(service, "meterName", first_values(NAME, service))
    if not asked.services:
        sizes = sorted(entry["instance_type"] for entry in wanted_instances(NAME))
        for start in range(0, len(sizes), _SIZES_AT_ONCE):
            yield question("Virtual Machines", "armSkuName", sizes[start : start + _SIZES_AT_ONCE])


def _following(page: Any, _request: Request) -> Request | None:  # noqa: ANN401 - JSON
    after = page.get("NextPageLink")
    if after is not None and not isinstance(after, str):
        raise FeedError("a page of Azure Retail Prices has no address of the next one", help="nothing was stored")
    return json_request(after) if after else None


FEED = Feed(
    name=NAME,
    title="Azure Retail Prices: on demand, spot, reservations, savings plans",
    url=URL,
    fetch=fetch,
    read=read,
    has_services=True,
)
