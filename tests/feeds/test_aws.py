"""AWS's offer files, savings plans, spot history and capacity blocks in their real forms, with their traps."""

import csv
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ijson", reason="the extra feeds is not installed")

from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.feeds.download import FeedError, Fetcher, Manners
from clusterwright.feeds.fetch import Fetched, feed_named, fetch_feed, read_files
from clusterwright.pricing.store import PriceStore

from .server import Answer, Asked, serving

SKU, CODE = "3D4V8UAYEMB38GU2", "3D4V8UAYEMB38GU2.JRTCKXETXF.6YS6EN2CT7"
ATTRIBUTES = {
    "servicecode": "AmazonEC2",
    "instanceType": "p5.48xlarge",
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "licenseModel": "No License required",
    "marketoption": "OnDemand",
    "regionCode": "us-east-1",
    "locationType": "AWS Region",
    "operation": "RunInstances",
    "usagetype": "BoxUsage:p5.48xlarge",
}
_STORED = "select region, zone, term, payment, round(usd, 6), effective_from from observation order by all"


def _offer(price: str = "55.0400000000", sku: str = SKU, **attributes: str) -> dict[str, Any]:
    """Return an offer file of one product, terms first or last as AWS likes."""
    dimension = {"rateCode": CODE, "unit": "Hrs", "beginRange": "0", "endRange": "Inf", "pricePerUnit": {"USD": price}}
    term = {"offerTermCode": "JRTCKXETXF", "sku": sku, "effectiveDate": "2026-10-01T00:00:00Z", "termAttributes": {}}
    return {
        "formatVersion": "v1.0",
        "offerCode": "AmazonEC2",
        "publicationDate": "2026-10-01T20:00:00Z",
        "products": {sku: {"sku": sku, "productFamily": "Compute Instance", "attributes": ATTRIBUTES | attributes}},
        "terms": {
            "OnDemand": {sku: {f"{sku}.JRTCKXETXF": term | {"priceDimensions": {CODE: dimension}}}},
            "Reserved": {},
        },
    }


def _read(
    feed: str, folder: Path, document: object, name: str = "document.json"
) -> tuple[Fetched, list[tuple[Any, ...]]]:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    at = dt.datetime(2026, 10, 2, tzinfo=dt.UTC)
    with PriceStore.open(folder / "prices.duckdb") as store:
        (found,) = read_files(store, feed_named(feed), [path], at=at)
        rows = store.connection.execute(_STORED).fetchall()
    assert not list(folder.glob("*.kept.csv"))
    return found, rows


OCTOBER = dt.datetime(2026, 10, 1)  # noqa: DTZ001 - as DuckDB gives days


def test_the_offer_file_in_json(tmp_path: Path) -> None:
    """The streamed JSON gives the same price as the CSV: one per type and region."""
    found, stored = _read("aws", tmp_path, _offer())
    assert stored == [("us-east-1", "", "on_demand", "", 55.04, OCTOBER)]
    assert (found.ingested.read, found.ingested.quarantined) == (1, 0)
    backwards = dict(reversed(_offer(price="56").items()))
    other = tmp_path / "other"
    other.mkdir()
    assert _read("aws", other, backwards)[1][0][4] == 56.0


@pytest.mark.parametrize(
    "changed",
    [
        {"operatingSystem": "Windows"},
        {"licenseModel": "Bring your own license", "operatingSystem": "Windows", "preInstalledSw": "NA"},
        {"tenancy": "Dedicated"},
        {"preInstalledSw": "SQL Web"},
        {"capacitystatus": "UnusedCapacityReservation"},
        {"capacitystatus": "AllocatedCapacityReservation"},
        {"marketoption": "CapacityBlock"},
        {"locationType": "AWS Local Zone"},
        {"operation": "RunInstances:0002"},
        {"instanceType": "m7i.xlarge"},
    ],
    ids=lambda changed: " ".join(changed.values()),
)
def test_other_products_of_the_json_are_not_read(tmp_path: Path, changed: dict[str, str]) -> None:
    """Licences, tenancies, reservations, blocks, Local Zones and types that nobody asked for are left out."""
    found, stored = _read("aws", tmp_path, _offer(**changed))
    assert (found.ingested.read, stored) == (0, [])


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (json.dumps(_offer())[:-60], "no whole JSON"),
        (json.dumps(_offer())[:200], "no whole JSON"),
        ("<html>down</html>", "no whole JSON"),
        ("{}", "no terms.OnDemand"),
        (json.dumps({"products": {"A": {"sku": "A"}}, "terms": {}}), "not the document that AWS gives"),
        (json.dumps(_offer()).replace('"priceDimensions"', '"prices"'), "not the document that AWS gives"),
        ("\x00\x01", "no whole JSON"),
    ],
)
def test_damaged_offers_are_refused(tmp_path: Path, document: str, said: str) -> None:
    """A truncated, empty or changed file ends with the reason, and the store stays empty."""
    with pytest.raises(ClusterwrightError, match=said):
        _read("aws", tmp_path, document)
    with PriceStore.open(tmp_path / "prices.duckdb") as store:
        assert store.connection.table("ingest").count("*").fetchall() == [(0,)]


