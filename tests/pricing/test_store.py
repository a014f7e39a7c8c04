"""The price store: added to only, all or nothing, and every gate."""

import datetime as dt
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from clusterwright.errors import InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.ingest import Document, ingest
from clusterwright.pricing.lake import StoreError
from clusterwright.pricing.records import PriceRequest
from clusterwright.pricing.store import PriceStore

from .quotes import DAY, quote, read


@pytest.fixture
def store(tmp_path: Path) -> PriceStore:
    """A new store."""
    return PriceStore.open(tmp_path / "prices.duckdb")


def _count(store: PriceStore, table: str) -> int:
    return int(store.connection.table(table).count("*").fetchall()[0][0])


def test_twice_is_once(store: PriceStore, tmp_path: Path) -> None:
    """The same document read again adds nothing; the same prices in another document of the day neither."""
    first = read(store, tmp_path, quote(), quote(region="us-west-2"))
    again = read(store, tmp_path, quote(), quote(region="us-west-2"))
    other = read(store, tmp_path, quote(), quote(region="us-west-2"), quote(region="us-east-2"))
    assert (first.stored, again.stored, again.known, other.stored, other.repeated) == (2, 0, True, 1, 2)
    assert _count(store, "observation") == 3


def test_the_next_day_is_another_observation(store: PriceStore, tmp_path: Path) -> None:
    """An unchanged price seen on another day is stored again: it was still in force."""
    read(store, tmp_path, quote())
    assert read(store, tmp_path, quote(), at=DAY + dt.timedelta(days=1)).stored == 1


@pytest.mark.parametrize(
    ("gate", "rows"),
    [
        ("01_price_not_positive", [quote(amount="0")]),
        ("01_price_not_positive", [quote(amount="-3")]),
        ("01_price_not_positive", [quote(amount="free")]),
        ("02_word_unknown", [quote(term="forever")]),
        ("02_word_unknown", [quote(sku="")]),
        ("02_word_unknown", [quote(unit="rack")]),
        ("03_day_absurd", [quote(effective_from="1970-01-01")]),
        ("03_day_absurd", [quote(effective_from="2062-01-01")]),
        ("03_day_absurd", [quote(effective_from="someday")]),
        ("03_day_absurd", [quote(effective_to="2024-01-01")]),
        ("04_currency_without_rate", [quote(currency="CNY", amount="388.6")]),
        ("06_two_prices_for_one", [quote(), quote(amount="66.05")]),
        ("07_total_as_hourly", [quote(amount="482150.4")]),
        ("07_total_as_hourly", [quote(), quote(term="reserved_1y", amount="1500")]),
        ("08_discount_not_below_on_demand", [quote(), quote(term="reserved_1y")]),
        ("08_discount_not_below_on_demand", [quote(), quote(term="spot", amount="60")]),
        (
            "10_gpu_price_as_node_price",
            [quote(), quote(region="us-west-2"), quote(region="us-east-2", amount="6.88")],
        ),
    ],
)
def test_gates_refuse(store: PriceStore, tmp_path: Path, gate: str, rows: list[dict[str, str]]) -> None:
    """What a gate objects to goes to quarantine with the gate's name; nothing is dropped."""
    found = read(store, tmp_path, *rows)
    assert gate in found.by_gate
    assert found.stored + found.repeated + found.quarantined == found.read == len(rows)
    assert _count(store, "quarantine") == found.quarantined
    assert _count(store, "observation") == found.stored


def test_good_prices_pass(store: PriceStore, tmp_path: Path) -> None:
    """Terms below on demand, other regions and purchases pass every gate."""
    found = read(
        store,
        tmp_path,
        quote(),
        quote(region="us-gov-west-1", amount="66.048"),
        quote(term="reserved_1y", amount="34.68"),
        quote(term="reserved_3y", amount="23.77"),
        quote(term="spot", amount="21.5"),
        quote(sku="dgx-h100", region="", term="purchase", charge="once", unit="each", amount="329580"),
        quote(sku="electricity/industrial", region="us-tx", charge="metered", unit="kWh", amount="0.066"),
    )
    assert (found.stored, found.quarantined) == (7, 0)


