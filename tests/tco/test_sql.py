"""Each statement on its own: a few rows in, the expected rows out."""

from dataclasses import asdict
from typing import Any

import duckdb
import pytest

from clusterwright.pricing.statements import files, statement
from clusterwright.tco.formulas.unit_cost import run_total
from clusterwright.tco.ledger.engine import TABLES
from clusterwright.tco.ledger.results import run_parts
from clusterwright.tco.terms.owner_costs import owner_costs

Row = dict[str, Any]
#: Tables that are empty where no contract is told.
CONTRACTS = ("contract", "charge", "support_tier", "mix", "mix_part", "payment", "commitment_lot")
TAGS = {
    "item": "x",
    "capex_or_opex": "opex",
    "fixed_or_variable": "fixed",
    "held": False,
    "basis": "documented",
    "source": "list",
    "price_date": "2026-01-01",
    "confidence": "high",
}


def _amount(key: str, month_end: float, category: str, usd: float, **changes: object) -> Row:
    row: Row = {"scenario": "base", "key": key, "part_key": key, "month_end": month_end, "category": category}
    return row | {"usd": usd} | TAGS | changes


def _work(key: str, *, owned: bool, runs: float = 10.0) -> Row:
    return {
        "key": key,
        "owned": owned,
        "priced": True,
        "competes": True,
        "listed": True,
        "nodes": 1.0,
        "gpus": 8.0,
        "it_power_w": 1000.0 if owned else None,
        "run_hours": 100.0,
        "runs": runs,
        "busy_fraction": 0.5,
        "share_while_running": 0.05,
        "share_while_held": 0.1,
    }


def _paced(*keys: str, months: tuple[float, ...]) -> dict[str, list[Row]]:
    """Return months in which nothing grows or is replaced: bought at the start, sold at the end."""
    nothing = {"bought": 0.0, "added": 0.0, "removed": 0.0, "removed_bought": 0.0, "sold": 0.0}
    event = [
        {"key": key, "month_end": month} | nothing | changes
        for key in keys
        for month, changes in (
            (0.0, {"bought": 1.0, "added": 1.0}),
            (months[-1], {"removed": 1.0, "removed_bought": 1.0, "sold": 1.0}),
        )
    ]
    stage = [
        {"key": key, "month_end": month, "work": 1.0, "capacity": 1.0, "equipment": 1.0}
        for key in keys
        for month in months
    ]
    lot = {"lot_month": 0.0, "size": 1.0}
    return {
        "stage": stage,
        "event": event,
        "lot_stage": [row | lot for row in stage],
        "lot_event": [row | lot for row in event],
    }


def _run(path: str, tables: dict[str, list[Row]], *, before: tuple[str, ...] = (), **parameters: object) -> list[Row]:
    connection = duckdb.connect()
    for name, rows in tables.items():
        connection.execute(f"create table {name} as select unnest($rows, recursive := true)", {"rows": rows})
    for name in CONTRACTS:
        if name not in tables:
            connection.execute(f"create table {name} as {statement(f'tco/sql/stg_{name}.sql')}", {"rows": []})
    if "work" in tables:
        connection.execute("create or replace table mix_work (key varchar, part_key varchar, work_share double)")
        connection.execute(f"create table option_work as {statement('tco/sql/option_work.sql')}")
        if "run_time" not in tables:
            connection.execute(
                "create table run_time as select key, unnest(['low', 'base', 'high']) as scenario, 1.0 as factor"
                " from work"
            )
    for name in before:
        text = statement(f"tco/sql/{name}.sql")
        used = {key: value for key, value in parameters.items() if f"${key}" in text}
        connection.execute(f"create or replace table {name} as {text}", used)
    parameters = {key: value for key, value in parameters.items() if f"${key}" in statement(path)}
    cursor = connection.execute(statement(path), parameters)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _candidate(key: str, days: float, *, owned: bool) -> Row:
    return {
        "key": key,
        "owned": owned,
        "priced": True,
        "competes": True,
        "listed": True,
        "nodes": 1.0,
        "gpus": 8.0,
        "calendar_days": days,
        "utilisation": None,
        "it_power_w": 1000.0,
    }


