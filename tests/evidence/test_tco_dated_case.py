"""Cases whose prices, hours and payments change over time, against a model of their own, month by month."""

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from clusterwright.pricing.book import PriceBook
from tests.opened import check_case

HORIZON, RATE, TAX, USED = 44, 0.09, 0.3, (0.3, 0.55, 0.8)
HOURS = 730.0


def _option(random: np.random.Generator, *, owned: bool) -> dict[str, Any]:
    costs = [
        {"name": "once", "usd": 900, "per": "once", "category": "a", "from_month": int(random.integers(0, 50))},
        {
            "name": "often",
            "usd": 70,
            "per": "once",
            "category": "b",
            "from_month": int(random.integers(0, 9)),
            "every_months": int(random.integers(1, 20)),
            "to_month": int(random.integers(10, 60)),
        },
        {
            "name": "for a while",
            "usd": 5,
            "quantity": 2.5,
            "per": "gpu_month",
            "category": "c",
            "from_month": int(random.integers(0, 20)),
            "to_month": int(random.integers(20, 60)),
        },
        {"name": "wear", "usd": 0.02, "per": "gpu_used_hour", "category": "d"},
    ]
    by_year = {"c": 0.04, "d": [1, 0.5, 2], "energy": -0.1, "gpu": [1, 0.8], "facility": 0.03, "support": 0.5}
    option: dict[str, Any] = {"gpus": 8, "costs": costs, "by_year": by_year}
    if owned:
        option["purchase"] = {"usd": 9000, "resale_usd": 500, "resale_fraction": 0.1, "support_fraction_per_year": 0.06}
        option["power"] = {"kw": 3, "pue": 1.2, "usd_per_kwh": 0.1, "idle_fraction": 0.4, "usd_per_kw_month": 20}
        option["depreciation"] = {"method": "straight_line_2"}
    else:
        option["rent"] = {"usd_per_gpu_hour": 0.25}
        option["support"] = {"fraction": 0.1, "of": ["gpu", "c"]}
    return option


def _model(option: dict[str, Any]) -> tuple[np.ndarray, float]:
    """Return what an option pays at the end of each month (0 is the start), resale in it, and its value after tax."""
    month = np.arange(HORIZON + 1)
    year = np.maximum(0, (month - 1) // 12)
    used = np.asarray(USED)[np.minimum(year, len(USED) - 1)]
    running, gpus, start = month > 0, option["gpus"], np.zeros(HORIZON + 1)

    def factor(category: str) -> np.ndarray:
        given = option["by_year"].get(category, 0.0)
        return np.asarray(given)[np.minimum(year, len(given) - 1)] if isinstance(given, list) else (1 + given) ** year

    once, often, while_, _ = option["costs"]
    paid = 900.0 * (month == once["from_month"])
    due = (month >= often["from_month"]) & (month <= often["to_month"])
    paid = paid + 70.0 * (due & ((month - often["from_month"]) % often["every_months"] == 0))
    c = 12.5 * gpus * factor("c") * (month > while_["from_month"]) * (month <= while_["to_month"])
    paid = paid + c + 0.02 * gpus * HOURS * used * factor("d") * running
    if "rent" in option:
        gpu = 0.25 * gpus * HOURS * used * factor("gpu") * running
        paid = paid + gpu + 0.1 * factor("support") * (gpu + c)
    else:
        energy = 3 * 1.2 * 0.1 * HOURS * (0.4 + 0.6 * used) * factor("energy")
        paid = paid + (energy + 3 * 20 * factor("facility") + 9000 * 0.06 / 12 * factor("support")) * running
        start[0] = 9000
        start[-1] = -1400
    # What is paid once at the start is bought too, and written off as the rest, or in a year where nothing else is.
    bought = start[0] + paid[0]
    paid[0], life = 0.0, 2 if "purchase" in option else 1
    start[0] = bought
    taxed = start + paid * (1 - TAX)
    taxed[12 : 12 * life + 1 : 12] -= TAX * bought / life
    taxed[-1] += TAX * -start[-1]
    return start + paid, float(np.sum(taxed * (1 + RATE) ** (-month / 12)))


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, Any]]:
    """Owned and rented options with random months."""
    random = np.random.default_rng(5)
    return {f"o{number}": _option(random, owned=number % 2 == 0) for number in range(6)}


@pytest.fixture(scope="module")
def computed(options: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, float | None]:
    """Every figure of the case that has them all."""
    case = {
        "case": "dated",
        "horizon_months": HORIZON,
        "discount_rate": RATE,
        "tax_rate": TAX,
        "utilisation": list(USED),
        "options": options,
        "expected": {"o0.total_usd": 1},
    }
    path = tmp_path_factory.mktemp("case") / "case.yaml"
    path.write_text(json.dumps(case), encoding="utf-8")
    return check_case(path, PriceBook.open()).computed


def test_totals_and_present_values(options: dict[str, dict[str, Any]], computed: dict[str, float | None]) -> None:
    """Sums, present values before and after tax and years of cash are those of a model without SQL, to the cent."""
    month = np.arange(HORIZON + 1)
    for name, option in options.items():
        paid, after_tax = _model(option)
        assert computed[f"{name}.total_usd"] == pytest.approx(paid.sum(), abs=0.005)
        assert computed[f"{name}.npv_usd"] == pytest.approx(np.sum(paid * (1 + RATE) ** (-month / 12)), abs=0.005)
        assert computed[f"{name}.npv_after_tax_usd"] == pytest.approx(after_tax, abs=0.005)
        assert computed[f"{name}.cash_year_2_usd"] == pytest.approx(paid[13:25].sum(), abs=0.005)


def test_every_pair_breaks_even_where_the_sums_cross(
    options: dict[str, dict[str, Any]], computed: dict[str, float | None]
) -> None:
    """Any option against any other one: the last month in which it has paid more, plus a part of the next one."""
    crossed = 0
    # Resale is no cash before the end.
    paid = {name: np.cumsum(_model(option)[0]) for name, option in options.items()}
    for name, option in options.items():
        paid[name][-1] += 1400 * ("purchase" in option)
    for mine, theirs in permutations(options, 2):
        gap = paid[mine] - paid[theirs]
        above = np.flatnonzero(gap > 1e-9)
        found = computed[f"{mine}.vs.{theirs}.breakeven_months"]
        if not above.size:
            assert found == 0
        elif above[-1] == HORIZON:
            assert found is None
        else:
            last = above[-1]
            assert found == pytest.approx(last + gap[last] / (gap[last] - gap[last + 1]), abs=1e-6)
            crossed += 1
    assert crossed >= 3