def _plans(**rate: object) -> dict[str, Any]:
    one = {"discountedSku": SKU, "discountedRate": {"price": "38.52", "currency": "USD"}, "unit": "Hrs"} | rate
    other = {"discountedSku": "WINDOWS", "discountedRate": {"price": "12", "currency": "USD"}}

    def plan(sku: str, years: int) -> dict[str, Any]:
        return {
            "sku": sku,
            "description": f"{years} year Compute Savings Plan",
            "effectiveDate": "2026-10-01T00:00:00Z",
            "leaseContractLength": {"duration": years, "unit": "year"},
            "rates": [one, other],
        }

    return {
        "version": "20261001",
        "products": [
            {"sku": "P1", "attributes": {"purchaseOption": "No Upfront", "purchaseTerm": "1yr"}},
            {"sku": "P3", "attributes": {"purchaseOption": "All Upfront", "purchaseTerm": "3yr"}},
        ],
        "terms": {"savingsPlan": [plan("P1", 1), plan("P3", 3)]},
    }


def test_savings_plans_are_joined_by_the_product_they_discount(tmp_path: Path) -> None:
    """A rate is a price only of a product that the store knows; other licences of the same type are left out."""
    found, stored = _read("aws-savings-plans", tmp_path, _plans(), "first.json")
    assert (found.ingested.read, stored) == (0, [])
    _read("aws", tmp_path, _offer())
    found, stored = _read("aws-savings-plans", tmp_path, _plans(unit="hours"), "second.json")
    assert [row[:5] for row in stored] == [
        ("us-east-1", "", "on_demand", "", 55.04),
        ("us-east-1", "", "reserved_1y", "no_upfront", 38.52),
        ("us-east-1", "", "reserved_3y", "all_upfront", 38.52),
    ]


def test_a_rate_that_equals_the_price_on_demand_waits_in_quarantine(tmp_path: Path) -> None:
    """A commitment without a rate of its own that shows the price on demand is held back."""
    _read("aws", tmp_path, _offer(), "offer.json")
    found, _ = _read("aws-savings-plans", tmp_path, _plans(discountedRate={"price": "55.04", "currency": "USD"}))
    assert found.ingested.quarantined == 2


def _spot(**changes: str) -> dict[str, str]:
    return {
        "AvailabilityZone": "us-east-1c",
        "InstanceType": "p5.48xlarge",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": "19.740000",
        "Timestamp": "2026-10-01T21:56:38+00:00",
    } | changes


def test_spot_history(tmp_path: Path) -> None:
    """Each change is a row of its zone and moment in UTC; Windows and Local Zones are left out, twins count once."""
    history = [
        _spot(),
        _spot(ProductDescription="Linux/UNIX (Amazon VPC)", SpotPrice="19.9"),
        _spot(Timestamp="2026-10-01T23:56:38+02:00", AvailabilityZone="us-east-1d"),
        _spot(ProductDescription="Windows", SpotPrice="28"),
        _spot(AvailabilityZone="us-west-2-lax-1a"),
        _spot(InstanceType="m7i.large"),
    ]
    found, stored = _read("aws-spot", tmp_path, {"SpotPriceHistory": history, "NextToken": ""})
    moment = dt.datetime(2026, 10, 1, 21, 56, 38)  # noqa: DTZ001
    assert stored == [
        ("us-east-1", "us-east-1c", "spot", "", 19.9, moment),
        ("us-east-1", "us-east-1d", "spot", "", 19.74, moment),
    ]
    assert found.ingested.quarantined == 0


def _block(**changes: object) -> dict[str, Any]:
    return {
        "CapacityBlockOfferingId": "cb-1",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-2a",
        "InstanceCount": 4,
        "StartDate": "2026-10-20T11:30:00+00:00",
        "EndDate": "2026-10-22T11:30:00+00:00",
        "CapacityBlockDurationHours": 47,
        "CapacityBlockDurationMinutes": 60,
        "UpfrontFee": "7973.376",
        "CurrencyCode": "USD",
        "Tenancy": "default",
    } | changes