@pytest.mark.parametrize(("reference_days", "runs"), [(None, 24.0), (60.0, 8.0)])
def test_work(reference_days: float | None, runs: float) -> None:
    """Runs are counted with the longest owned run, or with the days that are given."""
    rows = [
        _candidate("cloud", 30, owned=False),
        _candidate("fast", 10, owned=True),
        _candidate("slow", 20, owned=True),
    ]
    found = _run(
        "tco/sql/work.sql",
        {"candidate": rows},
        horizon_months=20.0,
        hours_per_month=720.0,
        utilisation=0.8,
        runs=None,
        reference_days=reference_days,
        mean_work=1.0,
    )
    assert {row["key"]: (row["runs"], row["busy_fraction"]) for row in found} == {
        "cloud": (pytest.approx(runs), pytest.approx(runs * 30 / 600)),
        "fast": (pytest.approx(runs), pytest.approx(runs * 10 / 600)),
        "slow": (pytest.approx(runs), pytest.approx(runs * 20 / 600)),
    }
    slow = found[2]
    assert slow["share_while_running"] == pytest.approx(20 / 600)
    assert slow["share_while_held"] == pytest.approx(20 / 600 / 0.8)
    rows[1]["utilisation"] = 0.4
    half = _run(
        "tco/sql/work.sql",
        {"candidate": rows},
        horizon_months=20.0,
        hours_per_month=720.0,
        utilisation=0.8,
        runs=None,
        reference_days=reference_days,
        mean_work=1.0,
    )
    assert (half[0], half[2]) == (found[0], found[2])
    assert half[1]["busy_fraction"] == pytest.approx(found[1]["busy_fraction"] / 2)
    assert half[1]["share_while_held"] == pytest.approx(found[1]["share_while_held"] * 2)


def test_work_of_given_runs() -> None:
    """Given runs are the work whatever a run takes; a candidate that works half as much does half of them."""
    rows = [_candidate("cloud", 30, owned=False), _candidate("own", 10, owned=True) | {"utilisation": 0.25}]
    found = _run(
        "tco/sql/work.sql",
        {"candidate": rows},
        horizon_months=20.0,
        hours_per_month=720.0,
        utilisation=0.5,
        runs=30.0,
        reference_days=None,
        mean_work=1.2,
    )
    assert [row["runs"] for row in found] == [pytest.approx(30.0), pytest.approx(15.0)]
    assert [row["busy_fraction"] for row in found] == [pytest.approx(25 * 30 / 600), pytest.approx(12.5 * 10 / 600)]


def test_work_without_owner() -> None:
    """Among rented candidates alone the slowest sets the pace."""
    rows = [_candidate("a", 30, owned=False), _candidate("b", 15, owned=False)]
    found = _run(
        "tco/sql/work.sql",
        {"candidate": rows},
        horizon_months=1.0,
        hours_per_month=720.0,
        utilisation=0.5,
        runs=None,
        reference_days=None,
        mean_work=1.0,
    )
    assert {row["key"]: row["busy_fraction"] for row in found} == {"a": 0.5, "b": 0.25}


