"""The site builds without a warning, works from a folder, and asks nobody for anything."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.documentation.built_site import MKDOCS, NOT_INSTALLED, build

#: What a page loads, by the tag and its attribute.
_LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
#: Places that the theme's own switches name.
_OF_THE_THEME = {"__skip", "__toc", "__search"}


class Page(HTMLParser):
    """Anchors, links and loaded files of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what the tag names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for name, value in given.items():
            # An address that says where a page is published, or another page, is no request.
            if (tag, name) in _LOADED and given.get("rel") not in ("canonical", "next", "prev"):
                self.loaded.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, require_engine: Callable[..., None]) -> Path:
    """Return the folder of the site, built strictly from the staged pages."""
    require_engine(working=MKDOCS.exists(), reason=NOT_INSTALLED)
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def built(site: Path) -> dict[Path, Page]:
    """Return every page of the site."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_links_and_their_places_exist(built: dict[Path, Page], site: Path) -> None:
    """Every link within the site leads to a file, and where it names a place, to that place."""
    wrong: list[str] = []
    for path, page in built.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//") or path.name == "404.html":
                continue
            other = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if other.is_dir():
                other /= "index.html"
            known = built[other].anchors | _OF_THE_THEME if other in built else set()
            if not other.is_file() or (parts.fragment and parts.fragment not in known):
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert not wrong, "\n".join(wrong)


def test_pages_ask_nobody(built: dict[Path, Page], site: Path) -> None:
    """Scripts, styles, fonts and pictures lie in the folder: nothing is requested from elsewhere."""
    for path, page in built.items():
        for address in page.loaded:
            assert not urlsplit(address).scheme or address.startswith("data:"), f"{path.name}: {address}"
            assert not address.startswith("//"), f"{path.name}: {address}"
    for style in site.rglob("*.css"):
        for address in re.findall(r"url\((?![\"']?data:)([^)]*)\)", style.read_text(encoding="utf-8")):
            assert not urlsplit(address.strip("\"'")).scheme, f"{style.name}: {address}"


def test_search_works_from_a_folder(site: Path) -> None:
    """The index is a script that a page from a folder may load, and it knows codes, keys and commands."""
    text = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    titles = {entry["title"] for entry in index["docs"]}
    assert {"PLC010", "Choose how nodes are rented", "prices cheapest"} <= titles
    assert any("targets.aws" in title for title in titles)


def test_search_answers_in_a_browser(site: Path, require_engine: Callable[..., None]) -> None:
    """A page that was opened from a folder, without a server, finds what is searched for."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
    require_engine(browser)
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=20000",
            "--dump-dom",
            f"file://{site}/howto/capacity.html?q=PLC010",
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert re.search(r"md-search-result__meta\">\s*[1-9]\d* matching document", done.stdout), done.stderr[-2000:]


def test_both_colour_schemes_are_there(built: dict[Path, Page], site: Path) -> None:
    """A reader who prefers dark gets dark, and can choose."""
    text = (site / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'data-md-color-scheme="(\w+)"', text)) >= {"default", "slate"}
    assert "(prefers-color-scheme: dark)" in text
    assert site / "index.html" in built


def test_no_comment_of_a_test_is_shown(built: dict[Path, Page]) -> None:
    """What comments say of how a page is made is not on it as text."""
    for path in built:
        assert "&lt;!-- " not in path.read_text(encoding="utf-8"), path.name
