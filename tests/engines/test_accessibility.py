"""axe-core in a real browser: nothing serious on the report, the planner and the documentation site."""

import importlib.util
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest

from tests.documentation.built_site import MKDOCS, NOT_INSTALLED, build
from tests.web.conftest import Browser, Running, running
from tests.web.test_planner_chromium import ANSWERED, SHOWN, TOKENS

pytestmark = pytest.mark.engine

WIDTHS = (400, 800, 1400)
SCHEMES = ("light", "dark")
#: Findings that keep somebody from reading or using a page, each with the elements that it is about.
SERIOUS = """
axe.run(document, { resultTypes: ["violations"] }).then(found => found.violations
  .filter(finding => ["serious", "critical"].includes(finding.impact))
  .flatMap(finding => finding.nodes.map(node => [finding.id, finding.impact, node.html.slice(0, 160),
    node.failureSummary].join(" | "))))
"""
ALL_PARTS = "for (const part of document.querySelectorAll('.panel')) part.style.display = 'block'"


@pytest.fixture(scope="module")
def axe(require_engine: Callable[..., None]) -> str:
    """Return the source of axe-core; the package that bundles it is not imported, since it wants its own browser."""
    there = importlib.util.find_spec("axe_playwright_python") is not None
    require_engine(working=there, reason="axe-core is not installed (make environments)")
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def planner() -> Iterator[Running]:
    """Run a planner."""
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]) -> Path:
    """Return the folder of the site."""
    require_engine(working=MKDOCS.exists(), reason=NOT_INSTALLED)
    return build(tmp_path_factory.mktemp("site"))


def _serious(browser: Browser, axe: str) -> list[str]:
    browser.run(f"{axe}; null")
    found: list[str] = browser.run(SERIOUS)
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_report(browser: Browser, axe: str, report: Path, width: int, scheme: str) -> None:
    """Every part of the report can be read and used on every width, by day and by night."""
    browser.prefer(scheme)
    browser.open(report.as_uri(), width=width)
    # A screen shows one part at a time; all of them are looked at.
    browser.run(ALL_PARTS)
    assert _serious(browser, axe) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_planner(browser: Browser, axe: str, planner: Running, width: int, scheme: str) -> None:
    """The form and its answer can be read and used, and so can what is said of a mistake."""
    browser.prefer(scheme)
    browser.open(planner.address, width=width)
    browser.until(f"{ANSWERED} && {SHOWN}")
    assert _serious(browser, axe) == []
    browser.type(TOKENS, "many")
    browser.until("[...document.querySelectorAll('.wrong')].some(element => element.textContent)")
    assert _serious(browser, axe) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("page", ["index.html", "start/first-plan.html", "reference/examples.html"])
def test_site(browser: Browser, axe: str, site: Path, page: str, scheme: str) -> None:
    """Pages of the documentation can be read and used."""
    browser.prefer(scheme)
    browser.open((site / page).as_uri())
    # The theme keeps what was chosen before.
    browser.run("localStorage.clear()")
    browser.open((site / page).as_uri())
    browser.until(f"document.body.dataset.mdColorScheme === '{'slate' if scheme == 'dark' else 'default'}'")
    assert _serious(browser, axe) == []


def test_what_is_wrong_is_found(browser: Browser, axe: str, tmp_path: Path) -> None:
    """Text of too little contrast and a field without a label are found."""
    page = tmp_path / "wrong.html"
    page.write_text(
        "<!doctype html><html lang=en><title>Wrong</title><main><h1>Wrong</h1><input>"
        "<p style='color: #bbb; background: #fff'>pale</p></main>"
    )
    browser.open(page.as_uri())
    assert {finding.partition(" ")[0] for finding in _serious(browser, axe)} == {"color-contrast", "label"}