def test_cash_flow() -> None:
    """A purchase in month 0, rent by hours worked and by month, energy at rest and at work, resale at the end."""
    rates = {
        "power_price_usd_per_kwh": 0.1,
        "pue": 1.5,
        "load_power_fraction": 0.8,
        "idle_power_fraction": 0.3,
        "colocation_usd_per_kw_month": 100.0,
        "installation_fraction": 0.1,
        "spares_fraction": 0.05,
        "support_fraction_per_year": 0.12,
        "staff_fte_per_gpu": 0.01,
        "staff_usd_per_fte_year": 120000.0,
        "resale_fraction": 0.4,
    }
    parameter = [
        {"scenario": "base", "candidate_key": "", "key": key, "value": value} | {name: TAGS[name] for name in _SOURCED}
        for key, value in rates.items()
    ]
    priced = {"committed": False, "by_term": False, "term_months": None, "quantity": 2.0} | {
        name: TAGS[name] for name in _SOURCED
    }
    lines: list[Row] = [
        {"key": key, "item": item, "category": item, "charge": charge, "scales_with": scales, "unit_usd": usd} | priced
        for key, item, charge, scales, usd in (
            ("mine", "server", "once", "cluster", 500.0),
            ("theirs", "node", "hourly", "nodes", 3.0),
            ("theirs", "disk", "monthly", "cluster", 7.0),
        )
    ]
    for line in lines:
        line |= {"unit_usd_low": line["unit_usd"], "unit_usd_high": line["unit_usd"]}
    found = _run(
        "tco/sql/cash_flow.sql",
        {
            "parameter": parameter,
            "priced_line": lines,
            "work": [_work("mine", owned=True), _work("theirs", owned=False)],
            **_paced("mine", "theirs", months=(1.0, 1.5)),
            "owner_cost": [asdict(term) | {"parameters": list(term.parameters)} for term in owner_costs()],
            "surcharge": [
                {
                    "key": "theirs",
                    "category": "support",
                    "item": "Support plan",
                    "fraction": 0.1,
                    "of_categories": ["disk"],
                    "source": "contract",
                },
            ],
        },
        before=TABLES[TABLES.index("period") : TABLES.index("cash_flow")],
        horizon_months=1.5,
        hours_per_month=730.0,
        growth_per_year=0.0,
    )
    rows = {(row["key"], row["item"], row["month_end"]): row for row in found}
    usd = {key: row["usd"] for key, row in rows.items()}
    assert usd == {
        ("mine", "server", 0.0): 1000.0,
        ("mine", "Installation and burn-in", 0.0): pytest.approx(100.0),
        ("mine", "Spare parts", 0.0): pytest.approx(50.0),
        ("mine", "Resale at the end of the horizon", 1.5): pytest.approx(-400.0),
        **_monthly("mine", "Hardware support", 10.0),
        **_monthly("mine", "Hardware operations staff", 800.0),
        **_monthly("mine", "Space and cooling per kW of IT load", 100.0),
        **_monthly("mine", "Energy drawn at all times", 0.3 * 1.5 * 0.1 * 730),
        **_monthly("mine", "Energy drawn more while it works", 0.5 * 0.5 * 1.5 * 0.1 * 730),
        **_monthly("theirs", "node", 2 * 3.0 * 730 * 0.5),
        **_monthly("theirs", "disk", 14.0),
        **_monthly("theirs", "Support plan", 1.4),
    }
    tags = {item: (row["capex_or_opex"], row["fixed_or_variable"], row["held"]) for (_, item, _), row in rows.items()}
    assert tags["server"] == ("capex", "fixed", True)
    assert tags["node"] == ("opex", "variable", False)
    assert tags["disk"] == ("opex", "fixed", False)
    assert tags["Energy drawn at all times"] == ("opex", "fixed", True)
    assert tags["Energy drawn more while it works"] == ("opex", "variable", True)


_SOURCED = ("basis", "source", "price_date", "confidence")


def _monthly(key: str, item: str, usd: float) -> dict[tuple[str, str, float], object]:
    return {(key, item, 1.0): pytest.approx(usd), (key, item, 1.5): pytest.approx(usd / 2)}