def test_a_jump_waits_for_a_second_day(store: PriceStore, tmp_path: Path) -> None:
    """A price 78 % off for one day is refused; the same new price on a second day is believed."""
    read(store, tmp_path, quote())
    drop = quote(amount="12.1")
    one = read(store, tmp_path, drop, at=DAY + dt.timedelta(days=1))
    back = read(store, tmp_path, quote(), at=DAY + dt.timedelta(days=2))
    assert (one.by_gate, back.stored) == ({"09_price_jump": 1}, 1)
    again = read(store, tmp_path, drop, at=DAY + dt.timedelta(days=3))
    assert again.stored == 1


def test_a_hand_kept_list_dated_again(store: PriceStore, tmp_path: Path) -> None:
    """A list whose every price repeats an older one is no observation; one changed price makes it one."""
    rows = [quote(region=f"region-{number}") for number in range(6)]
    read(store, tmp_path, *rows, is_hand_kept=True)
    later = DAY + dt.timedelta(days=40)
    again = read(store, tmp_path, *rows, at=later, is_hand_kept=True)
    assert again.by_gate == {"11_list_dated_again": 6}
    changed = [*rows[:5], quote(region="region-5", amount="50")]
    assert read(store, tmp_path, *changed, at=later + dt.timedelta(days=1), is_hand_kept=True).stored == 6


def test_spot_that_equals_on_demand_warns(store: PriceStore, tmp_path: Path) -> None:
    """A spot price at the on-demand price is stored, with a warning."""
    found = read(store, tmp_path, quote(), quote(term="spot"))
    assert (found.stored, found.warnings) == (2, {"01_spot_equals_on_demand": 1})
    assert _count(store, "warning") == 1


def test_currency_with_a_rate(store: PriceStore, tmp_path: Path) -> None:
    """Yuan with a rate of the week become dollars; a rate that is too old does not count."""
    store.add_exchange_rate(currency="CNY", day=dt.date(2026, 9, 28), usd_per_currency=0.14, source="ecb")
    found = read(store, tmp_path, quote(currency="CNY", amount="380"))
    assert found.stored == 1
    ((usd,),) = store.connection.execute("select usd from observation").fetchall()
    assert usd == pytest.approx(53.2)
    late = read(store, tmp_path, quote(currency="CNY", amount="380"), at=DAY + dt.timedelta(days=60))
    assert late.by_gate == {"04_currency_without_rate": 1}
    with pytest.raises(InputError, match=r"is stored with 0\.14 USD from ecb"):
        store.add_exchange_rate(currency="CNY", day=dt.date(2026, 9, 28), usd_per_currency=0.2, source="me")


def test_as_of_answers_never_change(store: PriceStore, tmp_path: Path) -> None:
    """What is added with a later day changes no answer for an earlier one, whatever day the provider gives it."""
    days = [DAY.date() + dt.timedelta(days=number) for number in range(-3, 8)]
    asked = PriceRequest(sku="aws/p5.48xlarge", region="us-east-1", term="on_demand")

    def answers(until: dt.date) -> list[object]:
        store.close()
        book = PriceBook.open(store=store.path)
        found = [book.in_force((asked,), day) for day in days if day <= until]
        book.close()
        store.connection = PriceStore.open(store.path).connection
        return [(price[0].point.usd, price[0].age_days) if price[0] else None for price in found]

    read(store, tmp_path, quote(amount="54"))
    before = answers(DAY.date())
    assert before[-1] == (54.0, 0)
    assert before[0] == (55.04, 0)  # the shipped price, seen until 2026-09-29
    for number, amount in enumerate(("53", "52.5", "40"), start=1):
        read(store, tmp_path, quote(amount=amount, effective_from="2026-09-01"), at=DAY + dt.timedelta(days=number))
        assert answers(DAY.date()) == before


def test_release(store: PriceStore, tmp_path: Path) -> None:
    """A refused price can be let out with a reason, once; one without a price in USD cannot."""
    read(store, tmp_path, quote(), quote(term="spot", amount="60"), quote(sku="x", currency="CNY"))
    waiting = {row["gate"]: row["quarantine_id"] for row in store.rows("pricing/sql/in_quarantine.sql", {"gate": ""})}
    spot = waiting["08_discount_not_below_on_demand"]
    with pytest.raises(InputError, match="with a reason"):
        store.release([spot], reason=" ")
    with pytest.raises(InputError, match="without a product or a price"):
        store.release([waiting["04_currency_without_rate"]], reason="yes")
    assert store.release([spot], reason="seen on the console") == 1
    ((note,),) = store.connection.execute("select note from observation where term = 'spot'").fetchall()
    assert "seen on the console" in note
    with pytest.raises(InputError, match="not in quarantine"):
        store.release([spot], reason="again")


