"""Google's Cloud Billing Catalog: prices of cores, memory, accelerators and disks, from which machines are added up."""

import csv
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Instance
from clusterwright.errors import ClusterwrightError
from clusterwright.feeds.download import Fetcher, Request, json_request
from clusterwright.feeds.meters import chosen_services, meters
from clusterwright.feeds.pages import Shape, fetch_pages, read_page
from clusterwright.feeds.reading import Asked, Feed, Reading
from clusterwright.units import HOURS_PER_MONTH

#: The service Compute Engine.
_COMPUTE = "6F81-5844-456A"
URL = f"https://cloudbilling.googleapis.com/v1/services/{_COMPUTE}/skus"
RULE = "pricing/feeds/gcp_skus.sql"
KEY = "GOOGLE_API_KEY"
_FIELDS = ("skuId", "description", "category", "serviceRegions", "pricingInfo")
_SHAPE = Shape(feed="the Cloud Billing Catalog", items="skus", fields=_FIELDS)
_PAGE_SIZE = 5000
_GIB = 2.0**30


def fetch(fetcher: Fetcher, asked: Asked) -> Sequence[Reading]:
    """Fetch the SKUs of Compute Engine or of the services that are named; the key goes in a header, not in the address.

    Raises:
        FeedError: a page cannot be had, or is not a page of the catalogue. InputError: no rule reads the service.
    """
    headers = {"x-goog-api-key": asked.keys[KEY]}
    paths: list[Path] = []
    for service in chosen_services("gcp", asked.services) or (_COMPUTE,):
        folder = asked.folder / service
        folder.mkdir()
        paths += _pages(fetcher, folder, asked.url.replace(_COMPUTE, service), headers)
    return (_reading(paths, asked.url),)


def _pages(fetcher: Fetcher, folder: Path, url: str, headers: dict[str, str]) -> Sequence[Path]:

    def page_at(token: str) -> Request:
        query = {"pageSize": _PAGE_SIZE, "currencyCode": "USD"} | ({"pageToken": token} if token else {})
        return json_request(f"{url}?{urlencode(query)}", headers=headers)

    def following(page: Any, _request: Request) -> Request | None:  # noqa: ANN401 - JSON
        token = page.get("nextPageToken")
        return page_at(token) if isinstance(token, str) and token else None

    return fetch_pages(fetcher, folder, page_at(""), shape=_SHAPE, following=following)


def read(paths: Sequence[Path], _folder: Path) -> Sequence[Reading]:
    """Return saved pages as one document.

    Raises:
        FeedError: one is not a page of the catalogue.
    """
    for path in paths:
        read_page(path, _SHAPE)
    return (_reading(paths, f"file:{paths[0].name}"),)


def _reading(paths: Sequence[Path], url: str) -> Reading:
    parameters = {"components": list(components()), "meters": meters("gcp")}
    return Reading(paths=tuple(paths), feed="gcp-skus", url=url, rule=RULE, parameters=parameters)


def components() -> Iterator[dict[str, Any]]:
    """Yield what each machine type is made of: component, quantity in its unit for an hour, and how its SKUs begin.

    Local disks are charged by the month, here of 730 hours.

    Raises:
        ClusterwrightError: the table of components cannot be read.
    """
    for instance in load().instances.values():
        for row in _rows():
            quantity = _quantity(instance, row["component"])
            if instance.cloud == "gcp" and instance.id.startswith(row["prefix"] + "-") and quantity:
                yield {
                    "instance_type": instance.id,
                    "gpu": instance.accelerator,
                    "gpu_count": float(instance.gpus),
                    "regions": sorted({zone.rpartition("-")[0] for zone in instance.regions}),
                    "component": row["component"],
                    "quantity": quantity,
                    "usage_unit": row["usage_unit"],
                    "on_demand": row["on_demand"],
                    "spot": row["spot"],
                    "commitment": row["commitment"],
                }


def _quantity(instance: Instance, component: str) -> float:
    amounts = {
        "core": float(instance.vcpus or 0),
        "ram": (instance.memory_bytes or 0) / _GIB,
        "gpu": float(instance.gpus),
        "ssd": (instance.local_nvme_bytes or 0) / _GIB / HOURS_PER_MONTH,
    }
    return amounts[component]


@cache
def _rows() -> tuple[dict[str, str], ...]:
    path = assets.root() / "catalog" / "gcp_components.csv"
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return tuple(csv.DictReader(lines))
    except OSError as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error


FEED = Feed(
    name="gcp",
    title="Google's Cloud Billing Catalog: machines added up from their SKUs",
    url=URL,
    fetch=fetch,
    read=read,
    key=KEY,
    has_services=True,
)