def test_candidate_total() -> None:
    """Capex is of month 0, the present value is discounted by month, priced shares are of absolute amounts."""
    flow = [
        _amount("mine", 0, "compute", 1000.0, capex_or_opex="capex", held=True),
        _amount("mine", 12, "energy", 50.0, held=True, basis="assumed", fixed_or_variable="variable"),
        _amount("mine", 12, "storage", 20.0),
        _amount("mine", 24, "resale", -121.0, capex_or_opex="capex", held=True, basis="assumed"),
    ]
    (row,) = _run(
        "tco/sql/candidate_total.sql",
        {"cash_flow": flow, "work": [_work("mine", owned=True)]},
        discount_rate=0.1,
    )
    assert row == {
        "scenario": "base",
        "key": "mine",
        "capex_usd": 1000.0,
        "horizon_usd": 949.0,
        "npv_usd": pytest.approx(1000 + 70 / 1.1 - 100),
        "capex_priced_share": 1.0,
        "horizon_priced_share": pytest.approx(1020 / 1191),
    }


def test_run_total() -> None:
    """Variable costs go to runs evenly, held ones by hours worked, others by the time of the run; resale is less."""
    flow = [
        _amount("mine", 0, "compute", 1000.0, capex_or_opex="capex", held=True),
        _amount("mine", 12, "energy", 50.0, held=True, basis="assumed", fixed_or_variable="variable"),
        _amount("mine", 12, "storage", 20.0),
        _amount("mine", 24, "resale", -121.0, capex_or_opex="capex", held=True, basis="assumed"),
    ]
    rows = _run("tco/sql/run_total.sql", {"cash_flow": flow, "work": [_work("mine", owned=True)]})
    (parts,) = run_parts(rows).values()
    total = run_total(parts)
    assert total.usd == pytest.approx(1000 * 0.1 + 50 / 10 + 20 * 0.05 - 121 * 0.1)
    assert total.priced_share == pytest.approx(101 / (101 + 5 + 12.1))


def test_a_run_of_another_time_takes_its_share() -> None:
    """What is paid by the hour is longer in the cash flow; of what is held, a longer run takes more."""
    flow = [
        _amount("mine", 12, "energy", 60.0, held=True, fixed_or_variable="variable", scenario="high"),
        _amount("mine", 12, "space", 100.0, held=True, scenario="high"),
        _amount("mine", 12, "storage", 20.0, scenario="high"),
    ]
    times = [{"key": "mine", "scenario": "high", "factor": 1.2}]
    tables = {"cash_flow": flow, "work": [_work("mine", owned=True)], "run_time": times}
    ((option, parts),) = run_parts(_run("tco/sql/run_total.sql", tables)).items()
    assert option == ("mine", "high")
    assert run_total(parts).usd == pytest.approx(60 / 10 + 100 * 0.1 * 1.2 + 20 * 0.05 * 1.2)
    assert _run("tco/sql/candidate_total.sql", tables, discount_rate=0.0)[0]["horizon_usd"] == 180.0


def test_category_total() -> None:
    """Categories carry their USD over the horizon and in a run, and the priced part of each; largest first."""
    flow = [
        _amount("a", 1, "storage", 10.0, basis="assumed"),
        _amount("a", 1, "storage", 30.0),
        _amount("a", 1, "compute", 100.0, fixed_or_variable="variable"),
    ]
    found = _run("tco/sql/category_total.sql", {"cash_flow": flow, "work": [_work("a", owned=False)]})
    assert [tuple(row.values()) for row in found] == [
        ("a", "compute", 100.0, 100.0, pytest.approx(10.0), pytest.approx(10.0)),
        ("a", "storage", 40.0, 30.0, pytest.approx(2.0), pytest.approx(1.5)),
    ]


def test_cumulative() -> None:
    """Every month has a point, also without payment; resale is left out."""
    flow = [
        _amount("a", 0, "compute", 100.0),
        _amount("a", 2, "energy", 5.0),
        _amount("a", 2.5, "energy", 2.0),
        _amount("a", 2.5, "resale", -50.0),
    ]
    found = _run("tco/sql/cumulative.sql", {"cash_flow": flow}, horizon_months=2.5)
    assert [(row["month_end"], row["usd"]) for row in found] == [(0, 100), (1, 100), (2, 105), (2.5, 107)]


