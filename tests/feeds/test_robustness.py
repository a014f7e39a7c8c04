"""Every feed: twice is once, cut anywhere is reported, other encodings are reported, and garbage takes no memory."""

import datetime as dt
import json
import os
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="the extra feeds is not installed")
pytest.importorskip("ijson", reason="the extra feeds is not installed")

from clusterwright.errors import ClusterwrightError
from clusterwright.feeds.download import FeedError, Fetcher, Manners, Request
from clusterwright.feeds.fetch import feed_named, read_files
from clusterwright.pricing.store import PriceStore

from .offer_documents import row, write_csv, write_json
from .server import Answer, serving
from .test_aws import _block, _plans, _spot
from .test_azure import ITEM
from .test_gcp import CORE, GPU, RAM, SSD
from .test_markets import HEADER, _oci, _pod

AT = dt.datetime(2026, 10, 2, tzinfo=dt.UTC)
OFFER = [
    row("21.957642"),
    row(
        "13.9",
        termType="Reserved",
        offerTermCode="A",
        LeaseContractLength="1yr",
        PurchaseOption="No Upfront",
        OfferingClass="standard",
    ),
]
LAMBDA = {"data": {"gpu_8x_h100_sxm5": {"instance_type": {"name": "gpu_8x_h100_sxm5", "price_cents_per_hour": 2392}}}}
SKYPILOT = HEADER + "p5.48xlarge,H100,8.0,192.0,2048.0,55.04,us-east-1,x,19.7,us-east-1a\n"
#: A small document of each feed by the name of its file, and how many prices are in it.
DOCUMENTS: tuple[tuple[str, str, Any, int], ...] = (
    ("aws", "offer.csv", OFFER, 2),
    ("aws", "offer.json", OFFER, 2),
    ("aws-savings-plans", "plans.json", _plans(), 2),
    ("aws-spot", "spot.json", {"SpotPriceHistory": [_spot()], "NextToken": ""}, 1),
    ("aws-capacity-blocks", "blocks.json", {"CapacityBlockOfferings": [_block()]}, 1),
    ("azure", "page.json", {"Items": [ITEM], "NextPageLink": None, "Count": 1}, 1),
    ("gcp", "skus.json", {"skus": [CORE, RAM, GPU, SSD], "nextPageToken": ""}, 4),
    ("oci", "list.json", {"items": [_oci("H100", 10.0)]}, 1),
    ("lambda", "types.json", LAMBDA, 1),
    ("runpod", "pods.json", {"data": {"gpuTypes": [_pod("NVIDIA H100 80GB HBM3")]}}, 2),
    ("skypilot", "aws.csv", SKYPILOT, 2),
)


def _written(folder: Path, name: str, document: Any) -> Path:  # noqa: ANN401 - any form
    path = folder / name
    if document is OFFER:
        return write_csv(path, OFFER) if name.endswith(".csv") else write_json(path, OFFER)
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path, int]]:
    """One document of each feed on disk."""
    folder = tmp_path_factory.mktemp("documents")
    return [(feed, _written(folder, name, document), count) for feed, name, document, count in DOCUMENTS]


def test_twice_is_once_for_every_feed(tmp_path: Path, documents: list[tuple[str, Path, int]]) -> None:
    """The same documents again, and the same prices in a document of other bytes, add nothing on the same day."""
    with PriceStore.open(tmp_path / "prices.duckdb") as store:

        def everything() -> list[tuple[Any, ...]]:
            tables = ("observation", "quarantine", "warning", "document", "ingest")
            return [store.connection.table(table).count("*").fetchall()[0] for table in tables]

        known = row("55.04", sku="3D4V8UAYEMB38GU2", instanceType="p5.48xlarge", regionCode="us-west-1")
        read_files(store, feed_named("aws"), [write_csv(tmp_path / "known.csv", [known])], at=AT)
        for feed, path, count in documents:
            (found,) = read_files(store, feed_named(feed), [path], at=AT)
            assert found.ingested.read >= count, feed
            assert found.ingested.stored == (0 if path.name == "offer.json" else count), feed
        first = everything()
        for feed, path, _ in documents:
            (again,) = read_files(store, feed_named(feed), [path], at=AT)
            assert (again.ingested.known, again.ingested.stored) == (True, 0), feed
        assert everything() == first
        for feed, path, count in documents:
            other = tmp_path / path.name
            other.write_bytes(path.read_bytes() + b"\n")
            (again,) = read_files(store, feed_named(feed), [other], at=AT)
            assert (again.ingested.known, again.ingested.stored) == (False, 0), feed
            assert again.ingested.repeated >= count, feed
        assert everything()[:3] == first[:3]


