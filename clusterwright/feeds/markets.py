"""Short public lists: Oracle's list of prices, Lambda, RunPod, and the catalogues of SkyPilot."""

import csv
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from clusterwright import assets
from clusterwright.catalog.clouds.price_only import price_only_products
from clusterwright.errors import ClusterwrightError
from clusterwright.feeds.download import FeedError, Fetcher, Request, json_request
from clusterwright.feeds.pages import Shape, check_utf8, read_page
from clusterwright.feeds.reading import Asked, Feed, Reading, wanted_instances

_GPU_QUERY = {"query": "{ gpuTypes { id displayName secureCloud securePrice secureSpotPrice } }"}
_ORACLE = Shape(feed="Oracle", items="items", fields=("partNumber", "metricName", "currencyCodeLocalizations"))
#: Clouds whose instance types are in the catalogue.
_CLOUDS = ("aws", "azure", "gcp")


@cache
def _rows() -> tuple[dict[str, str], ...]:
    path = assets.root() / "catalog" / "market_names.csv"
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return tuple(csv.DictReader(lines))
    except OSError as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error


def names_of(feed: str) -> list[dict[str, Any]]:
    """Return what a feed calls its products, with the price key, the accelerator's id and how many there are.

    Oracle's part numbers are the price keys themselves; other names stand in `catalog/market_names.csv`.

    Args:
        feed: name of a feed.

    Raises:
        ClusterwrightError: a table cannot be read.
    """
    products = price_only_products()
    own = {entry.sku.partition("/")[2]: entry.sku for entry in products.values() if entry.provider == feed == "oci"}
    told = {row["name"]: row["sku"] for row in _rows() if row["feed"] == feed}
    return [
        {"name": name, "sku": sku, "gpu": products[sku].accelerator, "gpu_count": float(products[sku].gpus)}
        for name, sku in (own | told).items()
    ]


def _checked(feed: str, shape: Shape, inside: tuple[str, ...], path: Path) -> None:
    """Refuse a document in which what the rule reads is missing: DuckDB would read nothing, without a word."""
    page = read_page(path, shape)
    for name in inside:
        page = page.get(name) if isinstance(page, dict) else None
    if not page:
        said = " has " + ".".join(inside) if inside else ""
        raise FeedError(
            f"{path.name} is not what {feed} gives: no answer of it{said}",
            help="nothing was stored; if the provider changed the format, the rule has to follow",
        )


def _json_feed(
    *,
    name: str,
    title: str,
    url: str,
    request: Callable[[Asked], Request],
    shape: Shape,
    inside: tuple[str, ...],
    rule: str,
    key: str = "",
) -> Feed:
    """Return a feed of one JSON document."""

    def reading(paths: Sequence[Path], place: str) -> Sequence[Reading]:
        for path in paths:
            _checked(title, shape, inside, path)
        parameters = {"names": names_of(name)}
        return (Reading(paths=tuple(paths), feed=f"{name}-list", url=place, rule=rule, parameters=parameters),)

    def fetch(fetcher: Fetcher, asked: Asked) -> Sequence[Reading]:
        return reading((fetcher.fetch(request(asked), asked.folder / f"{name}.json"),), asked.url)

    def read(paths: Sequence[Path], _folder: Path) -> Sequence[Reading]:
        return reading(paths, f"file:{paths[0].name}")

    return Feed(name=name, title=title, url=url, fetch=fetch, read=read, key=key)


def _cloud_of(path: Path) -> str:
    """Return the cloud of a SkyPilot catalogue, which only its place says: `aws.csv`, or `aws/vms.csv`."""
    found = [part for part in (path.stem, path.parent.name) if part in _CLOUDS]
    if not found:
        raise FeedError(
            f"{path.name} does not say whose prices it has",
            help="name it as its cloud, for example aws.csv or aws/vms.csv",
        )
    return found[0]


def _skypilot(paths: Sequence[Path], _folder: Path) -> Sequence[Reading]:
    readings = []
    for path in paths:
        cloud = _cloud_of(path)
        check_utf8(path)
        parameters = {"wanted": wanted_instances(cloud), "cloud": cloud}
        readings.append(
            Reading(
                paths=(path,),
                feed=f"skypilot-{cloud}",
                url=f"file:{path.parent.name}/{path.name}",
                rule="pricing/feeds/skypilot_catalogue.sql",
                parameters=parameters,
            )
        )
    return readings


def _fetch_skypilot(fetcher: Fetcher, asked: Asked) -> Sequence[Reading]:
    """Fetch the catalogues of the clouds that are named as regions."""
    readings: list[Reading] = []
    for cloud in asked.regions:
        if cloud not in _CLOUDS:
            raise FeedError(f"SkyPilot has no catalogue of {cloud!r}", help=f"clouds: {', '.join(_CLOUDS)}")
        url = f"{asked.url}/{cloud}/vms.csv"
        path = fetcher.fetch(Request(url=url, kind="csv"), asked.folder / f"{cloud}.csv")
        readings += _skypilot((path,), asked.folder)
    return readings


FEEDS = (
    _json_feed(
        name="oci",
        title="Oracle's public list",
        url="https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/",
        request=lambda asked: json_request(f"{asked.url}?currencyCode=USD"),
        shape=_ORACLE,
        inside=("items",),
        rule="pricing/feeds/oci_list.sql",
    ),
    _json_feed(
        name="lambda",
        title="Lambda's instance types",
        url="https://cloud.lambdalabs.com/api/v1/instance-types",
        request=lambda asked: json_request(
            asked.url, headers={"authorization": f"Bearer {asked.keys['LAMBDA_API_KEY']}"}
        ),
        shape=Shape(feed="Lambda"),
        inside=("data",),
        rule="pricing/feeds/lambda_types.sql",
        key="LAMBDA_API_KEY",
    ),
    _json_feed(
        name="runpod",
        title="RunPod's secure cloud",
        url="https://api.runpod.io/graphql",
        request=lambda asked: json_request(
            asked.url, headers={"authorization": f"Bearer {asked.keys['RUNPOD_API_KEY']}"}, body=_GPU_QUERY
        ),
        shape=Shape(feed="RunPod"),
        inside=("data", "gpuTypes"),
        rule="pricing/feeds/runpod_types.sql",
        key="RUNPOD_API_KEY",
    ),
    Feed(
        name="skypilot",
        title="SkyPilot's catalogues; --region names clouds, for example aws",
        url="https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master/catalogs/v7",
        fetch=_fetch_skypilot,
        read=_skypilot,
        needs_region=True,
    ),
)
