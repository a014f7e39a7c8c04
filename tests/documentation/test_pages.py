"""The pages as a whole: names, sizes, links with their places, commands with their options, and how they speak."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer
from ruamel.yaml import YAML

from clusterwright.cli.main import app
from clusterwright.cli.reference.pages import FOLDERS, former_names, page, pages
from clusterwright.documentation.site import ELSEWHERE
from tests.documentation.console import ROOT, blocks, steps

DOCS = ROOT / "docs"
ALL = sorted(DOCS.rglob("*.md"))
#: Written by hand for users. Evidence is apart, the reference is generated, and pages of the project are for those who
#: change it; the glossary owns words.
WRITTEN = [path for path in ALL if path.parent.name in ("docs", "start", "tutorials", "howto", "explain")]
#: Most bytes of all pages that are written by hand, and of one page by its folder; without what commands print.
MOST_IN_ALL = 150_000
MOST = {"tutorials": 8_000, "howto": 4_500, "explain": 8_000, "start": 6_500}
#: Words of a sentence, on average, that no page of a reader goes beyond.
LONGEST_MEAN = 24
_HEADING = re.compile(r"^(#+) (.+)$")
_LINK = re.compile(r"\]\(([^)#:\s]*)(#[^)\s]*)?\)")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _written(path: Path) -> str:
    """Return a page without comments and without what its commands and its Python print, which are written by tests."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for block in reversed(list(blocks(text))):
        kept = list(block.lines)
        if block.language == "console":
            kept = [line for step in steps(block) for line in step.written]
        elif block.language == "python":
            kept = [line for line in block.lines if line.startswith((">>>", "..."))]
        lines[block.first + 1 : block.first + 1 + len(block.lines)] = kept
    return re.sub(r"<!--.*?-->\n", "", "\n".join(lines), flags=re.S)


def _places(path: Path) -> set[str]:
    """Return the anchors of a page: headings as GitHub and the site number them."""
    seen: Counter[str] = Counter()
    found = set()
    fenced = False
    for line in path.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else _HEADING.match(line)
        if heading:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[2])
            slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            found.add(slug if not seen[slug] else f"{slug}_{seen[slug]}")
            seen[slug] += 1
    return found


def test_names_are_unique_and_every_page_is_found() -> None:
    """`clusterwright docs NAME` knows each page by one name, in a folder that it lists."""
    assert Counter(path.stem for path in ALL).most_common(1)[0][1] == 1
    assert set(pages().values()) == set(ALL)
    assert {path.relative_to(DOCS).parts[0] for path in ALL if path.parent != DOCS} == set(FOLDERS) - {""}


def test_names_that_pages_had_lead_to_pages() -> None:
    """A message of an earlier version names a page that can be read today."""
    assert set(former_names().values()) <= set(pages())
    assert not set(former_names()) & set(pages())


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_links_lead_to_places_that_exist(path: Path) -> None:
    """Every link has a page at its other end, and where it names a place, a heading."""
    for target, place in _LINK.findall(re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)):
        other = (path.parent / target).resolve() if target else path
        assert other.exists(), f"{target}{place}"
        if place and other.suffix == ".md":
            assert place[1:] in _places(other), f"{target}{place}: one of {sorted(_places(other))}"


def test_the_site_lists_every_page_once() -> None:
    """The navigation of the site has every page, and no other."""
    yaml = YAML(typ="safe")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = list(_leaves(yaml.load(re.sub(r"!!python/\S+", "", text))["nav"]))
    assert Counter(listed).most_common(1)[0][1] == 1
    assert set(listed) == {path.relative_to(DOCS).as_posix() for path in ALL} | set(ELSEWHERE.values())


def _leaves(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [leaf for below in inside for leaf in _leaves(below)]


def test_pages_written_by_hand_stay_small() -> None:
    """A reader meets 150 kB at most, a tutorial of 8, and how-tos of one screen or two."""
    sizes = {path: len(_written(path).encode()) for path in WRITTEN}
    too_long = {
        _name(path): size for path, size in sizes.items() if size > MOST.get(path.parent.name, max(MOST.values()))
    }
    assert not too_long
    assert sum(sizes.values()) <= MOST_IN_ALL, sum(sizes.values())


@pytest.mark.parametrize(
    "path", [path for path in WRITTEN if path.parent.name in ("howto", "tutorials", "start")], ids=_name
)
def test_pages_speak_to_a_reader_who_wants_to_do_something(path: Path) -> None:
    """A page that says how has something to type, says "you", and keeps its sentences short."""
    text = _written(path)
    assert "```" in text
    prose = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.S)
    prose = re.sub(r"^[|#].*$", "", re.sub(r"`[^`]*`", "x", prose), flags=re.M)
    assert re.search(r"\byour?s?\b", prose, re.I), "nobody is spoken to"
    sentences = [part.split() for part in re.split(r"(?<=[.!?:;])\s|\n\n|\n(?=- )", prose) if len(part.split()) > 2]
    mean = sum(map(len, sentences)) / len(sentences)
    assert mean <= LONGEST_MEAN, f"{mean:.0f} words a sentence"


@pytest.mark.parametrize("path", [*ALL, ROOT / "README.md"], ids=_name)
def test_options_exist(path: Path) -> None:
    """Every option behind a command of ours is one that it takes."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    root: Any = typer.main.get_command(app)
    for line in re.findall(r"(?:^|\$ |`|=\S+ )clusterwright ([a-z][^`\n#|>]*)", text, re.M):
        words = line.split()
        command = root
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        if hasattr(command, "commands") and "show" in command.commands:
            command = command.commands["show"]
        known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)} | {
            "-h",
            "--help",
        }
        given = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z][\w-]*(=.*)?", word)}
        assert given <= known, f"{line}: {sorted(given - known)}"


def test_messages_name_pages_that_exist() -> None:
    """Every `clusterwright docs NAME` in the program, its files and its pages can be read."""
    sources = [
        *(ROOT / "clusterwright").rglob("*.py"),
        *(ROOT / "templates").rglob("*"),
        *(ROOT / "catalog").glob("*.csv"),
    ]
    named = 0
    for path in (*sources, *ALL, ROOT / "README.md"):
        if path.is_file() and path.suffix != ".png":
            for name in re.findall(r"clusterwright docs ([a-z][\w-]*)", path.read_text(encoding="utf-8")):
                assert page(name), f"{path}: {name}"
                named += 1
    assert named > 20


def test_no_message_of_the_program_names_a_path_below_docs() -> None:
    """An installed wheel has no `docs/`; what a user reads there is a command."""
    for path in (ROOT / "clusterwright").rglob("*.py"):
        if path.parent.name == "documentation":
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            printed = re.search(r"(help|description|message|title)=f?[\"'].*\bdocs/[\w/-]+\.md", line)
            assert not printed, f"{path}: {line.strip()}"