def _cuts(content: bytes) -> Iterator[int]:
    """Yield the places of a document where its structure is open: behind each bracket, colon, comma and quote."""
    for place, byte in enumerate(content):
        if byte in b'{}[]:,"' and place + 1 < len(content.rstrip()):
            yield place + 1


def test_a_cut_anywhere_is_reported(tmp_path: Path, documents: list[tuple[str, Path, int]]) -> None:
    """JSON that ends at any place of its structure is refused before anything is stored, and never by a traceback."""
    tried = 0
    for feed, path, _ in documents:
        if path.suffix != ".json":
            continue
        content = path.read_bytes()
        cuts = list(_cuts(content))
        for cut in [*cuts[:40], *cuts[40::7], len(content.rstrip()) - 1]:
            short = tmp_path / path.name
            short.write_bytes(content[:cut])
            with pytest.raises(FeedError):
                feed_named(feed).read([short], tmp_path)
            tried += 1
    assert tried > 500


def test_an_offer_file_cut_in_its_last_line_is_reported(tmp_path: Path) -> None:
    """A CSV of AWS that ends within a line is refused wherever the line ends."""
    content = write_csv(tmp_path / "whole.csv", OFFER).read_bytes().rstrip(b"\n")
    last = len(content) - content.rindex(b"\n") - 1
    for cut in (*range(1, 30), *range(30, last, 60), last - 1):
        path = tmp_path / "cut.csv"
        path.write_bytes(content[:-cut])
        with pytest.raises(FeedError, match="breaks off"):
            feed_named("aws").read([path], tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_other_encodings_are_reported_with_advice(
    tmp_path: Path, documents: list[tuple[str, Path, int]], encoding: str
) -> None:
    """UTF-16, with and without a mark, and Windows' code pages: what it is, and how to make UTF-8 of it."""
    for feed, path, _ in documents:
        text = path.read_text(encoding="utf-8").replace("us-east-1", "us-east-1é", 1).replace("H100", "H100é", 1)
        if "é" not in text:
            text = text.replace('": "', '": "é', 1)
        other = tmp_path / path.name
        other.write_bytes(text.encode(encoding))
        with pytest.raises(FeedError) as caught:
            feed_named(feed).read([other], tmp_path)
        assert "is not UTF-8" in caught.value.message, (feed, caught.value.message)
        assert "iconv" in (caught.value.help or "")


def test_a_mark_at_the_start_does_no_harm(tmp_path: Path, documents: list[tuple[str, Path, int]]) -> None:
    """A byte order mark of UTF-8, which spreadsheet programs write, changes nothing."""
    with PriceStore.open(tmp_path / "prices.duckdb") as store:
        for feed, path, _ in documents:
            if feed in ("aws", "azure", "skypilot"):
                marked = tmp_path / path.name
                marked.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
                if path.name != "offer.json":
                    (found,) = read_files(store, feed_named(feed), [marked], at=AT)
                    assert found.ingested.stored >= 1, feed


def _changed(path: Path, folder: Path, old: str, new: str) -> Path:
    text = path.read_text(encoding="utf-8")
    assert old in text, old
    changed = folder / path.name
    changed.write_text(text.replace(old, new), encoding="utf-8")
    return changed


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("offer.csv", '"Operating System"', '"OS"', "no column operatingsystem"),
        ("offer.csv", '"PricePerUnit"', '"Price"', "no column priceperunit"),
        ("offer.json", '"priceDimensions"', '"dimensions"', "not the document that AWS gives"),
        ("offer.json", '"attributes"', '"properties"', "not the document that AWS gives"),
        ("page.json", '"armSkuName"', '"skuSize"', "Items without armSkuName"),
        ("page.json", '"retailPrice"', '"price"', "Items without retailPrice"),
        ("page.json", '"Items"', '"items"', "no list 'Items'"),
        ("skus.json", '"pricingInfo"', '"pricing"', "skus without pricingInfo"),
        ("spot.json", '"SpotPrice"', '"Price"', "without SpotPrice"),
        ("blocks.json", '"UpfrontFee"', '"Fee"', "without UpfrontFee"),
        ("list.json", '"metricName"', '"metric"', "without metricName"),
        ("types.json", '"data"', '"types"', "is not what"),
        ("aws.csv", "Price,Region", "Cost,Region", "is not what skypilot-aws gives"),
    ],
)
def test_a_changed_form_is_reported(  # noqa: PLR0917 - one row of the table
    tmp_path: Path, documents: list[tuple[str, Path, int]], name: str, old: str, new: str, said: str
) -> None:
    """A column or field that is renamed is named, and nothing is stored: not read as a list without prices."""
    feed, path = next((feed, path) for feed, path, _ in documents if path.name == name)
    changed = _changed(path, tmp_path, old, new)
    with (
        PriceStore.open(tmp_path / "prices.duckdb") as store,
        pytest.raises(FeedError, match=said),
    ):
        read_files(store, feed_named(feed), [changed], at=AT)


