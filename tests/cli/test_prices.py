"""The commands of the price store."""

import json
from pathlib import Path

import duckdb
import pytest

from .conftest import Command

HEADER = "sku,term,charge,unit,amount,effective_from,region,currency,note\n"
LINES = (
    "dgx-h100,purchase,once,each,310000,2026-09-15,,USD,offer 4711\n"
    "electricity/industrial,on_demand,metered,kWh,0.071,2026-10-01,us-tx,USD,\n"
)


@pytest.fixture
def quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list of two quotes, and a store of its own that commands use by default."""
    monkeypatch.setenv("CLUSTERWRIGHT_STORE", str(tmp_path / "data" / "prices.duckdb"))
    path = tmp_path / "quotes.csv"
    path.write_text(HEADER + LINES, encoding="utf-8")
    return path


def test_import_and_show(command: Command, quotes: Path) -> None:
    """An imported quote is the price in force from the day it was seen, and not before."""
    ended = command("prices", "import", quotes, "--source", "offer Contoso", "--seen-on", "2026-10-02")
    assert ended.code == 0
    assert "2 prices read, 2 stored" in ended.out
    shown = json.loads(command("prices", "dgx-h100", "--as-of", "2026-10-02", "--json").out)
    assert [(row["usd"], row["source"]) for row in shown["prices"]] == [(310000.0, "offer Contoso")]
    earlier = json.loads(command("prices", "dgx-h100", "--as-of", "2026-10-01", "--json").out)
    assert [row["usd"] for row in earlier["prices"]] == [380000.0]
    again = command("prices", "import", quotes, "--source", "offer Contoso", "--seen-on", "2026-10-02")
    assert "read before" in again.out


def test_plan_uses_the_store(command: Command, quotes: Path, small: Path) -> None:
    """A plan as of the day of a quote buys at the quote; as of the day before at the shipped price."""
    command("prices", "import", quotes, "--source", "offer Contoso", "--seen-on", "2026-10-02")

    def capex(day: str) -> float:
        ended = command("plan", small, "--json", "--set", f"economics.as_of={day}")
        owned = next(entry for entry in json.loads(ended.out)["options"] if entry["target"] == "onprem")
        return float(owned["money"]["capex_usd"]) / owned["cluster"]["nodes"]

    assert capex("2026-10-01") - capex("2026-10-02") == pytest.approx(380000 - 310000, rel=0.1)


def test_quarantine_and_release(command: Command, quotes: Path) -> None:
    """What a gate refuses ends in 1, is shown with the reason, and can be let out with one."""
    quotes.write_text(HEADER + "aws/p5.48xlarge,on_demand,hourly,node,482150,2026-10-01,us-east-1,USD,\n")
    ended = command("prices", "import", quotes, "--source", "list", "--seen-on", "2026-10-02")
    assert ended.code == 1
    assert "in quarantine by 07_total_as_hourly: 1" in ended.out
    shown = command("prices", "quarantine")
    assert "looks like the total of a term" in shown.out
    assert command("prices", "quarantine", "--gate", "nonsense").code == 2
    assert command("prices", "release", "1", "--reason", "it is that dear").code == 0
    assert "nothing is in quarantine" in command("prices", "quarantine").out


def test_a_quote_per_accelerator_of_a_node_waits(command: Command, quotes: Path) -> None:
    """A list that does not say how many accelerators a machine has is still held against their number."""
    quotes.write_text(HEADER + "aws/p5.48xlarge,on_demand,hourly,node,6.88,2026-09-15,us-east-1,USD,\n")
    ended = command("prices", "import", quotes, "--source", "x", "--seen-on", "2026-10-02")
    assert ended.code == 1
    assert "10_gpu_price_as_node_price: 1" in ended.out
    assert command("prices", "rate", "EUR", "1.1", "--day", "2999-01-01", "--source", "ECB").code == 2


def test_every_wrong_cell_is_told(command: Command, quotes: Path) -> None:
    """All mistakes of a list are told at once, with line and column, and nothing is stored."""
    quotes.write_text(
        HEADER
        + "dgx-h100,purchas,once,each,310000,2026-09-15,,USD,\n"
        + "dgx-h100,purchase,once,each,310.000 EUR,15.9.2026,,EUR,\n"
        + "dgx-h100,purchase,once\n"
    )
    ended = command("prices", "import", quotes, "--source", "x")
    assert ended.code == 2
    for said in (
        "quotes.csv:2: column term: 'purchas' is none of",
        "did you mean 'purchase'",
        "quotes.csv:3: column amount: '310.000 EUR' is not a number",
        "quotes.csv:3: column effective_from: '15.9.2026' is not a day",
        "quotes.csv:4: 9 columns are needed",
    ):
        assert said in ended.err
    assert command("prices", "quarantine").code == 2  # there is no store yet


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (HEADER.encode(), "has no quote"),
        (b"sku,price\nx,1\n", "there is no column 'price'"),
        (b"sku,sku,term,charge,unit,amount,effective_from\n", "stands twice"),
        (b"\xff\xfes\x00k\x00u\x00", "is not UTF-8"),
    ],
)
def test_files_that_are_no_list(command: Command, quotes: Path, content: bytes, said: str) -> None:
    """Empty files, other tables and other encodings are told as what they are."""
    quotes.write_bytes(content)
    ended = command("prices", "import", quotes, "--source", "x")
    assert (ended.code, said in ended.err) == (2, True)


def test_rates(command: Command, quotes: Path) -> None:
    """Euros count with a rate of their day and wait in quarantine without one."""
    quotes.write_text(HEADER + "dgx-h100,purchase,once,each,280000,2026-09-15,,EUR,\n")
    asked = ("prices", "import", quotes, "--source", "x", "--seen-on")
    assert command(*asked, "2026-10-02").code == 1
    assert command("prices", "rate", "eur", "1.1", "--day", "2026-10-03", "--source", "ECB").code == 0
    assert command(*asked, "2026-10-03").code == 0
    shown = json.loads(command("prices", "dgx-h100", "--as-of", "2026-10-03", "--json").out)
    assert [row["usd"] for row in shown["prices"]] == [pytest.approx(308000)]
    assert command("prices", "rate", "EURO", "1", "--day", "2026-10-03", "--source", "x").code == 2
    assert command("prices", "rate", "EUR", "1.1", "--day", "tomorrow", "--source", "x").code == 2
    assert command("prices", "rate", "EUR", "1e-300", "--day", "2026-10-01", "--source", "x").code == 2


def test_cheapest(command: Command) -> None:
    """The first row of a ranking is the cheapest; JSON holds the same rows."""
    rows = json.loads(command("prices", "cheapest", "h100", "--term", "on_demand", "--json").out)["rows"]
    prices = [row["usd_per_gpu_hour"] for row in rows]
    assert prices == sorted(prices)
    assert {row["term"] for row in rows} == {"on_demand"}
    text = command("prices", "cheapest", "h100", "--term", "on_demand", "--most", "1").out
    assert rows[0]["sku"] in text
    assert f"{len(rows) - 1} more" in text


@pytest.mark.parametrize("question", ["history", "cheapest", "breakeven"])
def test_what_is_bought_has_prices_elsewhere(command: Command, question: str) -> None:
    """A server and a switch are no rent of a GPU: the error names the command that shows their prices."""
    for name in ("dgx-h100", "qm9700"):
        ended = command("prices", question, name)
        assert (ended.code, f"clusterwright prices {name} --history" in ended.err) == (2, True)
    until = command("prices", "dgx-h100", "--history", "--as-of", "2023-10-01").out
    assert "270,000" in until
    assert "329,580" not in until


def test_the_printed_script_answers_by_itself(command: Command, quotes: Path) -> None:
    """Each question's script, run by DuckDB alone on the files and the store, gives the rows of its JSON."""
    quotes.write_text(HEADER + "aws/p5.48xlarge,on_demand,hourly,node,60,2026-09-15,it's,USD,$as_of -- ';\n")
    command("prices", "import", quotes, "--source", "offer of O'Neill; 'x'", "--seen-on", "2026-10-16")
    for question in (
        ("cheapest", "h100", "--region", "it's"),
        ("months", "h100", "--extremes"),
        ("services", "storage"),
        ("breakeven", "h100", "--utilisation", "0.7"),
    ):
        expected = json.loads(command("prices", *question, "--json").out)["rows"]
        with duckdb.connect() as alone:
            cursor = alone.execute(command("prices", *question, "--sql").out)
            names = [column[0] for column in cursor.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        assert rows, question
        assert json.loads(json.dumps(rows, default=str)) == expected, question


def test_history_as_a_chart(command: Command) -> None:
    """The cut of p5.48xlarge in June 2025 to 56 %: 40 blocks, then 22."""
    out = command("prices", "history", "aws/p5.48xlarge", "--term", "on_demand", "--region", "us-east-1", "--chart").out
    before, after = (line for line in out.splitlines() if "█" in line)
    assert before.split() == ["2023-07-31", "12.29", "█" * 40]
    assert after.split() == ["2025-06-05", "6.88", "█" * 22, "-44.0", "%"]


def test_prices_that_never_changed_are_charted_in_one_line_each(command: Command) -> None:
    """What has one price stands below what changed, with the day since when, on the same scale."""
    out = command("prices", "history", "h100", "--term", "on_demand", "--chart").out
    changed, _, unchanged = out.partition("  unchanged ")
    assert "aws/p5.48xlarge  us-east-1  on_demand" in changed
    (line,) = (line for line in unchanged.splitlines() if "Standard_ND96isr_H100_v5  eastus " in line)
    words = line.split()
    assert words[3:5] == ["2023-12-18", "12.29"]
    before = next(line for line in changed.splitlines() if "2023-07-31     12.29" in line)
    assert words[5] == before.split()[2]


@pytest.mark.parametrize("about", ["discounts", "volatility"])
def test_other_questions_have_answers(command: Command, about: str) -> None:
    """Each prints a table with the products that it is about."""
    ended = command("prices", about)
    assert ended.code == 0
    assert "gcp/a3-highgpu-8g" in ended.out


def test_breakeven(command: Command) -> None:
    """The server of 475,000 USD against p5.48xlarge at 60 % use: 28.2 months, the terms printed and in JSON."""
    asked = (
        "prices",
        "breakeven",
        "aws/p5.48xlarge",
        "--region",
        "us-east-1",
        "--term",
        "on_demand",
        "--as-of",
        "2026-10-10",
        "--server",
        "dgx-h100",
        "--purchase",
        "475000",
        "--load",
        "1",
        "--pue",
        "1.3",
        "--usd-per-kwh",
        "0.1",
        "--usd-per-kw-month",
        "150",
        "--yearly-share",
        "0.12",
        "--utilisation",
        "0.6",
    )
    found = json.loads(command(*asked, "--json").out)
    assert [round(row["breakeven_months"], 1) for row in found["rows"]] == [28.2]
    assert found["terms"]["pue"] == 1.3
    assert "28.2" in command(*asked).out
    assert "dgx-h100: 475,000 USD (as given)" in command(*asked).out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("breakeven", "--purchase", "1000"), 2, "applies to one server"),
        (("breakeven", "h100", "--utilisation", "1.5"), 2, "a utilisation of 1.5 is impossible"),
        (("breakeven", "h100", "--utilisation", "nan"), 2, "a utilisation of nan is impossible"),
        (("breakeven", "h100", "--pue", "0.5"), 2, "pue = 0.5 is impossible"),
        (("breakeven", "h100", "--server", "abacus"), 2, "abacus"),
        (("breakeven", "h100", "--as-of", "2019-01-01"), 3, "no server with h100-sxm-80gb"),
        (("services", "teapots"), 3, "no service of the kind 'teapots'"),
        (("months", "--from", "2026-13"), 2, "'2026-13' is no month"),
        (("months", "--from", "2026-05", "--to", "2026-04"), 2, "2026-05 comes after 2026-04"),
        (("index", "h100", "--as-of", "2019-01-01"), 3, "no price is known of h100"),
    ],
)
def test_questions_that_have_no_answer(command: Command, words: tuple[str, ...], code: int, said: str) -> None:
    """What is impossible or unknown is said with what would be right."""
    ended = command("prices", *words)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


