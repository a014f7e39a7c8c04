"""The sliders of the report in a real browser: exact to the cash flow, by the keyboard, in links, on every width."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.cli.planning import plan_of
from clusterwright.finance.what_if import HORIZON, POWER, RENT, RESALE, WORK, WhatIf, what_if
from clusterwright.outputs.report.page import TABS
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.words import capital, term_text
from clusterwright.pricing.book import PriceBook
from tests.opened import report_html
from tests.recounts import recounted_usd
from tests.web.conftest import Browser

pytestmark = pytest.mark.engine

BLUEPRINTS = assets.root() / "blueprints"
#: By way: what its row holds in full, in the order of the table.
ROWS = """
[...document.querySelectorAll("#what-if-rows tr")].map(row => [
  row.cells[0].textContent, row.dataset.present ? [Number(row.dataset.present), Number(row.dataset.paid)] : null,
  row.cells[1].textContent])
"""
SETTINGS = (
    {WORK: 0.8},
    {WORK: 0.35, RENT: 0.6, POWER: 0.12},
    {WORK: 1.0, RENT: 1.25, RESALE: 2.0, HORIZON: 24.0},
    {WORK: 0.05, POWER: 0.3, RESALE: 0.0, HORIZON: 60.0},
    {RENT: 0.4, RESALE: 1.3, HORIZON: 12.0},
)
#: As the addresses of the page name them.
NAMES = {WORK: "utilisation", RENT: "rent", POWER: "power", RESALE: "resale", HORIZON: "horizon"}


def _possible(plan: Plan) -> WhatIf:
    found = what_if(plan, PriceBook.open())
    assert found is not None
    return found


def _address(setting: Mapping[str, float], names: Mapping[str, str]) -> str:
    return "#what-if;" + ";".join(f"{names[name]}={value!r}" for name, value in setting.items())


def _rows(browser: Browser) -> list[tuple[str, list[float] | None, str]]:
    return [(name, usd, text) for name, usd, text in browser.run(ROWS)]


def test_at_the_plans_values_it_says_what_the_plan_says(browser: Browser, report: Path, shipped_plan: Plan) -> None:
    """Untouched, the rows are the ranked ways in the words of the comparison, and nothing is logged."""
    browser.console.clear()
    browser.open(report.as_uri())
    assert browser.console == []
    rows, ways = _rows(browser), shipped_plan.ranked
    assert [name for name, *_ in rows] == [capital(term_text(way.key)) for way in ways]
    assert [text for *_, text in rows] == USD.column(way.money.npv_usd for way in ways)
    for way, (_, usd, _) in zip(ways, rows, strict=True):
        assert usd == pytest.approx([way.money.npv_usd, way.money.horizon_usd], rel=1e-9)
    answer = browser.run("document.getElementById('what-if-answer').textContent").replace("\xa0", " ")
    assert answer.startswith(
        f"{rows[0][0]} costs least over 36 months: {rows[0][2]} in present value; next {rows[1][0]}"
    )


@pytest.mark.parametrize("setting", SETTINGS, ids=" ".join)
def test_the_script_gives_what_a_cash_flow_gives(
    browser: Browser, report: Path, shipped_plan: Plan, setting: dict[str, float]
) -> None:
    """Every present value and every sum equals a new cash flow with these values, and the rows are ranked by it."""
    found = _possible(shipped_plan)
    browser.open(report.as_uri() + _address(setting, NAMES))
    wanted = recounted_usd(shipped_plan, PriceBook.open(), found, {**found.base, **setting})
    by_name = {capital(term_text(key)): usd for key, usd in wanted.items()}
    rows = _rows(browser)
    assert {name for name, *_ in rows} == by_name.keys()
    for name, usd, text in rows:
        expected = by_name[name]
        assert (usd is None) == (expected is None)
        assert text == "cannot do this work" if expected is None else usd == pytest.approx(list(expected), rel=1e-9)
    present = [usd[0] for _, usd, _ in rows if usd is not None]
    assert present == sorted(present)


@pytest.mark.parametrize(("blueprint", "work"), [("serve-llama3-70b", None), ("finetune-llama3-70b-lora", 8.0)])
def test_services_and_fine_tuning_have_sliders_too(
    browser: Browser, tmp_path: Path, blueprint: str, work: float | None
) -> None:
    """A service has none for its hours, fine-tuning counts its runs a month; both are exact, and say the command."""
    plan = plan_of(BLUEPRINTS / f"{blueprint}.yaml", [])
    found, page = _possible(plan), tmp_path / "report.html"
    page.write_text(report_html(plan), encoding="utf-8")
    setting = {RENT: 0.75, POWER: 0.2, RESALE: 0.5, HORIZON: 48.0} | ({} if work is None else {WORK: work})
    browser.open(page.as_uri() + _address(setting, NAMES | {WORK: "runs"}))
    assert browser.run("document.getElementById('what-if-lost').hidden")
    wanted = recounted_usd(plan, PriceBook.open(), found, {**found.base, **setting})
    rows = _rows(browser)
    assert len(rows) == len(wanted)
    for name, usd, _ in rows:
        expected = next(usd for key, usd in wanted.items() if capital(term_text(key)) == name)
        assert (None if usd is None else tuple(usd)) == pytest.approx(expected, rel=1e-9)
    said = browser.run("document.getElementById('what-if-command').textContent")
    assert ("economics.runs=384" in said) == (work is not None)


def test_the_command_of_the_page_gives_its_figures(browser: Browser, report: Path, shipped_plan: Plan) -> None:
    """A plan with the overrides that the page prints has its present values, wherever it takes the same clusters."""
    setting = {WORK: 0.7, POWER: 0.14, RESALE: 1.2, HORIZON: 48.0}
    browser.open(report.as_uri() + _address(setting, NAMES))
    said = browser.run("document.getElementById('what-if-command').textContent")
    assert said.startswith("clusterwright compare BLUEPRINT --set ")
    again = plan_of(BLUEPRINTS / "train-gpt3-175b.yaml", re.findall(r"--set '([^']*)'", said))
    shown = {name: usd for name, usd, _ in _rows(browser)}
    same = [
        (before.key, after.money.npv_usd, after.money.horizon_usd)
        for before in shipped_plan.ranked
        if (after := again.alternative(before.key)) is not None and after.cluster == before.cluster
    ]
    assert {"onprem", "aws/on_demand", "aws/reserved_3y", "gcp/flex_start"} <= {key for key, *_ in same}
    for key, *usd in same:
        assert shown[capital(term_text(key))] == pytest.approx(usd, rel=1e-6), key


def test_a_contract_gives_the_rent_of_the_slider(browser: Browser, report: Path) -> None:
    """A discount of 20 % in a contract costs what the way costs with the slider at 80 %."""
    browser.open(report.as_uri() + _address({RENT: 0.8}, NAMES))
    shown = {name: usd for name, usd, _ in _rows(browser)}
    plan = plan_of(BLUEPRINTS / "train-gpt3-175b.yaml", ["tco.contracts=[{target: aws, discount: 20 %}]"])
    way = plan.alternative("aws/on_demand/contract")
    assert way is not None
    assert shown["AWS, on demand"] == pytest.approx([way.money.npv_usd, way.money.horizon_usd], rel=1e-6)


def test_it_is_used_by_the_keyboard_and_kept_in_the_address(browser: Browser, report: Path) -> None:
    """Arrows move a slider, its value is said, the address restores it, and the button leads back to the plan."""
    browser.open(report.as_uri())
    before = _rows(browser)
    browser.run("document.getElementById('what-if-utilisation').focus()")
    for _ in range(6):
        browser.key("ArrowLeft", 37)
    assert browser.run("document.getElementById('what-if-utilisation').getAttribute('aria-valuetext')") == "50 %"
    assert browser.run("document.getElementById('what-if-utilisation-value').textContent") == "50 %"
    assert browser.run("location.hash") == "#what-if;utilisation=0.5"
    moved = _rows(browser)
    assert moved != before
    for name in ("rent", "power", "resale", "horizon"):
        browser.key("Tab", 9)
        assert browser.run("document.activeElement.id") == f"what-if-{name}"
    browser.key("End", 35)
    assert browser.run("location.hash") == "#what-if;utilisation=0.5;horizon=72"
    address = browser.run("location.href")
    browser.key("Tab", 9)
    assert browser.run("document.activeElement.id") == "what-if-reset"
    browser.key("Enter", 13, "\r")
    assert _rows(browser) == before
    assert browser.run("location.hash") == "#what-if"
    browser.open(address)
    assert browser.run("document.getElementById('what-if-horizon').getAttribute('aria-valuetext')") == "72 months"
    live = browser.run("(({role, ariaLive}) => [role, ariaLive])(document.getElementById('what-if-answer'))")
    assert live == ["status", "polite"]
    labels = browser.run("[...document.querySelectorAll('input')].map(field => [field.type, field.labels.length])")
    assert labels == [["range", 1]] * 5


@pytest.mark.parametrize(
    "part",
    [
        "utilisation=0.77",
        "growth=0.2",
        "rent=NaN",
        "power=",
        "resale=",
        "horizon=36;<img src=x onerror=alert(1)>",
        "%E0%A4%A",
    ],
)
def test_a_stale_address_says_what_it_cannot_restore(browser: Browser, report: Path, part: str) -> None:
    """Values that the report does not have leave the plan's own and are named, as text, whatever they hold."""
    browser.console.clear()
    browser.open(report.as_uri())
    before = _rows(browser)
    browser.open(f"{report.as_uri()}#what-if;{part}")
    assert _rows(browser) == before
    lost = browser.run("(({hidden, innerText}) => hidden ? '' : innerText)(document.getElementById('what-if-lost'))")
    assert lost.startswith("The link has values that this report does not have: ")
    assert browser.run("document.images.length") == 0
    assert browser.console == []


