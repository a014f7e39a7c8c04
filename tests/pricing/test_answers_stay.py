"""What was answered as of a day is answered again, whatever is learnt later: every question, on made-up stores."""

import datetime as dt
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterwright.cli.prices.questions import QUERIES
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.gpu_products import GpuProduct
from clusterwright.pricing.records import PriceRequest
from clusterwright.pricing.statements import statement
from clusterwright.pricing.store import PriceStore

_DAY = dt.date(2031, 3, 10)
_PRODUCTS = tuple(
    GpuProduct(
        sku=sku,
        provider=sku.partition("/")[0],
        accelerator="chip",
        gpus=8,
        terms=("on_demand", "spot"),
        dense_bf16_flop_per_s_per_gpu=1e15,
        dense_fp8_flop_per_s_per_gpu=None,
        hbm_bytes_per_gpu=80e9,
    )
    for sku in ("one/x", "two/x")
)
_ASKED: dict[str, Any] = {
    "as_of": _DAY,
    "term": "",
    "region": "",
    "least_changes": 1,
    "clouds": ["one"],
    "kind": "",
    "items": [{"sku": "one/disk", "category": "storage", "item": "A disk"}],
    "provider": "",
    "from_month": dt.date(2031, 2, 1),
    "to_month": dt.date(2031, 4, 1),
    "utilisation": 0.5,
    "hours_per_month": 730.0,
    "committed_terms": ["reserved_1y"],
    "owned": [
        {"accelerator": "chip", "system": "s", "purchase_usd_per_gpu": 3e4, "running_usd_per_gpu_hour": 0.5},
    ],
}
_QUESTIONS = {
    "gpu_price_in_force": {},
    "gpu_price_change": {},
    "discount_over_time": {},
    "price_volatility": {},
    "market_index": {"term": "on_demand"},
    "price_of_month": {},
    "price_extremes_of_month": {},
    "service_price": {},
    "breakeven": {},
    "price_coverage": {},
}

_days = st.dates(dt.date(2031, 1, 1), dt.date(2031, 4, 30))
_prices = st.lists(
    st.tuples(
        st.sampled_from(["one/x", "two/x", "one/disk"]),
        st.sampled_from(["", "here"]),
        st.sampled_from(["", "here-1"]),
        st.sampled_from(["on_demand", "spot", "reserved_1y"]),
        st.sampled_from([0.0, 10_000.0]),
        st.floats(1, 100).map(lambda usd: round(usd, 2)),
        _days,
        _days,
    ),
    min_size=10,
    max_size=40,
)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prices=_prices)
def test_later_data_never_changes_an_answer(tmp_path: Path, prices: list[tuple[Any, ...]]) -> None:
    """A store up to the day and one with all that came afterwards give the same rows, to the last column."""
    known = [price for price in prices if price[7] <= _DAY]
    answers = [_answers(tmp_path / f"{number}.duckdb", rows) for number, rows in enumerate((known, prices))]
    assert answers[0] == answers[1]


def test_a_price_of_the_day_does_change_answers(tmp_path: Path) -> None:
    """The property can fail: one more price of the day itself is another answer to every question of its product."""
    first = ("one/x", "here", "", "on_demand", 0.0, 50.0, dt.date(2031, 3, 1), dt.date(2031, 3, 1))
    second = (*first[:5], 40.0, _DAY, _DAY)
    one, two = (_answers(tmp_path / f"{len(rows)}.duckdb", rows) for rows in ([first], [first, second]))
    changed = {name for name in one if one[name] != two[name]}
    assert changed >= {"gpu_price_in_force", "gpu_price_change", "market_index", "price_of_month", "breakeven"}


def _answers(path: Path, prices: list[tuple[Any, ...]]) -> dict[str, Any]:
    path.unlink(missing_ok=True)
    with PriceStore.open(path) as store:
        for sku, region, zone, term, tier, usd, effective_from, observed_on in prices:
            store.connection.execute(
                "insert into observation by name select 1 as ingest_id, 'f' as feed, $sku as sku, '' as provider,"
                " $region as region, $zone as zone, '' as provider_sku, '' as instance_type, '' as gpu,"
                " null as gpu_count, $term as term, '' as payment, $charge as charge, 'node' as unit,"
                " $tier as tier_start, 'USD' as currency, $usd as amount, 1.0 as usd_per_currency, $usd as usd,"
                " $effective_from as effective_from, null as effective_to, $observed_on as observed_on,"
                " 's' as source, '' as locator, 'high' as confidence, '' as note",
                {
                    "sku": sku,
                    "region": region,
                    "zone": zone,
                    "term": term,
                    "tier": tier,
                    "usd": usd,
                    "charge": "monthly" if sku == "one/disk" else "hourly",
                    "effective_from": effective_from,
                    "observed_on": observed_on,
                },
            )
    book = PriceBook.open(store=path)
    try:
        found: dict[str, Any] = {
            name: book.query(f"pricing/sql/{name}.sql", _ASKED | more, products=_PRODUCTS)
            for name, more in _QUESTIONS.items()
        }
        requests = [
            PriceRequest(sku=sku, region=region, term="on_demand")
            for sku in ("one/x", "one/disk")
            for region in ("", "here")
        ]
        found["in_force"] = book.in_force(requests, _DAY)
    finally:
        book.close()
    return found


def test_every_question_is_asked() -> None:
    """A statement of the command line that takes a day stands in the list above."""
    dated = {Path(query.path).stem for query in QUERIES.values() if "$as_of" in statement(query.path)}
    assert dated == set(_QUESTIONS)
