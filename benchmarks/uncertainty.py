"""How long draws of the assumptions take: `python benchmarks/uncertainty.py [DRAWS]`. Six options over 60 months."""

import resource
import sys
import time

from clusterwright.facility.bill import Bill, BillLine
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.drawing import drawn
from clusterwright.tco.engine import Ledger
from clusterwright.tco.records import Candidate, Economics
from clusterwright.tco.uncertainty import latin_hypercube, uncertain_inputs

DRAWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
OPTIONS = 6


def _candidate(number: int) -> Candidate:
    owned = number < OPTIONS // 2
    line = BillLine(
        sku=f"part/{number}",
        item="part",
        category="compute",
        quantity=16.0,
        unit="each",
        charge="once" if owned else "hourly",
        scales_with="cluster" if owned else "nodes",
    )
    bill = Bill(target="onprem" if owned else "cloud", lines=(line,), it_power_w=163e3 if owned else None)
    return Candidate(key=f"option/{number}", target=bill.target, bill=bill, nodes=16, gpus=128, calendar_days=30.0)


book = PriceBook.open()
prices = tuple((f"part/{number}", 350e3 if number < OPTIONS // 2 else 50.0) for number in range(OPTIONS))
started = time.perf_counter()
ledger = Ledger(
    [_candidate(number) for number in range(OPTIONS)], Economics(horizon_months=60.0, overrides=prices), book
)
months = {row.month for row in ledger.cash_flow_rows()}
inputs = uncertain_inputs(ledger.parameters, utilisation=0.8)
found = drawn(ledger, latin_hypercube(inputs, DRAWS))
taken = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(f"{DRAWS:,} draws of {len(inputs)} inputs, {len(found.options)} options, {max(months):g} months:")
print(f"{taken:.2f} s with the cash flow, {peak:.2f} GB at most")