def test_new_columns_line_breaks_and_other_order_do_no_harm(tmp_path: Path) -> None:
    """Columns that are new, cells with line breaks and quotes, and cells without quotes are read as ever."""
    whole = write_csv(tmp_path / "whole.csv", OFFER).read_text(encoding="utf-8")
    head, _, body = whole.partition('"SKU"')
    lines = [f'"SKU"{body}'.splitlines()[0], *f'"SKU"{body}'.splitlines()[1:]]
    broken = '"He said ""p5.48xlarge""\nand left","'
    forms = {
        "new": head + "\n".join([f'"Brand new",{lines[0]}', *(f'"",{line}' for line in lines[1:])]) + "\n",
        "breaks": head
        + "\n".join([f'"Note","Other",{lines[0]}', *(broken + f'",{line}' for line in lines[1:])])
        + "\n",
        "plain": whole.replace('"', "").replace("US East (N. Virginia)", "US East").replace("\n", "\r\n"),
    }
    for number, (name, text) in enumerate(forms.items()):
        path = tmp_path / f"{name}.csv"
        path.write_text(text, encoding="utf-8", newline="")
        with PriceStore.open(tmp_path / f"{number}.duckdb") as store:
            (found,) = read_files(store, feed_named("aws"), [path], at=AT)
        assert (found.ingested.stored, found.ingested.quarantined) == (2, 0), name


@pytest.mark.parametrize(
    ("feed", "content"),
    [
        ("aws", b"\0" * 3_000_000),
        ("aws", b"a" * 3_000_000),
        ("aws", b"a,b\n" * 500_000),
        ("aws", os.urandom(300_000)),
        ("aws", b"{" * 2_000_000),
        ("aws", b'{"products": ' + b"[" * 2_000_000),
        ("azure", b"[" * 2_000_000),
        ("azure", os.urandom(300_000)),
        ("skypilot", os.urandom(300_000)),
        ("skypilot", b"a" * 3_000_000),
    ],
)
def test_garbage_is_refused(tmp_path: Path, feed: str, content: bytes) -> None:
    """Noise, one endless line, brackets without end: one message each."""
    path = tmp_path / ("aws.json" if feed == "azure" or content.startswith(b"{") else "aws.csv")
    path.write_bytes(content)
    with PriceStore.open(tmp_path / "prices.duckdb") as store, pytest.raises(ClusterwrightError):
        read_files(store, feed_named(feed), [path], at=AT)


def test_files_too_large_for_memory_are_not_read(tmp_path: Path) -> None:
    """A page or a list of quotes of gigabytes is refused by its size, without a look inside."""
    path = tmp_path / "page.json"
    path.touch()
    os.truncate(path, 5 * 2**30)
    with pytest.raises(FeedError, match="larger than 256 MiB"):
        feed_named("azure").read([path], tmp_path)


def test_a_stream_without_end_takes_no_memory(tmp_path: Path) -> None:
    """A server that never ends is cut off at the limit, and what came is gone; memory stays small."""
    endless = Answer(body=b"[" + b"1," * 10_000_000, say_length=False)
    with (
        serving(lambda _asked: endless) as server,
        Fetcher(manners=Manners(pause_s=0.0, most_bytes=10_000_000), sleep=lambda _: None) as fetcher,
    ):
        tracemalloc.start()
        try:
            with pytest.raises(FeedError, match="larger than"):
                fetcher.fetch(Request(url=server.url, kind="json"), tmp_path / "list")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 4_000_000
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_while_a_document_is_read(tmp_path: Path) -> None:
    """No room for what is taken out of a document: the reason, exit code 3, no traceback, and the store as it was."""
    path = write_csv(tmp_path / "offer.csv", [row("21.9", regionCode=f"us-east-{n}") for n in range(1, 3000)])
    store = tmp_path / "prices.duckdb"
    PriceStore.open(store).close()

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            "import signal as s; s.signal(s.SIGXFSZ, s.SIG_IGN); from clusterwright.cli.main import run; run()",
            "prices",
            "fetch",
            "aws",
            "--from",
            path,
            "--store",
            store,
        ],
        preexec_fn=small_files,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode in (2, 3), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "help:" in ended.stderr
    with PriceStore.open(store) as opened:
        assert opened.connection.table("ingest").count("*").fetchall() == [(0,)]
