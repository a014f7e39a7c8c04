"""Money in another currency, as a user asks for it."""

import json
import re
from pathlib import Path

import pytest

from clusterwright.assets import root
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli import answer, sharing
from clusterwright.cli.compare import finance
from clusterwright.cli.prices import store as price_store
from clusterwright.cli.sweep import sweep
from clusterwright.interface.sweeping import Request
from clusterwright.plan.currency import Currency
from clusterwright.plan.text.currency import money_of_all
from clusterwright.plan.text.money import USD

BLUEPRINT = root() / "blueprints" / "train-gpt3-175b.yaml"
GIVEN = "tco.currency={code: EUR, usd: 1.25, day: 2026-10-15, source: ECB}"
#: One cloud and one owner: enough for every column.
FEW = ["targets.azure=null", "targets.gcp=null"]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A price store of the test's own."""
    place = tmp_path / "prices.duckdb"
    monkeypatch.setenv("CLUSTERWRIGHT_STORE", str(place))
    monkeypatch.setattr(answer, "DRAWS", 20)
    return place


def test_json_stays_in_usd_with_the_rate_beside(capsys: pytest.CaptureFixture[str]) -> None:
    """Names that end on `_usd` are USD, whatever people are told; a block `currency` gives the rate."""
    assert finance.compare(BLUEPRINT, [GIVEN, *FEW], draws=5, seed=1, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["currency"]["code"] == "EUR"
    assert answer.compare(BLUEPRINT, FEW, as_json=True) == 0
    usd = json.loads(capsys.readouterr().out)
    assert answer.compare(BLUEPRINT, [GIVEN, *FEW], as_json=True) == 0
    eur = json.loads(capsys.readouterr().out)
    assert "currency" not in usd
    # Two blueprints are two scenarios.
    assert usd.pop("scenario") != eur.pop("scenario")
    assert eur.pop("currency") == {"code": "EUR", "usd": 1.25, "day": "2026-10-15", "source": "ECB"}
    assert usd == eur


def test_text_has_no_dollar_left(capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal shows the currency everywhere, and the rate with its day and source."""
    assert finance.compare(BLUEPRINT, [GIVEN, *FEW, "tco.tax_rate=21 %"], draws=20, seed=1, as_json=False) == 0
    text = capsys.readouterr().out
    assert "$" not in text
    assert "1 EUR = 1.25 USD on 2026-10-15 (ECB)" in text
    assert answer.compare(BLUEPRINT, [GIVEN, *FEW], as_json=False) == 0
    text = capsys.readouterr().out
    assert "$" not in text
    assert "EUR/GPU-h" in text
    assert not [line for line in text.splitlines() if "USD" in line and not line.startswith("All money in EUR")]
    assert answer.explain(BLUEPRINT, "run_usd", "aws", [GIVEN, *FEW], as_json=False) == 0
    text = capsys.readouterr().out
    assert not [mark for mark in ("$", "USD") if mark in text]
    assert USD.text(1.0) == "$1.00"


def test_a_stored_rate_is_the_newest_up_to_the_prices(capsys: pytest.CaptureFixture[str], store: Path) -> None:
    """The code alone takes the rate of the store that was newest on the as-of day."""
    for day, rate in (("2026-10-01", 1.1), ("2026-10-14", 1.2), ("2026-11-01", 1.5)):
        price_store.rate("EUR", rate, day=day, source="bank", store=store)
    assert answer.compare(BLUEPRINT, ["tco.currency=EUR", "economics.as_of=2026-10-16", *FEW], as_json=True) == 0
    told = json.loads(capsys.readouterr().out.partition("{")[2].join(("{", "")))
    assert told["currency"] == {"code": "EUR", "usd": 1.2, "day": "2026-10-14", "source": "bank"}


@pytest.mark.parametrize(
    ("value", "message", "code"),
    [
        ("tco.currency=EUR", "no rate of EUR is known up to", 3),
        ("tco.currency={code: EUR, usd: 1.25, day: 2999-01-01}", "younger than the prices", 2),
    ],
)
def test_no_rate(value: str, message: str, code: int) -> None:
    """Without a rate of that day nothing is told, and the way to one is."""
    with pytest.raises(BlueprintError) as caught:
        answer.compare(BLUEPRINT, [value], as_json=False)
    assert message in caught.value.render()
    assert caught.value.exit_code == code


@pytest.mark.parametrize(
    "value",
    [
        "euro",
        "{code: EUR, usd: 0, day: 2026-10-15}",
        "{code: EUR, usd: 1.1}",
        "[EUR]",
        "{code: EUR, usd: .inf, day: 2026-10-15}",
    ],
)
def test_what_is_no_currency(value: str) -> None:
    """A currency without three letters, or a rate without a value or a day, is refused where it stands."""
    with pytest.raises(BlueprintError) as caught:
        load(BLUEPRINT, (f"tco.currency={value}",))
    assert "tco.currency" in caught.value.render()


def test_the_source_of_a_rate_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """In the comment of a pull request it neither marks up nor calls anybody."""
    given = "tco.currency={code: EUR, usd: 1.25, day: 2026-10-15, source: '<img src=x> @all [a](b)'}"
    assert answer.compare(BLUEPRINT, [given, *FEW], as_json=False, markdown=True) == 0
    told = capsys.readouterr().out
    assert r"\<img src=x\> \@all \[a\](b)" in told
    assert "<img" not in told.replace(r"\<img", "")


def _only_euro(text: str) -> bool:
    """Return whether the rate is said and nothing else is in dollars."""
    rest = [line for line in text.splitlines() if not line.startswith("All money in EUR")]
    return "1 EUR = 1.25 USD on 2026-10-15 (ECB)" in text and not [
        line for line in rest if "$" in line or "USD" in line
    ]


@pytest.mark.parametrize("name", ["train-gpt3-175b", "serve-llama3-70b"])
def test_a_sweep_is_in_the_currency(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its answers and columns; the rate a GPU hour is divided too."""
    printed = []
    for given in ((), (GIVEN,)):
        asked = Request(
            sources=(root() / "blueprints" / f"{name}.yaml",), set_values=given, instances=("p5.48xlarge", "dgx-h100")
        )
        sweep(asked, jobs=1, dask=None, as_json=False, every=False, parquet=None, chart=None, force=False, quiet=True)
        printed.append(capsys.readouterr().out)
    assert "$" in printed[0]
    assert "EUR" not in printed[0]
    assert _only_euro(printed[1])
    if name.startswith("train"):
        row = next(line for line in printed[0].splitlines() if "p5.48xlarge" in line and "us-east" in line)
        euro = next(line for line in printed[1].splitlines() if "p5.48xlarge" in line and "us-east" in line)
        usd_per_hour, eur_per_hour = (float(re.findall(r"\d+\.\d\d(?= )", each)[-1]) for each in (row, euro))
        assert usd_per_hour / eur_per_hour == pytest.approx(1.25, abs=0.01)


def test_a_shared_plan_is_in_the_currency(capsys: pytest.CaptureFixture[str]) -> None:
    """Answer, targets, parts and the page of the report."""
    path = root() / "blueprints" / "serve-and-finetune.yaml"
    assert sharing.plan(path, [GIVEN, "targets.gcp=null", "targets.onprem=null"], as_json=False, quiet=True) == 0
    text = capsys.readouterr().out
    assert "€" in text
    assert _only_euro(text)


def test_currencies_that_differ_are_written_in_usd() -> None:
    """Amounts side by side have one currency."""
    euro, yen = (Currency(code=code, usd=1.1, day="2026-10-15", source="ECB") for code in ("EUR", "JPY"))
    assert money_of_all([euro, euro]).code == "EUR"
    assert money_of_all([euro, yen]).code == money_of_all([euro, None]).code == money_of_all([]).code == "USD"
