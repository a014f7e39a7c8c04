"""Storage, network and addresses in the price lists of AWS, Azure and Google Cloud: by their meters, tier by tier."""

import csv
import datetime as dt
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("ijson", reason="the extra feeds is not installed")

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.errors import InputError
from clusterwright.feeds.download import Fetcher, Manners
from clusterwright.feeds.fetch import Fetched, feed_named, fetch_feed, read_files
from clusterwright.feeds.meters import meters
from clusterwright.pricing.store import PriceStore

from .offer_documents import METADATA, row, write_csv, write_json
from .server import Answer, Asked, serving
from .test_azure import ITEM
from .test_gcp import sku

_STORED = "select sku, region, charge, unit, tier_start, round(usd, 9) from observation order by all"


def _read(feed: str, path: Path) -> tuple[Fetched, list[tuple[Any, ...]], list[tuple[str, str]]]:
    with PriceStore.open(path.parent / "prices.duckdb") as store:
        (found,) = read_files(store, feed_named(feed), [path], at=dt.datetime(2026, 10, 2, tzinfo=dt.UTC))
        stored = store.connection.execute(_STORED).fetchall()
        notes = store.connection.execute("select sku, note from observation where note <> '' order by all").fetchall()
    return found, stored, notes


REGION = {"locationType": "AWS Region", "location": "US West (Oregon)", "regionCode": "us-west-2"}
OUT = {
    "sku": "OUT",
    "productFamily": "Data Transfer",
    "servicecode": "AWSDataTransfer",
    "transferType": "AWS Outbound",
    "fromLocation": "US West (Oregon)",
    "fromLocationType": "AWS Region",
    "fromRegionCode": "us-west-2",
    "toLocation": "External",
    "usagetype": "USW2-DataTransfer-Out-Bytes",
}
DISK = {"sku": "GP3", "productFamily": "Storage", "volumeApiName": "gp3", "usagetype": "USW2-EBS:VolumeUsage.gp3"}
LUSTRE = {
    "sku": "FSX",
    "productFamily": "Storage",
    "fileSystemType": "Lustre",
    "storageType": "SSD",
    "throughputCapacity": "125",
    "usagetype": "USW2-Storage.Lustre:SSD",
}
SERVICES = [
    row("0.08", "GB-Mo", **DISK, **REGION),
    row(
        "0.005",
        "IOPS-Mo",
        **DISK | {"sku": "IOPS", "productFamily": "System Operation", "usagetype": "USW2-EBS:VolumeP-IOPS.gp3"},
        **REGION,
    ),
    row(
        "0.096",
        "GB-Mo",
        **DISK | {"sku": "LAX", "usagetype": "USW2-LAX1-EBS:VolumeUsage.gp3"},
        **REGION | {"locationType": "AWS Local Zone", "regionCode": "us-west-2-lax-1"},
    ),
    row("0.045", "Hrs", sku="NAT", productFamily="NAT Gateway", usagetype="USW2-NatGateway-Hours", **REGION),
    row("0.023", "GB-Mo", sku="S3", productFamily="Storage", usagetype="USW2-TimedStorage-ByteHrs", **REGION),
    row(
        "0.022",
        "GB-Mo",
        sku="S3",
        productFamily="Storage",
        usagetype="USW2-TimedStorage-ByteHrs",
        beginRange="51200",
        **REGION,
    ),
    row("0.0125", "GB-Mo", sku="IA", productFamily="Storage", usagetype="USW2-TimedStorage-SIA-ByteHrs", **REGION),
    row("0.0000000000", "GB", **OUT),
    row("0.0900000000", "GB", **OUT, beginRange="100"),
    row("0.0850000000", "GB", **OUT, beginRange="10240"),
    row(
        "0.02",
        "GB",
        **OUT | {"sku": "IR", "transferType": "InterRegion Outbound", "usagetype": "USW2-USE1-AWS-Out-Bytes"},
    ),
    row("0.145", "GB-Mo", **LUSTRE, **REGION),
    row("0.6", "GB-Mo", **LUSTRE | {"sku": "FSX1000", "throughputCapacity": "1000"}, **REGION),
]