def _curve(key: str, *usd: float, scenario: str = "base") -> list[Row]:
    return [
        {"scenario": scenario, "key": key, "month_end": float(month), "usd": value} for month, value in enumerate(usd)
    ]


@pytest.mark.parametrize(
    ("mine", "theirs", "months"),
    [
        ((100, 110, 120, 130), (0, 50, 100, 150), 2.5),
        ((100, 110, 120, 130), (0, 50, 100, 129), None),
        ((100, 110, 120, 130), (0, 50, 100, 130), 3.0),
        ((0, 10, 20, 30), (0, 50, 100, 150), 0.0),
        ((100, 100, 180, 180), (0, 120, 130, 230), 2.5),
    ],
)
def test_breakeven_month(mine: tuple[float, ...], theirs: tuple[float, ...], months: float | None) -> None:
    """Breakeven is where the curves cross for good; none if not in the horizon; 0 if owning is never dearer."""
    tables = {
        "cumulative": _curve("mine", *mine) + _curve("theirs", *theirs),
        "work": [_work("mine", owned=True), _work("theirs", owned=False)],
    }
    (row,) = _run("tco/sql/breakeven_month.sql", tables, every_pair=False)
    assert row == {"scenario": "base", "owned_key": "mine", "rented_key": "theirs", "months": months}


def test_breakeven_month_of_the_ends() -> None:
    """The owner's cheap and dear ends are held against the renter's base."""
    curves = _curve("theirs", 0, 50, 100)
    for scenario, start in (("low", 50), ("base", 75), ("high", 100)):
        curves += _curve("mine", start, start, start, scenario=scenario)
    curves += _curve("theirs", 0, 1, 2, scenario="low")
    tables = {"cumulative": curves, "work": [_work("mine", owned=True), _work("theirs", owned=False)]}
    found = _run("tco/sql/breakeven_month.sql", tables, every_pair=False)
    assert {row["scenario"]: row["months"] for row in found} == {"low": 1.0, "base": 1.5, "high": 2.0}


@pytest.mark.parametrize(
    ("fixed", "variable", "rent", "utilisation"),
    [
        (100.0, 10.0, 210.0, 0.25),
        (100.0, 10.0, 10.0, None),
        (0.0, 10.0, 5.0, None),
        (0.0, 5.0, 10.0, 0.0),
        (100.0, 0.0, 25.0, 2.0),
    ],
)
def test_breakeven_utilisation(fixed: float, variable: float, rent: float, utilisation: float | None) -> None:
    """Fixed cost + u x variable / 0.5 = u x rent / 0.5 gives u; none if every hour worked costs the owner more."""
    flow = [
        _amount("mine", 0, "compute", fixed),
        _amount("mine", 1, "energy", variable, fixed_or_variable="variable"),
        _amount("theirs", 1, "compute", rent, fixed_or_variable="variable"),
    ]
    tables = {"cash_flow": flow, "work": [_work("mine", owned=True), _work("theirs", owned=False)]}
    (row,) = _run("tco/sql/breakeven_utilisation.sql", tables, utilisation=0.5, every_pair=False)
    assert row == {"owned_key": "mine", "rented_key": "theirs", "utilisation": utilisation}


def test_cash_flow_row() -> None:
    """Reports read the base scenario alone, of one candidate or of all."""
    flow = [_amount("a", 1, "energy", 5.0), _amount("b", 1, "energy", 6.0)]
    flow.append(_amount("a", 1, "energy", 4.0, scenario="low"))
    assert [row["usd"] for row in _run("tco/sql/cash_flow_row.sql", {"cash_flow": flow}, key="")] == [5.0, 6.0]
    assert [row["usd"] for row in _run("tco/sql/cash_flow_row.sql", {"cash_flow": flow}, key="b")] == [6.0]


