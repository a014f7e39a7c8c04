"""Oracle's list, Lambda, RunPod and SkyPilot's catalogues in their real forms, with their traps."""

import csv
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.errors import ClusterwrightError
from clusterwright.feeds.download import FeedError, Fetcher, Manners
from clusterwright.feeds.fetch import FEEDS, Fetched, feed_named, fetch_feed, read_files
from clusterwright.feeds.markets import names_of
from clusterwright.pricing.store import PriceStore

from .server import Answer, Asked, serving

_STORED = "select sku, region, zone, term, unit, usd from observation order by all"


def _read(feed: str, path: Path, document: object) -> tuple[Fetched, list[tuple[Any, ...]]]:
    path.parent.mkdir(exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    with PriceStore.open(path.parent / "prices.duckdb") as store:
        (found,) = read_files(store, feed_named(feed), [path], at=dt.datetime(2026, 10, 2, tzinfo=dt.UTC))
        return found, store.connection.execute(_STORED).fetchall()


def _oci(name: str, usd: float, part: str = "B98415", metric: str = "GPU Per Hour", **price: object) -> dict[str, Any]:
    prices = [{"model": "PAY_AS_YOU_GO", "value": usd} | price]
    return {
        "partNumber": part,
        "displayName": f"Oracle Cloud Infrastructure - Compute - GPU - {name}",
        "metricName": metric,
        "serviceCategory": "Compute - GPU",
        "currencyCodeLocalizations": [{"currencyCode": "USD", "prices": prices}],
    }


def test_oracle_names_prices_per_gpu(tmp_path: Path) -> None:
    """Only part numbers that are known are read: H100T, Cloud@Customer and other meters are other products."""
    items = [
        _oci("H100", 10.0),
        _oci("MI300X", 6.0, part="B109485"),
        _oci("H200", 3.0, part="B110519", metric="Node Per Hour"),
        _oci("B200", 14.0, part="B110978", model="MONTHLY_COMMIT"),
        _oci("H100T", 10.75, part="B112"),
        {**_oci("H100", 12.0, part="B95999"), "displayName": "Oracle Compute Cloud@Customer - Compute - GPU - H100"},
    ]
    found, stored = _read("oci", tmp_path / "list.json", {"lastUpdated": "2026-10-01", "items": items})
    assert stored == [
        ("oci/B109485", "", "", "on_demand", "GPU", 6.0),
        ("oci/B98415", "", "", "on_demand", "GPU", 10.0),
    ]
    assert found.ingested.quarantined == 0


def test_lambda_names_cents_per_instance(tmp_path: Path) -> None:
    """A price in cents of a whole instance; types that nobody knows are left out."""
    types = {
        "gpu_8x_h100_sxm5": {
            "instance_type": {
                "name": "gpu_8x_h100_sxm5",
                "description": "8x H100 (80 GB SXM5)",
                "price_cents_per_hour": 2392,
                "specs": {"vcpus": 208, "memory_gib": 1800, "storage_gib": 22528, "gpus": 8},
            },
            "regions_with_capacity_available": [{"name": "us-west-3", "description": "Utah"}],
        },
        "cpu_4x": {"instance_type": {"name": "cpu_4x", "price_cents_per_hour": 12}},
    }
    _, stored = _read("lambda", tmp_path / "types.json", {"data": types})
    assert stored == [("lambda/gpu_8x_h100_sxm_80gb", "", "", "on_demand", "node", 23.92)]


def _pod(name: str, **values: object) -> dict[str, object]:
    return {"id": name, "displayName": name, "secureCloud": True, "securePrice": 2.99, "secureSpotPrice": 1.75} | values


def test_runpod_names_prices_per_gpu(tmp_path: Path) -> None:
    """The secure cloud's prices; a type that is offered by strangers only has none."""
    pods = [_pod("NVIDIA H100 80GB HBM3"), _pod("NVIDIA B200", secureCloud=False), _pod("NVIDIA GeForce RTX 3090")]
    _, stored = _read("runpod", tmp_path / "pods.json", {"data": {"gpuTypes": pods}})
    assert stored == [
        ("runpod/h100-sxm", "", "", "on_demand", "GPU", 2.99),
        ("runpod/h100-sxm", "", "", "spot", "GPU", 1.75),
    ]


HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice,AvailabilityZone\n"
)