@pytest.mark.parametrize("write", [write_csv, write_json])
def test_services_of_aws(tmp_path: Path, write: Any) -> None:  # noqa: ANN401 - one of two functions
    """Tiers begin where the list says; a free first tier is none; other classes and Local Zones are other products."""
    found, stored, notes = _read("aws", write(tmp_path / f"offer.{write.__name__[-4:].strip('_')}", SERVICES))
    assert found.ingested.quarantined == 0
    assert stored == [
        ("aws/ebs-gp3", "us-west-2", "monthly", "GiB", 0.0, 0.08),
        ("aws/egress", "us-west-2", "metered", "GiB", 0.0, 0.09),
        ("aws/egress", "us-west-2", "metered", "GiB", 10240.0, 0.085),
        ("aws/fsx-lustre-ssd-1000", "us-west-2", "monthly", "GiB", 0.0, 0.6),
        ("aws/fsx-lustre-ssd-125", "us-west-2", "monthly", "GiB", 0.0, 0.145),
        ("aws/nat-gateway", "us-west-2", "hourly", "each", 0.0, 0.045),
        ("aws/s3-standard", "us-west-2", "monthly", "GiB", 0.0, 0.023),
        ("aws/s3-standard", "us-west-2", "monthly", "GiB", 51200.0, 0.022),
    ]
    assert notes == [("aws/egress", "after 100 GB that are free")]


def test_another_unit_is_reported(tmp_path: Path) -> None:
    """A price per GB and hour is not taken for one per month; nor a place without a region for everywhere."""
    rows = [
        row("0.08", "GB-Hours", **DISK, **REGION),
        row("0.09", "GB", **OUT | {"fromRegionCode": ""}),
    ]
    found, stored, _ = _read("aws", write_csv(tmp_path / "offer.csv", rows))
    assert (found.ingested.by_gate, stored) == ({"05_component_missing": 1, "12_region_alias": 1}, [])


def _item(product: str, meter: str, unit: str, usd: float, *, starts: float = 0.0, **more: object) -> dict[str, Any]:
    return (
        ITEM
        | {
            "productName": product,
            "meterName": meter,
            "skuName": meter,
            "unitOfMeasure": unit,
            "retailPrice": usd,
            "tierMinimumUnits": starts,
            "armSkuName": "",
            "serviceName": "Storage",
            "meterId": f"{product} {meter}",
        }
        | more
    )


AZURE = [
    _item("General Block Blob v2", "Hot LRS Data Stored", "1 GB/Month", 0.018, skuName="Hot LRS"),
    _item("General Block Blob v2", "Hot LRS Data Stored", "1 GB/Month", 0.0173, starts=51200.0, skuName="Hot LRS"),
    _item("Premium SSD Managed Disks", "P15 LRS Disk", "1/Month", 34.56),
    _item("Premium SSD Managed Disks", "P15 LRS Disk", "1/Month", 30.0, type="Reservation", reservationTerm="1 Year"),
    *(
        _item(
            "Rtn Preference: MGN",
            "Standard Data Transfer Out",
            "1 GB",
            usd,
            starts=starts,
            serviceName="Bandwidth",
            isPrimaryMeterRegion=False,
        )
        for starts, usd in ((0.0, 0.0), (100.0, 0.087), (10335.0, 0.083), (51295.0, 0.07))
    ),
    _item("Bandwidth - Routing Preference: Internet", "Standard Data Transfer Out", "1 GB", 0.08),
]


def test_services_of_azure(tmp_path: Path) -> None:
    """A disk's price is that of its class over its GiB; data out of the default network, by tier."""
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"Items": AZURE, "Count": len(AZURE)}), encoding="utf-8")
    found, stored, notes = _read("azure", path)
    assert found.ingested.quarantined == 0
    assert stored == [
        ("azure/blob-hot-lrs", "eastus", "monthly", "GiB", 0.0, 0.018),
        ("azure/blob-hot-lrs", "eastus", "monthly", "GiB", 51200.0, 0.0173),
        ("azure/egress", "eastus", "metered", "GiB", 0.0, 0.087),
        ("azure/egress", "eastus", "metered", "GiB", 10335.0, 0.083),
        ("azure/egress", "eastus", "metered", "GiB", 51295.0, 0.07),
        ("azure/premium-ssd", "eastus", "monthly", "GiB", 0.0, 0.135),
    ]
    assert notes == [("azure/egress", "after 100 of 1 GB that are free")]