@pytest.mark.parametrize("change", [{"amount": "-3"}, {"amount": "0"}, {"amount": "nan"}])
def test_no_reason_makes_a_price_of_what_is_none(store: PriceStore, tmp_path: Path, change: dict[str, str]) -> None:
    """What is not above 0, or no number, stays in quarantine whoever vouches for it."""
    read(store, tmp_path, quote(**change))
    (row,) = store.rows("pricing/sql/in_quarantine.sql", {"gate": ""})
    with pytest.raises(InputError, match="above 0"):
        store.release([row["quarantine_id"]], reason="the provider confirmed it")
    assert store.connection.execute("select count(*) from observation").fetchall() == [(0,)]


def test_a_price_is_released_by_a_rate_that_came_later(store: PriceStore, tmp_path: Path) -> None:
    """The advice of the refusal works: with the rate of its day stored, the price goes out in USD."""
    read(store, tmp_path, quote(currency="CNY", amount="390"))
    (row,) = store.rows("pricing/sql/in_quarantine.sql", {"gate": ""})
    assert row["usd"] is None
    store.connection.execute("insert into exchange_rate values ('CNY', ?, 0.14, 'ECB')", [DAY.date()])
    assert store.release([row["quarantine_id"]], reason="rate of the day") == 1
    found = store.connection.execute("select currency, amount, usd_per_currency, usd from observation").fetchall()
    assert found == [("CNY", 390.0, 0.14, pytest.approx(54.6))]


def test_a_second_writer_is_told_who_holds_the_store(tmp_path: Path) -> None:
    """Another process waits, then says which process holds the store; afterwards it opens."""
    path = tmp_path / "prices.duckdb"
    code = (
        "import sys, time, pathlib; from clusterwright.pricing.store import PriceStore; "
        "store = PriceStore.open(pathlib.Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=f"held by another process.*{other.pid}"):
            PriceStore.open(path, wait_s=0.3)
        other.kill()
    PriceStore.open(path, wait_s=5).close()


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.15, 0.3])
def test_killed_while_reading(tmp_path: Path, after_s: float) -> None:
    """A process killed at any moment leaves all rows of a document or none, and the store opens again."""
    path = tmp_path / "prices.duckdb"
    PriceStore.open(path).close()
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[2]); from tests.pricing.quotes import quote, read; "
        "from clusterwright.pricing.store import PriceStore; folder = pathlib.Path(sys.argv[1]); "
        "store = PriceStore.open(folder / 'prices.duckdb'); print('open', flush=True); "
        "read(store, folder, *(quote(region=f'r{n}') for n in range(4000))); print('done', flush=True)"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path), root], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        assert it.stdout.readline() == "open\n"
        time.sleep(after_s)
        os.kill(it.pid, signal.SIGKILL)
    with PriceStore.open(path) as store:
        rows, ingests = _count(store, "observation"), _count(store, "ingest")
        assert (rows, ingests) in {(0, 0), (4000, 1)}
        assert read(store, tmp_path, *(quote(region=f"r{number}") for number in range(4000))).read == 4000
        assert _count(store, "observation") == 4000


def test_files_that_are_no_store(tmp_path: Path) -> None:
    """Text, another DuckDB file and a store of a newer layout are refused and left as they are."""
    text = tmp_path / "text.duckdb"
    text.write_text("not a database, but long enough to look at\n" * 200)
    before = text.read_bytes()
    with pytest.raises(StoreError, match="cannot be opened"):
        PriceStore.open(text)
    assert text.read_bytes() == before
    other = tmp_path / "other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute("create table mine (x integer)")
    with pytest.raises(StoreError, match="other tables"):
        PriceStore.open(other)
    newer = tmp_path / "newer.duckdb"
    with PriceStore.open(newer) as store:
        store.connection.execute("insert into store_version values (7, now())")
    with pytest.raises(StoreError, match="layout 7"):
        PriceStore.open(newer)
    with pytest.raises(StoreError, match="no price store at"):
        PriceStore.open(tmp_path / "none.duckdb", read_only=True)
    with pytest.raises(StoreError, match="cannot be made"):
        PriceStore.open(text / "below" / "prices.duckdb")


