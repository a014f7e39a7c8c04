"""Money in another currency, as a user asks for it."""

import json
from pathlib import Path

import pytest

from clusterwright.assets import root
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli import answer
from clusterwright.cli.compare import finance
from clusterwright.cli.prices import store as price_store
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
        "euro", "{code: EUR, usd: 0, day: 2026-10-15}", "{code: EUR, usd: 1.1}", "[EUR]",
        "{code: EUR, usd: .inf, day: 2026-10-15}",
    ],
)  # fmt: skip
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