def test_capacity_blocks(tmp_path: Path) -> None:
    """The fee is for all nodes and all hours, and 47 hours and 60 minutes are 48 hours."""
    offers = [_block(), _block(Tenancy="dedicated", UpfrontFee="1")]
    _, stored = _read("aws-capacity-blocks", tmp_path, {"CapacityBlockOfferings": offers})
    assert [row[:5] for row in stored] == [("us-east-2", "us-east-2a", "capacity_block", "all_upfront", 41.528)]


@pytest.mark.parametrize("feed", ["aws-spot", "aws-capacity-blocks"])
def test_answers_of_another_command_are_refused(tmp_path: Path, feed: str) -> None:
    """An error message of the command, or another command's answer, is reported."""
    with pytest.raises(FeedError, match="has no list"):
        _read(feed, tmp_path, {"Reservations": []})
    with (
        PriceStore.open(tmp_path / "x.duckdb") as store,
        Fetcher() as fetcher,
        pytest.raises(InputError, match="from files only"),
    ):
        fetch_feed(store, feed_named(feed), fetcher)


METADATA = (
    '"FormatVersion","v1.0"\n"Disclaimer","x"\n"Publication Date","2026-10-01T20:00:00Z"\n"Version","1"\n'
    '"OfferCode","AmazonEC2"\n'
)
ROW = {
    "SKU": SKU,
    "OfferTermCode": "JRTCKXETXF",
    "RateCode": CODE,
    "TermType": "OnDemand",
    "EffectiveDate": "2026-10-01",
    "Unit": "Hrs",
    "PricePerUnit": "55.0400000000",
    "Currency": "USD",
    "Region Code": "us-east-1",
    "Location Type": "AWS Region",
    "Instance Type": "p5.48xlarge",
    "Operating System": "Linux",
    "Tenancy": "Shared",
    "Pre Installed S/W": "NA",
    "CapacityStatus": "Used",
    "MarketOption": "OnDemand",
    "operation": "RunInstances",
}


def _csv(folder: Path) -> bytes:
    path = folder / "made.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(METADATA)
        writer = csv.DictWriter(file, ROW.keys(), quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writeheader()
        writer.writerow(ROW)
    return path.read_bytes()


def test_offers_are_fetched_by_region(tmp_path: Path) -> None:
    """The list of regions leads to the region's file; the file breaks off once and is resumed; the day is kept."""
    body = _csv(tmp_path)
    regions = {"us-east-1": {"regionCode": "us-east-1", "currentVersionUrl": "/offers/20261001/us-east-1/index.json"}}

    def answer(asked: Asked) -> Answer:
        if asked.path.endswith("region_index.json"):
            return Answer(body=json.dumps({"regions": regions}).encode())
        assert asked.path == "/offers/20261001/us-east-1/index.csv"
        headers = {"ETag": '"1"', "Content-Type": "text/csv"}
        if "range" not in asked.headers:
            return Answer(body=body, headers=headers, cut_at=300)
        assert asked.headers["range"] == "bytes=300-"
        rest = {"Content-Range": f"bytes 300-{len(body) - 1}/{len(body)}"}
        return Answer(body=body[300:], status=206, headers=headers | rest)

    with (
        serving(answer) as server,
        PriceStore.open(tmp_path / "prices.duckdb") as store,
        Fetcher(manners=Manners(pause_s=0.0), sleep=lambda _: None) as fetcher,
    ):
        feed = feed_named("aws")
        (found,) = fetch_feed(store, feed, fetcher, regions=["us-east-1"], url=server.url)
        assert found.ingested.stored == 1
        assert store.connection.execute("select published_on, url from document").fetchall() == [
            (dt.date(2026, 10, 1), f"{server.url}/offers/20261001/us-east-1/index.csv")
        ]
        with pytest.raises(InputError, match="AWS has no region 'mars-1'") as caught:
            fetch_feed(store, feed, fetcher, regions=["mars-1"], url=server.url)
        assert "us-east-1" in (caught.value.help or "")
        with pytest.raises(InputError, match="large document per region"):
            fetch_feed(store, feed, fetcher, url=server.url)


def test_savings_plans_are_fetched_by_region(tmp_path: Path) -> None:
    """The list of regions leads to the region's rates."""
    index = {"regions": [{"regionCode": "us-east-1", "versionUrl": "/savingsPlan/1/us-east-1/index.json"}]}

    def answer(asked: Asked) -> Answer:
        return Answer(body=json.dumps(index if "region_index" in asked.path else _plans()).encode())

    _read("aws", tmp_path, _offer())
    with (
        serving(answer) as server,
        PriceStore.open(tmp_path / "prices.duckdb") as store,
        Fetcher(manners=Manners(pause_s=0.0)) as fetcher,
    ):
        plans = feed_named("aws-savings-plans")
        (found,) = fetch_feed(store, plans, fetcher, regions=["us-east-1"], url=server.url)
    assert found.ingested.stored == 2
