"""How long reading providers' documents into a price store takes, and how much memory, beside the bare work.

Documents are made in the real forms: an offer file of AWS (CSV), one in JSON, and pages of Azure. Each is read in a
process of its own, so that its memory is its own; seconds are of the processor.
Run: python benchmarks/price_ingest.py [ROWS_OF_CSV [MB_OF_JSON]]
"""

import csv
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

AZURE_ITEMS, AZURE_PAGE = 130_000, 1_000
_COLUMNS = (
    "SKU",
    "OfferTermCode",
    "RateCode",
    "TermType",
    "PriceDescription",
    "EffectiveDate",
    "Unit",
    "PricePerUnit",
    "Currency",
    "Region Code",
    "Location Type",
    "Instance Type",
    "Operating System",
    "Tenancy",
    "Pre Installed S/W",
    "CapacityStatus",
    "MarketOption",
    "operation",
)
#: Columns that nobody reads; with them a row has the 780 bytes of the real file.
_OTHERS = 72


def offer_csv(path: Path, rows: int) -> None:
    """Write an offer file in which one row in a thousand is the price of a GPU instance."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write('"FormatVersion","v1.0"\n"Disclaimer","x"\n"Publication Date","2026-10-01"\n')
        file.write('"Version","1"\n"OfferCode","AmazonEC2"\n')
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow((*_COLUMNS, *(f"Other {number}" for number in range(_OTHERS))))
        filling = ("NA 1234",) * 36 + ("",) * 36
        for number in range(rows):
            gpu = number % 1000 == 0
            writer.writerow(
                (
                    f"SKU{number:012d}",
                    "JRTCKXETXF",
                    f"SKU{number:012d}.JRTCKXETXF.6YS6EN2CT7",
                    "OnDemand",
                    f"per hour of {number}",
                    "2026-10-01",
                    "Hrs",
                    f"{50 + number % 7}.0400000000",
                    "USD",
                    f"us-east-{number}",
                    "AWS Region",
                    "p5.48xlarge" if gpu else "m5.large",
                    "Linux",
                    "Shared",
                    "NA",
                    "Used",
                    "OnDemand",
                    "RunInstances",
                    *filling,
                )
            )


def offer_json(path: Path, megabytes: int) -> None:
    """Write an offer file in JSON of a size, products first."""
    attributes = {
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "locationType": "AWS Region",
        "operation": "RunInstances",
        "filling": "x" * 900,
    }
    count = megabytes * 1_000_000 // 1_750
    with path.open("w", encoding="utf-8") as file:
        file.write('{"formatVersion": "v1.0", "products": {')
        for number in range(count):
            gpu = number % 1000 == 0
            product = {
                "sku": f"S{number}",
                "attributes": attributes
                | {"instanceType": "p5.48xlarge" if gpu else "m5.large", "regionCode": f"us-east-{number}"},
            }
            file.write(f'{"," if number else ""}"S{number}": {json.dumps(product)}')
        file.write('}, "terms": {"OnDemand": {')
        for number in range(count):
            dimension = {"unit": "Hrs", "pricePerUnit": {"USD": "55.04"}, "description": "y" * 300}
            term = {f"S{number}.J": {"effectiveDate": "2026-10-01", "priceDimensions": {f"S{number}.J.6": dimension}}}
            file.write(f'{"," if number else ""}"S{number}": {json.dumps(term)}')
        file.write("}}}")


def azure_pages(folder: Path) -> list[Path]:
    """Write the pages of Azure's list of virtual machines, of which one item in fifty is of a GPU size."""
    paths = []
    for page in range(AZURE_ITEMS // AZURE_PAGE):
        items = [
            {
                "currencyCode": "USD",
                "tierMinimumUnits": 0.0,
                "retailPrice": 90.0,
                "unitPrice": 90.0,
                "armRegionName": f"region{page}x{number}",
                "location": "US East",
                "meterName": "M",
                "skuName": "M",
                "effectiveStartDate": "2023-08-01T00:00:00Z",
                "meterId": f"{page}-{number}",
                "productId": "DZH318Z0",
                "productName": "Virtual Machines",
                "serviceName": "Virtual Machines",
                "serviceId": "DZH313Z7BMC8",
                "serviceFamily": "Compute",
                "unitOfMeasure": "1 Hour",
                "type": "Consumption",
                "isPrimaryMeterRegion": True,
                "armSkuName": "Standard_ND96isr_H100_v5" if number % 50 == 0 else "Standard_D2s_v5",
            }
            for number in range(AZURE_PAGE)
        ]
        path = folder / f"page-{page:03d}.json"
        path.write_text(json.dumps({"Items": items, "NextPageLink": None, "Count": len(items)}), encoding="utf-8")
        paths.append(path)
    return paths


def read(feed: str, paths: list[Path], store: Path) -> int:
    """Read documents into a store and return the prices that were stored."""
    import datetime as dt  # noqa: PLC0415 - loaded in the process that is measured

    from clusterwright.feeds.fetch import feed_named, read_files  # noqa: PLC0415
    from clusterwright.pricing.store import PriceStore  # noqa: PLC0415

    with PriceStore.open(store) as opened:
        (found,) = read_files(opened, feed_named(feed), paths, at=dt.datetime.now(dt.UTC))
    return found.ingested.stored


#: What the rule asks of machines, put to DuckDB as anybody would: one query over the file, its columns as text.
_BARE = """
select
    "SKU", "RateCode", "Instance Type", "Region Code", "Currency", "EffectiveDate",
    cast("PricePerUnit" as double) as usd
from read_csv($file, skip = 5, header = true, all_varchar = true, delim = ',', quote = '"', escape = '"')
where "Instance Type" in (select unnest($types)) and "TermType" = 'OnDemand' and "Unit" = 'Hrs'
    and "Operating System" = 'Linux' and "Tenancy" = 'Shared' and "Pre Installed S/W" = 'NA'
    and "CapacityStatus" = 'Used' and "MarketOption" = 'OnDemand' and "Location Type" = 'AWS Region'
    and "operation" = 'RunInstances'
"""


def bare(path: Path) -> int:
    """Run the query of a filter over an offer file and nothing else."""
    import duckdb  # noqa: PLC0415

    from clusterwright.feeds.reading import wanted_instances  # noqa: PLC0415

    types = [entry["instance_type"] for entry in wanted_instances("aws")]
    return len(duckdb.execute(_BARE, {"file": str(path), "types": types}).fetchall())


def measured(work: Callable[..., int], *arguments: object) -> tuple[int, float, float]:
    """Return (result, seconds of the processor, MB at the peak) of work in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_timed, (work, arguments))


def _timed(work: Callable[..., int], arguments: tuple[object, ...]) -> tuple[int, float, float]:
    began = time.process_time()
    found = work(*arguments)
    return found, time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Make the documents and print what reading them takes."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 450  # noqa: PLR2004 - the second argument
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        offer = folder / "offer.csv"
        offer_csv(offer, rows)
        size = offer.stat().st_size / 1e6
        for name, work, arguments in (
            ("bare query", bare, (offer,)),
            ("to the store", read, ("aws", [offer], folder / "csv.duckdb")),
        ):
            found, seconds, peak = measured(work, *arguments)
            named = f"offer CSV, {rows:,} rows, {size:,.0f} MB, {name}"
            print(f"{named}: {found:,} prices, {seconds:.2f} s, {peak:,.0f} MB")
        offer.unlink()
        document = folder / "offer.json"
        offer_json(document, megabytes)
        found, seconds, peak = measured(read, "aws", [document], folder / "json.duckdb")
        size = document.stat().st_size / 1e6
        print(f"offer JSON, {size:,.0f} MB: {found:,} prices, {seconds:.2f} s, {peak:,.0f} MB")
        document.unlink()
        pages = azure_pages(folder)
        found, seconds, peak = measured(read, "azure", pages, folder / "azure.duckdb")
        print(f"Azure, {AZURE_ITEMS:,} items in {len(pages)} pages: {found:,} prices, {seconds:.2f} s, {peak:,.0f} MB")


if __name__ == "__main__":
    main()