def _tiers(entry: dict[str, Any], *tiers: tuple[float, int]) -> dict[str, Any]:
    entry["pricingInfo"][0]["pricingExpression"]["tieredRates"] = [
        {"startUsageAmount": starts, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": nanos}}
        for starts, nanos in tiers
    ]
    return entry


def test_services_of_google(tmp_path: Path) -> None:
    """Zonal disks, not the regional ones that cost twice as much; storage behind its free tier; unlike units wait."""
    skus = [
        sku("Balanced PD Capacity", 0.1, unit="GiBy.mo"),
        sku("Balanced PD Capacity in Frankfurt", 0.12, unit="GiBy.mo", region="europe-west3"),
        sku("Regional Balanced PD Capacity", 0.2, unit="GiBy.mo"),
        sku("Balanced PD Capacityless", 0.3, unit="GiBy.mo"),
        _tiers(sku("Standard Storage US Regional", 0.0, unit="GiBy.mo"), (0, 0), (5, 20_000_000)),
        _tiers(
            sku("Network Internet Data Transfer Out from Americas to Americas", 0.0, unit="GiBy"),
            (0, 120_000_000),
            (1024, 110_000_000),
            (10240, 80_000_000),
        ),
        sku("External IP Charge on a Standard VM", 0.005, unit="mo"),
    ]
    path = tmp_path / "skus.json"
    path.write_text(json.dumps({"skus": skus}), encoding="utf-8")
    found, stored, notes = _read("gcp", path)
    assert stored == [
        ("gcp/egress", "us-central1", "metered", "GiB", 0.0, 0.12),
        ("gcp/egress", "us-central1", "metered", "GiB", 1024.0, 0.11),
        ("gcp/egress", "us-central1", "metered", "GiB", 10240.0, 0.08),
        ("gcp/pd-balanced", "europe-west3", "monthly", "GiB", 0.0, 0.12),
        ("gcp/pd-balanced", "us-central1", "monthly", "GiB", 0.0, 0.1),
        ("gcp/storage-standard", "us-central1", "monthly", "GiB", 0.0, 0.02),
    ]
    assert notes == [("gcp/storage-standard", "after 5 GiBy.mo that are free")]
    assert found.ingested.by_gate == {"05_component_missing": 1}


def test_services_are_fetched_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each provider is asked for the service that is named and nothing else; another name lists those that can be."""
    monkeypatch.setenv("GOOGLE_API_KEY", "secret")
    body = write_csv(tmp_path / "made.csv", SERVICES).read_bytes()
    assert body.startswith(METADATA.encode())

    def answer(asked: Asked) -> Answer:
        if asked.path.endswith("/AmazonS3/current/region_index.json"):
            return Answer(body=b'{"regions": {"us-west-2": {"currentVersionUrl": "/s3/us-west-2/index.json"}}}')
        if asked.path == "/s3/us-west-2/index.csv":
            return Answer(body=body, headers={"Content-Type": "text/csv"})
        if "filter" in asked.path:
            question = parse_qs(urlsplit(asked.path).query)["$filter"][0]
            assert question == (
                "serviceName eq 'Bandwidth' and (meterName eq 'Standard Data Transfer Out') "
                "and (armRegionName eq 'eastus')"
            )
            return Answer(body=json.dumps({"Items": AZURE, "Count": len(AZURE)}).encode())
        assert "/services/95FF-2EF5-5EA3/skus?" in asked.path
        return Answer(body=json.dumps({"skus": [sku("Standard Storage Iowa", 0.02, unit="GiBy.mo")]}).encode())

    with (
        serving(answer) as server,
        PriceStore.open(tmp_path / "prices.duckdb") as store,
        Fetcher(manners=Manners(pause_s=0.0)) as fetcher,
    ):
        google = f"{server.url}/services/6F81-5844-456A/skus"
        for name, service, region, url, stored in (
            ("aws", "AmazonS3", "us-west-2", server.url, 8),
            ("azure", "Bandwidth", "eastus", server.url, 6),
            ("gcp", "95FF-2EF5-5EA3", "", google, 1),
        ):
            regions = [region] if region else []
            (found,) = fetch_feed(store, feed_named(name), fetcher, regions=regions, services=[service], url=url)
            assert found.ingested.stored == stored
            with pytest.raises(InputError, match="no rule for the service 'Tea'") as caught:
                fetch_feed(store, feed_named(name), fetcher, regions=["x"], services=["Tea"], url=url)
            assert service in (caught.value.help or "")
        with pytest.raises(InputError, match="has no services"):
            fetch_feed(store, feed_named("oci"), fetcher, services=["AmazonS3"], url=server.url)


def test_meters_are_of_products_that_bills_know() -> None:
    """Every meter's price key is one of bill lines, or for information; its source is in the catalogue."""
    with (assets.root() / "catalog" / "service_meters.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    with (assets.root() / "catalog" / "skus.csv").open(encoding="utf-8", newline="") as lines:
        known = {entry["sku"]: (entry["unit"], entry["charge"]) for entry in csv.DictReader(lines)}
    assert {entry["source"] for entry in rows} <= load().sources.keys()
    for entry in rows:
        if entry["charge"] != "metered":
            assert (entry["unit"], entry["charge"]) == known[entry["sku"]]
    assert sum(len(meters(provider)) for provider in ("aws", "azure", "gcp")) == len(rows)