def test_an_empty_document(store: PriceStore, tmp_path: Path) -> None:
    """A document without a byte is refused, and nothing is noted of it."""
    path = tmp_path / "empty.csv"
    path.touch()
    with pytest.raises(InputError, match="is empty"):
        ingest(
            store,
            Document(paths=(path,), feed="x", source="x", url="file:x", fetched_at=DAY),
            rule="pricing/feeds/aws_offer.sql",
            parameters={"wanted": []},
        )
    assert _count(store, "document") == 0


def test_spot_at_a_fixed_share_warns(store: PriceStore, tmp_path: Path) -> None:
    """Twenty spot prices at exactly half of on demand are stored with a warning; nineteen are not noticed."""
    rows = [quote(region=f"r{number}", amount=str(40 + number)) for number in range(20)]
    spot = [row | {"term": "spot", "amount": str(float(row["amount"]) / 2)} for row in rows]
    assert read(store, tmp_path, *rows, *spot[:19]).warnings == {}
    found = read(store, tmp_path, *rows, *spot, at=DAY + dt.timedelta(days=1))
    assert found.warnings == {"02_spot_is_a_fixed_share": 20}


def test_of_two_prices_of_one_list_the_newer_counts(store: PriceStore, tmp_path: Path) -> None:
    """A list that still names the price it replaced, though that is lower, says what the new one is."""
    old = quote(sku="aws/p9.48xlarge", amount="90", effective_from="2024-01-01")
    new = quote(sku="aws/p9.48xlarge", amount="110", effective_from="2026-09-01")
    for number, rows in enumerate(((old | {"effective_to": "2026-08-31"}, new), (old, new), (new, old))):
        place = tmp_path / f"{number}.duckdb"
        with PriceStore.open(place) as opened:
            read(opened, tmp_path, *rows, feed="azure-retail")
        assert _usd(place, dt.date(2026, 10, 1)) == 110


def test_an_offer_holds_until_its_last_day(tmp_path: Path) -> None:
    """On the day after it the price before it is in force again, and an offer that had ended is never a price."""
    place = tmp_path / "offers.duckdb"
    sku = {"sku": "aws/p9.48xlarge"}
    with PriceStore.open(place) as opened:
        read(opened, tmp_path, quote(**sku, amount="50"), at=DAY - dt.timedelta(days=20), feed="quotes:one")
        until = quote(**sku, amount="40", effective_to="2026-10-31")
        assert read(opened, tmp_path, until, feed="quotes:two").warnings == {}
        ended = quote(**sku, amount="30", effective_to="2026-09-30")
        found = read(opened, tmp_path, ended, feed="quotes:three")
        assert (found.stored, found.warnings) == (1, {"03_ended_before_seen": 1})
    days = {dt.date(2026, 9, 20): 50, dt.date(2026, 10, 1): 40, dt.date(2026, 10, 31): 40, dt.date(2026, 11, 1): 50}
    assert {day: _usd(place, day) for day in days} == days


def test_what_is_no_number_waits_and_is_shown(store: PriceStore, tmp_path: Path) -> None:
    """JSON has no NaN: such a price is shown as none, with what the document said as the reason."""
    read(store, tmp_path, *(quote(amount=amount, region=f"r{amount[-1]}") for amount in ("nan", "inf")))
    rows = store.rows("pricing/sql/in_quarantine.sql", {"gate": ""})
    assert [(row["gate"], row["amount"], row["usd"], row["usable"]) for row in rows] == [
        ("01_price_not_positive", None, None, False)
    ] * 2
    assert {row["reason"] for row in rows} == {"the price is nan", "the price is inf"}


def _usd(place: Path, day: dt.date) -> float | None:
    book = PriceBook.open(store=place)
    try:
        price = book.price("aws/p9.48xlarge", region="us-east-1", as_of=day)
        return None if price is None else price.point.usd
    finally:
        book.close()