def test_basis_amount() -> None:
    """What is paid and what is received add up without their sign, by origin, in the base scenario alone."""
    flow = [
        _amount("a", 1, "energy", 5.0),
        _amount("a", 2, "resale", -4.0),
        _amount("a", 1, "energy", 9.0, scenario="low"),
        _amount("a", 1, "energy", 2.0, source="another"),
        _amount("b", 1, "energy", 6.0),
    ]
    found = [(row["key"], row["usd"]) for row in _run("tco/sql/basis_amount.sql", {"cash_flow": flow})]
    assert sorted(found) == [("a", 2.0), ("a", 9.0), ("b", 6.0)]


SOUND = {
    "cash_flow": [
        _amount("a", 0, "compute", 100.0, capex_or_opex="capex", scenario=scenario)
        for scenario in ("low", "base", "high")
    ]
    + [
        _amount("a", month, "energy", 5.0, scenario=scenario)
        for month in (1, 2)
        for scenario in ("low", "base", "high")
    ]
    + [
        _amount("a", 2, "resale", -20.0, capex_or_opex="capex", scenario=scenario)
        for scenario in ("low", "base", "high")
    ],
    "cumulative": [
        point for scenario in ("low", "base", "high") for point in _curve("a", 100, 105, 110, scenario=scenario)
    ],
    "priced_line": [{"key": "a", "charge": "once", "category": "compute", "quantity": 4.0, "unit_usd": 25.0}],
    "owner_cost": [{"item": "Staff"}],
    "work": [_work("a", owned=True)],
    # Ten runs take half of the 2,000 hours, and so half of the 90 USD.
    "run_cost": [{"scenario": scenario, "key": "a", "run_usd": 4.5} for scenario in ("low", "base", "high")],
    **_paced("a", months=(1.0, 2.0)),
}


def _audit(tables: dict[str, list[Row]]) -> set[str]:
    return {
        path.stem
        for path in files("tco/audits")
        if _run(f"tco/audits/{path.name}", tables, horizon_months=2.0, hours_per_month=1000.0, utilisation=0.5)
    }


def test_sound_cash_flow_passes() -> None:
    """A cash flow that reconciles passes every audit."""
    assert _audit(SOUND) == set()


#: An audit, which row of the cash flow is made wrong, and what in it.
FAULTS: list[tuple[str, int, Row]] = [
    ("value_missing", 3, {"usd": None}),
    ("value_missing", 3, {"usd": float("nan")}),
    ("value_missing", 3, {"source": ""}),
    ("value_missing", 3, {"basis": "guessed"}),
    ("value_missing", 3, {"capex_or_opex": "cost"}),
    ("negative_amount", 3, {"usd": -5.0}),
    ("negative_amount", 9, {"usd": 20.0}),
    ("month_missing", 6, {"month_end": 1.0}),
    ("purchase_not_bill", 1, {"usd": 101.0}),
    ("category_sum", 4, {"usd": 5.01}),
    ("scenario_order", 3, {"usd": 50.0}),
    ("purchase_late", 1, {"month_end": 1.0}),
    ("purchase_late", 3, {"month_end": 0.0}),
    ("unit_not_cash", 4, {"usd": 5.02}),
    ("unit_not_cash", 4, {"fixed_or_variable": "variable"}),
]


def test_every_audit_has_a_fault() -> None:
    """No audit is there that nothing is known to set off."""
    assert {audit for audit, _, _ in FAULTS} == {path.stem for path in files("tco/audits")}


@pytest.mark.parametrize(("audit", "position", "changes"), FAULTS)
def test_fault_in_cash_flow_is_caught(audit: str, position: int, changes: Row) -> None:
    """A row that breaks an identity is caught by the audit of that identity."""
    flow = [dict(row) for row in SOUND["cash_flow"]]
    flow[position] |= changes
    assert audit in _audit(SOUND | {"cash_flow": flow})
