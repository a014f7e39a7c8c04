"""AWS: the offer files of regions (CSV or JSON), savings plans, and what its commands give: spot history, blocks.

The offer file of EC2 has hundreds of megabytes for each region: regions are named, and nothing is held in memory.
Spot prices and capacity blocks need credentials, which this program does not ask for: people run AWS's own command and
hand its answer over.
"""

import csv
import datetime as dt
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from clusterwright.errors import InputError
from clusterwright.feeds.aws_stream import INSTANCE_COLUMNS, OFFER_COLUMNS, offer_table, rates_table
from clusterwright.feeds.download import FeedError, Fetcher, Request, json_request
from clusterwright.feeds.meters import chosen_services, first_values, meters
from clusterwright.feeds.pages import Shape, read_page
from clusterwright.feeds.reading import Asked, Feed, Reading, wanted_instances
from clusterwright.pricing.ingest import content_digest
from clusterwright.pricing.offer_lines import write_lines

URL = "https://pricing.us-east-1.amazonaws.com"
OFFER_RULE = "pricing/feeds/aws_offer.sql"
PLANS_RULE = "pricing/feeds/aws_savings_plans.sql"
SPOT_RULE = "pricing/feeds/aws_spot_history.sql"
BLOCKS_RULE = "pricing/feeds/aws_capacity_blocks.sql"
_OFFERS = "/offers/v1.0/aws/{}/current/region_index.json"
_FIRST_SERVICE = "AmazonEC2"
_PLANS = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json"
_SPOT = Shape(
    feed="aws ec2 describe-spot-price-history",
    items="SpotPriceHistory",
    fields=("AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp"),
)
_BLOCKS = Shape(
    feed="aws ec2 describe-capacity-block-offerings",
    items="CapacityBlockOfferings",
    fields=("InstanceType", "AvailabilityZone", "InstanceCount", "CapacityBlockDurationHours", "UpfrontFee"),
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_METADATA_LINES = 5


def fetch_offers(fetcher: Fetcher, asked: Asked) -> Sequence[Reading]:
    """Fetch the offer files (CSV) of the regions and services that are named; of EC2 if no service is.

    Raises:
        FeedError: a document cannot be had. InputError: AWS has no such region, or no rule reads the service.
    """
    readings = []
    for service in chosen_services("aws", asked.services) or (_FIRST_SERVICE,):
        request = json_request(asked.url + _OFFERS.format(service))
        index = read_page(fetcher.fetch(request, asked.folder / f"{service}.json"), Shape(feed="AWS"))
        known = _addresses(index.get("regions") if isinstance(index, dict) else None, "currentVersionUrl")
        for region in _known(asked.regions, known):
            url = urljoin(asked.url + "/", known[region].removesuffix(".json") + ".csv")
            path = fetcher.fetch(Request(url=url, kind="csv"), asked.folder / f"{service}-{region}.csv")
            readings.append(_of_csv(path, asked.folder, url))
    return readings


def read_offers(paths: Sequence[Path], folder: Path) -> Sequence[Reading]:
    """Return offer files, each CSV or JSON, as documents.

    Raises:
        FeedError: one is truncated or no offer file.
    """
    return [
        _of_json(path, folder) if path.suffix.lower() == ".json" else _of_csv(path, folder, f"file:{path.name}")
        for path in paths
    ]


def _of_csv(path: Path, folder: Path, url: str) -> Reading:
    wanted = wanted_instances("aws")
    table = folder / f"{path.stem}.kept.csv"
    with ThreadPoolExecutor(1) as beside:
        # Gigabytes are hashed while they are searched: both wait for nothing but the processor.
        digest = beside.submit(content_digest, (path,))
        _write_rows(path, table, wanted)
    return _reading(path, table, url, _published_on(path), digest.result())


def _write_rows(path: Path, table: Path, wanted: list[dict[str, Any]]) -> None:
    try:
        write_lines(
            path,
            table,
            first_line=_METADATA_LINES,
            cells=[entry["instance_type"] for entry in wanted],
            endings=first_values("aws"),
            columns=OFFER_COLUMNS,
            together=INSTANCE_COLUMNS,
        )
    except InputError as error:
        raise FeedError(error.message, help=error.help) from error


def _of_json(path: Path, folder: Path) -> Reading:
    types = frozenset(entry["instance_type"] for entry in wanted_instances("aws"))
    table = offer_table(path, folder / f"{path.stem}.kept.csv", instance_types=types)
    return _reading(path, table, f"file:{path.name}")


def _reading(
    path: Path, table: Path, url: str, published_on: dt.date | None = None, digest: tuple[str, int] | None = None
) -> Reading:
    return Reading(
        paths=(path,),
        feed="aws-offer",
        url=url,
        rule=OFFER_RULE,
        parameters={"wanted": wanted_instances("aws"), "meters": meters("aws"), "extract": str(table)},
        published_on=published_on,
        digest=digest,
    )


def _published_on(path: Path) -> dt.date | None:
    """Return the publication day that the lines before the header give, None where they give none."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for cells, _ in zip(csv.reader(file), range(_METADATA_LINES), strict=False):
                if cells and cells[0] == "Publication Date" and (found := _DAY.search(cells[-1])):
                    return dt.date.fromisoformat(found.group())
    except (OSError, ValueError, csv.Error):
        return None
    return None


def fetch_plans(fetcher: Fetcher, asked: Asked) -> Sequence[Reading]:
    """Fetch the rates of savings plans of the regions that are named; their offer files have to be stored already.

    Raises:
        FeedError: a document cannot be had. InputError: AWS has no such region.
    """
    page = read_page(
        fetcher.fetch(json_request(asked.url + _PLANS), asked.folder / "regions.json"),
        Shape(feed="AWS savings plans", items="regions"),
    )
    known = _addresses({entry.get("regionCode"): entry for entry in page["regions"]}, "versionUrl")
    readings = []
    for region in _known(asked.regions, known):
        url = urljoin(asked.url + "/", known[region])
        path = fetcher.fetch(json_request(url), asked.folder / f"{region}.json")
        readings.append(_of_plans(path, asked.folder, url))
    return readings


def read_plans(paths: Sequence[Path], folder: Path) -> Sequence[Reading]:
    """Return savings plan files as documents.

    Raises:
        FeedError: one is truncated or no savings plan file.
    """
    return [_of_plans(path, folder, f"file:{path.name}") for path in paths]


def _of_plans(path: Path, folder: Path, url: str) -> Reading:
    table = rates_table(path, folder / f"{path.stem}.kept.csv")
    parameters = {"extract": str(table)}
    return Reading(paths=(path,), feed="aws-savings-plans", url=url, rule=PLANS_RULE, parameters=parameters)


def _answers_of(shape: Shape, feed: str, rule: str) -> Callable[[Sequence[Path], Path], Sequence[Reading]]:
    """Return the reader of what a command of AWS gives."""

    def read(paths: Sequence[Path], _folder: Path) -> Sequence[Reading]:
        for path in paths:
            read_page(path, shape)
        url = f"file:{paths[0].name}"
        parameters = {"wanted": wanted_instances("aws")}
        return [Reading(paths=tuple(paths), feed=feed, url=url, rule=rule, parameters=parameters)]

    return read


def _addresses(regions: object, name: str) -> dict[str, str]:
    if not isinstance(regions, dict):
        raise FeedError("AWS's list of regions has changed its shape", help="nothing was stored")
    return {
        str(region): entry[name]
        for region, entry in regions.items()
        if isinstance(entry, dict) and isinstance(entry.get(name), str)
    }


def _known(asked: Sequence[str], known: dict[str, str]) -> Sequence[str]:
    unknown = [region for region in asked if region not in known]
    if unknown:
        raise InputError(
            f"AWS has no region {', '.join(map(repr, unknown))}", help=f"regions: {', '.join(sorted(known))}"
        )
    return list(dict.fromkeys(asked))


FEEDS = (
    Feed(
        name="aws",
        title="offer files of regions: EC2 on demand and reserved; --service AmazonS3 and others",
        url=URL,
        fetch=fetch_offers,
        read=read_offers,
        needs_region=True,
        has_services=True,
    ),
    Feed(
        name="aws-savings-plans",
        title="rates of savings plans; after aws",
        url=URL,
        fetch=fetch_plans,
        read=read_plans,
        needs_region=True,
    ),
    Feed(
        name="aws-spot",
        title="--from what aws ec2 describe-spot-price-history gives",
        url="",
        fetch=None,
        read=_answers_of(_SPOT, "aws-spot", SPOT_RULE),
    ),
    Feed(
        name="aws-capacity-blocks",
        title="--from what aws ec2 describe-capacity-block-offerings gives",
        url="",
        fetch=None,
        read=_answers_of(_BLOCKS, "aws-capacity-blocks", BLOCKS_RULE),
    ),
)