@pytest.mark.parametrize(
    "about", ["cheapest", "history", "discounts", "volatility", "index", "months", "services", "breakeven", "coverage"]
)
def test_every_question_prints_its_script_and_takes_a_day(command: Command, about: str) -> None:
    """`--sql` prints the rules, then the statement that reads them; `--as-of` dates the JSON answer."""
    statements = command("prices", about, "--sql").out.split("\n;\n")
    assert statements[-2].strip().startswith("-- One row is one ")
    answer = json.loads(command("prices", about, "--as-of", "2026-10-01", "--json").out)
    assert answer["as_of"] == "2026-10-01"
    assert answer["rows"]
    as_text = command("prices", about)
    assert (as_text.code, as_text.err) == (0, "")


def test_unknown_names_and_terms(command: Command) -> None:
    """What does not exist is said with what does; what has no price ends with 3."""
    assert "no product and no accelerator is called 'abacus'" in command("prices", "cheapest", "abacus").err
    assert "terms: on_demand" in command("prices", "cheapest", "--term", "free").err
    nothing = command("prices", "cheapest", "b300", "--as-of", "2020-01-01")
    assert (nothing.code, nothing.out) == (3, "")


def test_holes_are_filled_by_the_file_that_coverage_prints(command: Command, quotes: Path) -> None:
    """`coverage --csv`, a price written into it, `import`: the hole is gone."""
    hole = {"sku": "aws/p5.4xlarge", "term": "reserved_1y"}

    def known() -> bool:
        rows = json.loads(command("prices", "coverage", "h100", "--json", "--as-of", "2026-11-02").out)["rows"]
        return next(row["prices"] > 0 for row in rows if {key: row[key] for key in hole} == hole)

    assert not known()
    printed = command("prices", "coverage", "h100", "--csv").out.splitlines()
    line = next(row for row in printed if row.startswith("aws/p5.4xlarge,,reserved_1y,"))
    filled = quotes.with_name("filled.csv")
    filled.write_text(f"{printed[0]}\n{line.replace('node,,USD,,', 'node,3,USD,2026-11-01,mine')}\n", encoding="utf-8")
    assert command("prices", "import", filled, "--source", "own", "--seen-on", "2026-11-01").code == 0
    assert known()