def test_only_the_script_that_was_written_runs(browser: Browser, report: Path, tmp_path: Path) -> None:
    """With one character changed the policy stops the script: the page is that of a browser without scripts."""
    source = report.read_text(encoding="utf-8")
    page = tmp_path / "changed.html"
    page.write_text(source.replace('"use strict";', '"use strict"; ', 1), encoding="utf-8")
    browser.console.clear()
    browser.open(page.as_uri())
    assert any("Content Security Policy" in line for line in browser.console)
    assert browser.run("[...document.querySelectorAll('[data-script]')].every(part => part.hidden)")
    assert browser.run("document.getElementById('what-if').getBoundingClientRect().height") == 0
    assert browser.run("document.querySelectorAll('.figures li').length") == 4
    browser.console.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 800, 1400])
def test_sliders_fit_every_width_by_day_and_night(
    browser: Browser, report: Path, shipped_plan: Plan, width: int, scheme: str
) -> None:
    """Nothing is wider than the window, every slider is as wide as a finger needs, and its text can be read."""
    browser._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(report.as_uri() + _address({WORK: 1.0, HORIZON: 60.0}, NAMES), width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    boxes = browser.run(
        "[...document.querySelectorAll('.levers input')].map(field => field.getBoundingClientRect()).map("
        "box => [box.left, box.right, box.height])"
    )
    assert all(0 <= left < right <= width and right - left > 200 and height >= 24 for left, right, height in boxes)
    shown = browser.run(
        "['.levers label', '.levers .detail', '#what-if-answer', '#what-if-rows td', '#what-if-reset'].map(name => {"
        " const style = element => getComputedStyle(element); let element = document.querySelector(name);"
        " const ink = style(element).color;"
        " while (style(element).backgroundColor === 'rgba(0, 0, 0, 0)') element = element.parentElement;"
        " return [name, ink, style(element).backgroundColor]; })"
    )
    for name, ink, ground in shown:
        light, dark = sorted((_luminance(ink), _luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, name
        assert (_luminance(ground) < 0.1) == (scheme == "dark"), name
    assert len(_rows(browser)) == len(shipped_plan.ranked)
    browser._call("Emulation.setEmulatedMedia", features=[])


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour as a browser writes it (WCAG 2.1)."""
    parts = [float(part) / 255 for part in re.findall(r"[0-9.]+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


SHOWN = "[...document.querySelectorAll('.panel')].filter(part => part.getClientRects().length).map(part => part.id)"
CURRENT = """[...document.querySelectorAll(".tabs a")].filter(
  tab => getComputedStyle(tab).borderBottomColor !== "rgba(0, 0, 0, 0)").map(tab => tab.textContent)"""


def test_a_screen_shows_one_part_at_a_time(browser: Browser, report: Path) -> None:
    """A tab opens its part by the keyboard, an address within a part opens that part, and no script is needed."""
    browser.open(report.as_uri())
    assert browser.run(SHOWN) == ["decision"]
    for part in TABS[1:]:
        browser.run(f"document.querySelector('.tabs a[href=\"#{part}\"]').focus()")
        browser.key("Enter", 13, "\r")
        browser.until(f"location.hash === '#{part}'")
        assert browser.run(SHOWN) == [part]
        assert browser.run(CURRENT) == [part.capitalize()]
    browser.open(report.as_uri() + "#source-3")
    assert browser.run(SHOWN) == ["bill"]
    browser.open(report.as_uri() + "#what-if;rent=0.6")
    assert browser.run(SHOWN) == ["decision"]
    without = report.with_name("without.html")
    without.write_text(re.sub(r"<script.*?</script>", "", report.read_text(encoding="utf-8"), flags=re.DOTALL))
    browser.open(without.as_uri() + "#money")
    assert browser.run(SHOWN) == ["money"]


def test_amounts_stay_on_one_line(browser: Browser, report: Path) -> None:
    """No blank that a line may break at stands between a number and its million."""
    browser.open(report.as_uri() + "#what-if;rent=0.6")
    texts = "[...document.querySelectorAll('p, li, .figures *, .detail')].map(element => element.textContent)"
    found = browser.run(texts)
    assert any(re.search("[0-9]\\xa0M", text) for text in found)
    assert [text for text in found if re.search("[0-9] M\\b", text)] == []
