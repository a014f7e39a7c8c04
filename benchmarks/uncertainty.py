"""How long draws of the assumptions take: `python benchmarks/uncertainty.py [DRAWS]`. Six options over 60 months.

Three options are bought, two are rented by the hour and one is committed for three years. Rental prices follow paths
from the shipped price history, and everything is counted before and after tax.
"""

import resource
import sys
import time

from clusterwright.catalog.load import load
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import gpu_products
from clusterwright.tco.chance.drawing import simulate
from clusterwright.tco.chance.price_paths import PathDraws, PathRule, market_histories
from clusterwright.tco.chance.uncertainty import latin_hypercube, uncertain_inputs
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.taxes.after_tax import Taxes
from clusterwright.tco.terms.records import Candidate, Economics

DRAWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
OPTIONS = 6
OWNED = 3
ACCELERATOR = "h100-sxm-80gb"
PRICES = (("dgx-h100", 350e3), ("aws/p5.48xlarge", 55.04))


def _candidate(number: int) -> Candidate:
    owned = number < OWNED
    line = BillLine(
        sku="dgx-h100" if owned else "aws/p5.48xlarge",
        item="node",
        category="compute",
        quantity=16.0,
        unit="each",
        charge="once" if owned else "hourly",
        scales_with="cluster" if owned else "nodes",
        region="" if owned else "us-east-1",
    )
    bill = Bill(target="onprem" if owned else "aws", lines=(line,), it_power_w=163e3 if owned else None)
    return Candidate(
        key=f"option/{number}",
        target=bill.target,
        bill=bill,
        nodes=16,
        gpus=128,
        calendar_days=30.0,
        term="reserved_3y" if number == OPTIONS - 1 else None,
    )


book = PriceBook.open()
started, at_work = time.perf_counter(), time.process_time()
economics = Economics(horizon_months=60.0, overrides=PRICES)
ledger = Ledger([_candidate(number) for number in range(OPTIONS)], economics, book)
months = {row.month for row in ledger.cash_flow_rows()}
inputs = uncertain_inputs(ledger.parameters, utilisation=0.8)
markets = market_histories(book, gpu_products(load()), (ACCELERATOR,), ledger.as_of)
if not markets:
    raise SystemExit("the shipped price history is too short")
keys = [candidate.key for candidate in ledger.candidates]
paths = PathDraws(
    markets=markets, accelerators=dict.fromkeys(keys, ACCELERATOR), rule=PathRule(), months=60, draws=DRAWS, seed=1
)
ends = paths.end_levels()[ACCELERATOR]
columns = latin_hypercube(inputs, DRAWS, rent_levels=dict.fromkeys(keys[:OWNED], ends))
found = simulate(ledger, columns, taxes=Taxes(tax_rate=0.21, depreciation=(0.2,) * 5), paths=paths, breakevens=True)
taken, at_work = time.perf_counter() - started, time.process_time() - at_work
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(
    f"{DRAWS:,} draws of {len(inputs)} inputs and a price path, {len(found.options)} options, {max(months):g} months:"
)
print(f"{taken:.2f} s ({at_work:.2f} s of processor) with the cash flow, {peak:.2f} GB at most")
