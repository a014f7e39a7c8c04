"""The planner in a real browser: it fits, answers, explains, marks mistakes, compares, shares, by keyboard too."""

import json
from pathlib import Path

import pytest

from .conftest import ROOT, Browser, Running

pytestmark = pytest.mark.engine

ANSWERED = (
    "document.getElementById('answer').dataset.answered && document.getElementById('answer').ariaBusy === 'false'"
)
SHOWN = "document.querySelector('#shown .compared td .why') !== null"
#: Elements that reach beyond the window, but for those inside of what scrolls.
WIDE = """[...document.body.querySelectorAll("*")].filter(e =>
  !e.closest(".scroll, .drawing, datalist, .skip, .file input, thead") && e.getBoundingClientRect().width > 0 &&
  e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + e.id)"""
#: Fields, buttons and links without a name that a screen reader could say.
NAMELESS = """[...document.querySelectorAll("input, select, textarea, button, a[href]")].filter(e =>
  !(e.textContent.trim() || e.ariaLabel || (e.labels || []).length)).map(e => e.outerHTML)"""
TOKENS = "#f-train-workload-tokens"


def opened(browser: Browser, address: str, width: int = 1400) -> None:
    """Open the planner and wait for its first answer."""
    browser.open(address, width=width)
    browser.until(f"{ANSWERED} && {SHOWN}")


def answered_after(browser: Browser, script: str) -> None:
    """Do something in the page and wait for the answer to it."""
    before = browser.run("document.getElementById('answer').dataset.answered")
    browser.run(script)
    browser.until(f"{ANSWERED} && document.getElementById('answer').dataset.answered !== {json.dumps(before)}")