def test_skypilot_catalogue(tmp_path: Path) -> None:
    """One price per region, spot per zone; hosts and accelerators that stand alone are left out."""
    lines = (
        "p5.48xlarge,H100,8.0,192.0,2048.0,55.04,us-east-1,\"{'Gpus': [1]}\",19.7,us-east-1a\n"
        "p5.48xlarge,H100,8.0,192.0,2048.0,55.04,us-east-1,x,21.5,us-east-1b\n"
        "m7i.xlarge,,,4.0,16.0,0.2016,us-east-1,,0.08,us-east-1a\n"
        ",H100,8.0,,,45.0,us-east-1,x,,us-east-1a\n"
        "p5e.48xlarge,H200,8.0,192.0,2048.0,0.0,us-east-1,x,,us-east-1a\n"
    )
    found, stored = _read("skypilot", tmp_path / "aws" / "vms.csv", HEADER + lines)
    assert stored == [
        ("aws/p5.48xlarge", "us-east-1", "", "on_demand", "node", 55.04),
        ("aws/p5.48xlarge", "us-east-1", "us-east-1a", "spot", "node", 19.7),
        ("aws/p5.48xlarge", "us-east-1", "us-east-1b", "spot", "node", 21.5),
    ]
    assert found.ingested.by_gate == {"01_price_not_positive": 1}


@pytest.mark.parametrize(
    ("feed", "name", "text", "said"),
    [
        ("oci", "list.json", '{"items": []}', "is not what"),
        ("oci", "list.json", '{"products": [1]}', "no list 'items'"),
        ("lambda", "types.json", '{"error": {"code": "global/invalid-api-key"}}', "is not what"),
        ("lambda", "types.json", "[]", "is not what"),
        ("runpod", "pods.json", '{"errors": [{"message": "Unauthorized"}]}', "is not what"),
        ("runpod", "pods.json", '{"data": {"gpuTypes": [', "no whole JSON"),
        ("skypilot", "prices.csv", HEADER, "does not say whose"),
        ("skypilot", "aws.csv", "a,b\n1,2\n", "is not what skypilot-aws gives"),
        ("skypilot", "aws.csv", "", "is empty"),
    ],
)
def test_other_documents_are_refused(tmp_path: Path, feed: str, name: str, text: str, said: str) -> None:
    """An error answer, another format or an empty file is reported, never read as a list without prices."""
    with pytest.raises(ClusterwrightError, match=said):
        _read(feed, tmp_path / name, text)


def test_names_are_of_the_catalogue() -> None:
    """Every accelerator that a feed's name stands for is in the catalogue."""
    for feed in ("oci", "lambda", "runpod"):
        names = names_of(feed)
        assert names
        assert {entry["gpu"] for entry in names} <= load().accelerators.keys()
    for table in ("market_names.csv", "gcp_components.csv"):
        with (assets.root() / "catalog" / table).open(encoding="utf-8", newline="") as lines:
            sources = {row["source"] for row in csv.DictReader(lines)}
        assert sources <= load().sources.keys()


def test_lists_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle's by its address, RunPod's by a posted question with the key in a header, SkyPilot's by cloud."""
    monkeypatch.setenv("RUNPOD_API_KEY", "secret")
    catalogue = HEADER + "p5.48xlarge,H100,8.0,192.0,2048.0,55.04,us-east-1,x,,\n"

    def answer(asked: Asked) -> Answer:
        if asked.path.endswith("/aws/vms.csv"):
            return Answer(body=catalogue.encode(), headers={"Content-Type": "text/plain"})
        if asked.body:
            assert asked.headers["authorization"] == "Bearer secret"
            assert "gpuTypes" in json.loads(asked.body)["query"]
            return Answer(body=json.dumps({"data": {"gpuTypes": [_pod("NVIDIA H200")]}}).encode())
        assert asked.path.endswith("?currencyCode=USD")
        return Answer(body=json.dumps({"items": [_oci("H100", 10.0)]}).encode())

    with (
        serving(answer) as server,
        PriceStore.open(tmp_path / "prices.duckdb") as store,
        Fetcher(manners=Manners(pause_s=0.0)) as fetcher,
    ):
        for name, regions in (("oci", []), ("runpod", []), ("skypilot", ["aws"])):
            fetch_feed(store, feed_named(name), fetcher, url=server.url, regions=regions)
        with pytest.raises(FeedError, match="no catalogue of 'mars'"):
            fetch_feed(store, feed_named("skypilot"), fetcher, url=server.url, regions=["mars"])
        stored = store.connection.execute("select distinct sku from observation order by all").fetchall()
    assert stored == [("aws/p5.48xlarge",), ("oci/B98415",), ("runpod/h200",)]


def test_every_feed_is_listed() -> None:
    """What cannot be found names what can."""
    with pytest.raises(ClusterwrightError) as caught:
        feed_named("ibm")
    assert all(name in (caught.value.help or "") for name in FEEDS)