def test_rejected_claims_are_shown_with_their_reason(command: Command) -> None:
    """A product that only rejected claims name has no price, and says where to see why."""
    refused = command("prices", "spheron/b200-sxm-180gb")
    assert refused.code == 3
    assert "claims that were rejected: 2" in refused.err
    shown = command("prices", "spheron/b200-sxm-180gb", "--rejected")
    assert "the lowest price of a marketplace" in " ".join(shown.out.split())
    assert "guide-2026-06" in shown.out
    rows = json.loads(command("prices", "--rejected", "--json").out)["prices"]
    assert {row["status"] for row in rows} == {"rejected"}
    assert all(row["note"] for row in rows)


def test_a_family_without_products_says_so(command: Command) -> None:
    """Nobody rents Gaudi 3, which is no hole to fill in; every MI300X is sold under terms that are counted."""
    told = command("prices", "coverage", "gaudi3")
    assert told.code == 3
    assert "nobody is known to rent gaudi3" in told.err
    assert "of 11 products and terms have a price" in command("prices", "coverage", "mi300x").out


def test_holes_may_be_filled_one_by_one(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the list of holes, the lines that somebody filled in are stored, and the others stay holes."""
    monkeypatch.setenv("CLUSTERWRIGHT_STORE", str(tmp_path / "prices.duckdb"))
    lines = command("prices", "coverage", "b300", "--csv").out.splitlines()
    hole = "aws/p6-b300.48xlarge,,reserved_1y,hourly,node,,USD,,"
    assert hole in lines
    filled = [hole.replace(",,USD,,", ",60.5,USD,2026-10-01,console") if line == hole else line for line in lines]
    path = tmp_path / "filled.csv"
    path.write_text("\n".join(filled), encoding="utf-8")
    ended = command("prices", "import", path, "--source", "console", "--seen-on", "2026-10-02")
    assert ended.code == 0
    assert f"left out: {len(lines) - 2}" in ended.out
    assert hole not in command("prices", "coverage", "b300", "--csv").out
    path.write_text("\n".join(lines), encoding="utf-8")
    assert "has no quote" in command("prices", "import", path, "--source", "console").err