@pytest.mark.parametrize("width", [400, 800, 1400])
def test_it_fits_phone_tablet_and_desk(browser: Browser, planner: Running, width: int) -> None:
    """Nothing is wider than the window, everything has a name, and nothing was stopped or went wrong."""
    browser.console.clear()
    opened(browser, planner.address, width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(WIDE) == []
    assert browser.run(NAMELESS) == []
    assert browser.run("document.querySelectorAll('#shown svg').length") >= 2
    assert browser.console == []


def test_a_changed_field_changes_the_answer_and_mistakes_stand_at_their_field(
    browser: Browser, planner: Running
) -> None:
    """Typed tokens change the answer; a word that is none is reported at the field, and the last answer stays."""
    opened(browser, planner.address)
    first = browser.run("document.getElementById('answer-lines').textContent")
    before = browser.run("document.getElementById('answer').dataset.answered")
    browser.type(TOKENS, "600e9")
    browser.until(f"{ANSWERED} && document.getElementById('answer').dataset.answered !== {json.dumps(before)}")
    second = browser.run("document.getElementById('answer-lines').textContent")
    assert second != first
    before = browser.run("document.getElementById('answer').dataset.answered")
    browser.type(TOKENS, "many")
    browser.until(f"{ANSWERED} && document.getElementById('answer').dataset.answered !== {json.dumps(before)}")
    field = f"document.querySelector('{TOKENS}')"
    assert "many" in browser.run(f"{field}.closest('.field').querySelector('.wrong').textContent")
    assert browser.run(f"{field}.ariaInvalid") == "true"
    assert browser.run("document.getElementById('answer-lines').textContent") == second


def test_a_number_is_explained_by_keyboard(browser: Browser, planner: Running) -> None:
    """A number of the table is reached by focus, Enter opens where it comes from, Escape closes it again."""
    opened(browser, planner.address)
    browser.run("document.querySelector('.why[data-number=run_usd]').focus()")
    browser.key("Enter", 13, "\r")
    browser.until("document.querySelector('#why pre') !== null")
    assert "=" in browser.run("document.querySelector('#why pre').textContent")
    browser.key("Escape", 27)
    browser.until("!document.getElementById('why').open")
    browser.run("document.querySelector('.why[data-number=\"\"]').click()")
    browser.until("document.querySelectorAll('#why details').length > 20")


@pytest.mark.parametrize("kind", ["serve", "finetune"])
def test_every_kind_is_planned(browser: Browser, planner: Running, kind: str) -> None:
    """Choosing a kind shows its fields alone and gives its answer; an example does so too."""
    opened(browser, planner.address)
    choose = f"k.value = '{kind}'; k.dispatchEvent(new Event('change', {{ bubbles: true }}))"
    answered_after(browser, f"(k => {{ {choose} }})(document.getElementById('kind'))")
    assert browser.run("document.querySelectorAll('#problems .failed').length") == 0
    shown = browser.run(
        "[...document.querySelectorAll('.group[data-kind]')].filter(g => !g.hidden).map(g => g.dataset.kind)"
    )
    assert set(shown) == {kind}
    assert browser.run("document.getElementById('answer-lines').textContent.length") > 40


def test_a_link_holds_the_blueprint_and_says_what_it_cannot_restore(browser: Browser, planner: Running) -> None:
    """A shared link brings the values back; a key that no version knows is named; a broken link is said to be."""
    opened(browser, planner.address)
    link = browser.run("put('workload.tokens', 500e9), put('goals.finish_by', 'soon'), linked()")
    opened(browser, f"{planner.address}#{link}")
    assert browser.run(f"document.querySelector('{TOKENS}').value") == "500e9"
    assert "goals.finish_by" in browser.run("document.getElementById('notice').textContent")
    assert browser.run("values.goals.finish_by === undefined")
    opened(browser, f"{planner.address}#b1.AAAA")
    assert "cannot be restored" in browser.run("document.getElementById('notice').textContent")


def test_a_saved_plan_is_compared_with(browser: Browser, planner: Running) -> None:
    """After saving, a change is shown beside the answer, and all of it on demand."""
    opened(browser, planner.address)
    browser.run("document.getElementById('save').click()")
    answered_after(browser, "put('workload.tokens', 400e9), soon()")
    assert "aws" in browser.run("document.getElementById('beside').textContent")
    browser.run("document.getElementById('changed').click()")
    browser.until("document.querySelectorAll('#why table').length > 1")
    assert "workload" in browser.run("document.querySelector('#why table').textContent")
    browser.run("localStorage.clear()")


def test_yaml_is_imported_and_exported(browser: Browser, planner: Running) -> None:
    """A file's text fills the form, the text of the form is the file's blueprint, and mistakes in a file are named."""
    opened(browser, planner.address)
    text = (ROOT / "blueprints" / "serve-llama3-70b.yaml").read_text()
    answered_after(browser, f"take({json.dumps(text)}, 'the file')")
    assert browser.run("document.getElementById('kind').value") == "serve"
    assert browser.run("document.querySelector('#f-serve-traffic-users').value") == "10000"
    browser.run("document.getElementById('as-text').open = true")
    browser.until("document.getElementById('text').value.includes('llama-3.1-70b')")
    browser.run("take('a: [b', 'the file')")
    browser.until("document.getElementById('notice').textContent.includes('cannot be read: line 1')")


def test_markup_in_a_blueprint_stays_text(browser: Browser, planner: Running) -> None:
    """A description and a name that hold markup are shown as they are, and no script of theirs runs."""
    opened(browser, planner.address)
    browser.run("put('description', '<img src=x onerror=window.bad=1>'), put('name', '<b>x</b>'), soon()")
    browser.until("document.querySelector('#f-name').closest('.field').querySelector('.wrong').textContent.length > 0")
    assert browser.run("window.bad === undefined && document.querySelector('img') === null")


def test_its_picture_is_not_empty(browser: Browser, planner: Running, tmp_path: Path) -> None:
    """What the window shows is a picture with the form and the charts: more than a sheet of one colour."""
    opened(browser, planner.address)
    picture = browser.picture()
    (tmp_path / "planner.png").write_bytes(picture)
    assert len(picture) > 40_000
