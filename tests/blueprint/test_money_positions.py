"""What is wrong in the section `tco` is shown once, in plain words, with the caret under the value or key to change."""

from pathlib import Path

import pytest

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError

_BEFORE = """\
name: one
workload: {kind: train, model: gpt3-175b, tokens: 1e9, sequence_length: 2048, global_batch: 8}
targets: {onprem: {system: dgx-h100}}
"""


def _problems(folder: Path, line: str) -> list[tuple[str, str]]:
    """Return what is wrong with a line, each with the text above the caret."""
    path = folder / "one.yaml"
    path.write_text(_BEFORE + line + "\n")
    with pytest.raises(BlueprintError) as caught:
        load(path)
    found = []
    for problem in caught.value.problems:
        assert problem.position is not None
        start = problem.position.column - 1
        assert problem.position.line == _BEFORE.count("\n") + 1
        found.append((problem.message, line[start : start + problem.position.length]))
    return found


@pytest.mark.parametrize(
    ("line", "message", "marked"),
    [
        ("tco: {owner: {staff_fte_per_gpu: {base: null}}}", "is a number, or a band", "{base: null}"),
        ("tco: {owner: {staff_fte_per_gpu: {base: .nan}}}", "nan is not from 0", "{base: .nan}"),
        (
            "tco: {owner: {resale_fraction: 9 %, resale_by_age: [{age: 1 years, share: 1}]}}",
            "twice",
            "[{age: 1 years, share: 1}]",
        ),
        ("tco: {owner: {demand_reserved_kw: 100}}", "demand_usd_per_kw_month, which is missing", "100"),
        ("tco: {currency: {code: USD, usd: 2, day: 2026-01-01}}", "1 USD is 1 USD, not 2", "2"),
        ("tco: {currency: eur}", "should match", "eur"),
        ("tco: {bonus_depreciation: lwa}", "should be 'law'", "lwa"),
        ("tco: {bonus_depreciation: .nan}", "nan is not a fraction", ".nan"),
        ("tco: {bonus_depreciation: 120 %}", "1.2 is no share", "120 %"),
        ("tco: {cloud: {support: bussiness}}", "should be 'business' or 'enterprise'", "bussiness"),
        ("tco: {cloud: {support: 5 x}}", "'x' is not a unit", "5 x"),
        ("tco: {cloud: {support: 100 %}}", "is no share", "100 %"),
        (
            "tco: {contracts: [{target: aws, discounted: [compute, computer]}]}",
            "discounted.1: input should be",
            "computer",
        ),
        ("tco: {contracts: [{target: aws, discounted: []}]}", "at least 1 item", "[]"),
        ("tco: {contracts: [{target: aws, payment: all_upfront}]}", "nothing is paid in advance", "all_upfront"),
        ("tco: {contracts: [{target: aws}, {target: aws, rate: 2}]}", "an amount of money needs", "2"),
        ("tco: {contracts: [{target: aws}, {}]}", "tco.contracts.1.target is missing", "{}"),
        (
            "tco: {contracts: [{target: aws}, {target: gcp}, {target: aws, discount: 0 %}]}",
            "3 of tco.contracts is the same",
            "{target: aws, discount: 0 %}",
        ),
        ("tco: {hybrid: [{owned: 50 %}, {owned: 0.5}]}", "mix 2 of tco.hybrid is the same as mix 1", "{owned: 0.5}"),
        (
            "tco: {other_providers: [lambda, coreweave, lambda]}",
            "provider 3 of tco.other_providers is the same",
            "lambda",
        ),
        ("tco: {housing: {room: {resale_fraction: 10 %}}}", "resale_fraction is the same in every place", "10 %"),
        (
            "tco: {housing: {room: {tariff: us-va/industrial, power_price_usd_per_kwh: 0.1}}}",
            "given twice",
            "us-va/industrial",
        ),
        ("tco: {housing: {room: {demand_reserved_kw: 100}}}", "demand_usd_per_kw_month, which is missing", "100"),
        (
            "tco: {currency: {code: EUR, usd: 1e-300, day: 2026-01-01}}",
            "greater than or equal to 0.000000001",
            "1e-300",
        ),
        ("tco: {housing: {room: {pue: 0.9}}}", "0.9 is not from 1 to 4", "0.9"),
        ("tco: {financing: [{kind: buy, rate: 8 %}]}", "buy has no rate", "8 %"),
        ("tco: {financing: [{kind: loan, rate: 8 %}]}", "loan needs term", "loan"),
        (
            "tco: {financing: [{kind: operating_lease, rate: 8 %, term: 2 years}]}",
            "operating_lease has no term",
            "2 years",
        ),
        ("tco: {financing: [{kind: finance_lease}]}", "finance_lease needs rate", "finance_lease"),
        ("tco: {financing: [{kind: buy}, {kind: buy}]}", "way 2 of tco.financing is the same as way 1", "{kind: buy}"),
        (
            "tco: {refresh: 2 years, financing: [{kind: buy}, {kind: finance_lease, rate: 1 %}]}",
            "is of one purchase",
            "{kind: finance_lease, rate: 1 %}",
        ),
        ("tco: {growth: -100 %}", "greater than -1", "-100 %"),
        ("tco: {other_providers: nobody}", "should be 'all' or 'none'", "nobody"),
        ("tco: {other_providers: [corewave]}", "no provider is called 'corewave'", "corewave"),
        ("tco: {uncertainty: {utilisation: 2000 %}}", "less than or equal to 10", "2000 %"),
        ("tco: {uncertainty: {utilisation: .nan}}", "nan is not a fraction", ".nan"),
        ("tco: {uncertainty: {'a [b': 10 %}}", "is not an id", "'a [b'"),
        ("tco: {lease: {rate: 8 %}, growth: 10 %}", "is of one purchase", "{rate: 8 %}"),
        ("tco: {cloud: {setup: 1e300 USD}}", "less than or equal to 1e12", "1e300 USD"),
        ("tco: {contracts: [{target: aws, rate: 1e300 USD}]}", "less than or equal to 1000000", "1e300 USD"),
        ("tco: {deposit: 50 %}", "no time to it", "50 %"),
    ],
)
def test_one_problem_at_its_place(tmp_path: Path, line: str, message: str, marked: str) -> None:
    """One mistake is one problem, without the words of the validator, and marks what is to be changed."""
    ((said, text),) = _problems(tmp_path, line)
    assert message in said
    assert "literal[" not in said
    assert "function-" not in said
    assert text == marked


def test_all_at_once(tmp_path: Path) -> None:
    """Mistakes of several sections are reported together."""
    line = "tco: {tax_rate: 1, growth: x, hybrid: [{owned: 2}, {owned: 3}], cloud: {support: no, setup: -1 USD}}"
    assert sorted(text for _, text in _problems(tmp_path, line)) == ["-1 USD", "1", "2", "3", "no", "x"]
