"""How long a large FOCUS export takes to read, and how much memory: rows by the hour of a cluster of GPU nodes.

    python benchmarks/focus_export.py [ROWS]

Writes a CSV file of the form that AWS exports (half a million rows, 0.2 GB by default) to a temporary folder, reads it
as `clusterwright actual` does, and prints seconds of the clock and of the processor, and the peak of memory.
"""

import csv
import datetime as dt
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from clusterwright.tco.focus.export import read_focus

NAME = "benchmark"
NODES = 48
HEADER = (
    "BilledCost",
    "BillingAccountId",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ContractedCost",
    "ContractedUnitPrice",
    "EffectiveCost",
    "ListCost",
    "ListUnitPrice",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "RegionId",
    "ResourceId",
    "ServiceName",
    "SkuId",
    "SkuMeter",
    "SubAccountId",
    "Tags",
)


def write(path: Path, rows: int) -> None:
    """Write an export: every hour 48 tagged nodes and four machines of others."""
    begin = dt.datetime(2026, 1, 1)  # noqa: DTZ001 - written with Z
    mine = json.dumps({"user:gpu-cluster": NAME, "user:layer": "nodes"})
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(HEADER)
        for number in range(rows):
            hour, place = divmod(number, NODES + 4)
            start = begin + dt.timedelta(hours=hour)
            end = start + dt.timedelta(hours=1)
            machine = "p5.48xlarge" if place < NODES else "m7i.large"
            writer.writerow(
                (
                    "50",
                    "1",
                    "USD",
                    "",
                    f"{start:%Y-%m-01T00:00:00Z}",
                    "Usage",
                    "",
                    f"{machine} hour",
                    f"{end:%Y-%m-%dT%H:%M:%SZ}",
                    f"{start:%Y-%m-%dT%H:%M:%SZ}",
                    "50",
                    "50",
                    "50",
                    "55.04",
                    "55.04",
                    "Standard",
                    "1",
                    "Hrs",
                    "AWS",
                    "us-east-1",
                    f"i-{place}",
                    "Amazon Elastic Compute Cloud",
                    "X",
                    f"USE1-BoxUsage:{machine}",
                    "2",
                    mine if place < NODES else "",
                )
            )


def main() -> None:
    """Write, read, print."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.csv"
        write(path, rows)
        size = path.stat().st_size
        clock, processor = time.perf_counter(), time.process_time()
        found = read_focus([path], tag="gpu-cluster", value=NAME, cost="effective")
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{rows:,} rows, {size / 1e6:,.0f} MB: {clock:.1f} s, {processor:.1f} s of the processor, {peak:,.0f} MB; "
        f"{found.groups[0].charges:,} charges in {len(found.groups)} groups"
    )


if __name__ == "__main__":
    main()
