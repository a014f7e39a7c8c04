"""Docstrings, comments, help and pages say things in plain words: a list of idioms that are refused."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterwright import assets

_ROOT = assets.root()
#: What is refused, and what to write.
_REFUSED = {
    r"told": "shown, reported, given, or distinguished",
    r"so many(?! that)": "the given number of",
    r"stands(?! for| in for| out| still|-)": "is",
    r"mine": "own, or the noun",
    r"anew": "again",
    r"held against": "compared with",
    r"dear end": "high end",
    r"comes of": "follows from",
    r"which see": "a link",
    r"less cash so far": "cumulative-cash breakeven",
    r"cluster's head": "head node",
}
_PATTERN = re.compile("|".join(rf"\b(?:{word})\b" for word in _REFUSED), re.I)
#: Code within text keeps its names.
_CODE = re.compile(r"`[^`]*`|https?://\S+|[\w.]*_told\w*|told_\w+|^\s*told: |\S+\.ya?ml|-o mine")
#: Generated from recorded results, whose words change with the next recording.
_RECORDED = {"stacks.md", "mutants.md", "codes.md"}
_WITH_BODY = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _pages() -> list[Path]:
    docs = (path for path in sorted((_ROOT / "docs").rglob("*.md")) if path.name not in _RECORDED)
    return [*docs, _ROOT / "README.md", _ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("path", sorted((_ROOT / "clusterwright").rglob("*.py")), ids=lambda path: path.stem)
def test_docstrings_comments_and_help_have_no_refused_word(path: Path) -> None:
    """A reader who learnt English elsewhere understands the words alone."""
    assert _refused_in(_prose_of(path.read_text())) == []


@pytest.mark.parametrize("path", _pages(), ids=lambda path: path.stem)
def test_pages_have_no_refused_word(path: Path) -> None:
    """Output of commands in fenced blocks is theirs."""
    fenced = False
    lines = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith("    "):
            lines.append((number, line))
    assert _refused_in(lines) == []


def test_the_list_finds_what_it_refuses() -> None:
    """Each pattern meets its own words, and no word that only looks alike."""
    assert _refused_in([(1, "It is told in so many words"), (2, "A rule stands once")]) == [
        "1: told",
        "1: so many",
        "2: stands",
    ]
    assert _refused_in([(1, "a stand-in stands for it; `told_in`; determined by mine.yaml; so many that")]) == []


def _refused_in(lines: list[tuple[int, str]]) -> list[str]:
    return [f"{number}: {found[0]}" for number, line in lines for found in _PATTERN.finditer(_CODE.sub("", line))]


def _prose_of(text: str) -> list[tuple[int, str]]:
    return sorted({*_docstrings(text), *_comments(text), *_help(text)})


def _docstrings(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, _WITH_BODY):
            continue
        said = ast.get_docstring(node, clean=False)
        if said is None:
            continue
        for number, line in enumerate(said.splitlines(), start=node.body[0].lineno):
            if not line.strip().startswith((">>>", "...")):
                yield number, line


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _help(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg == "help" and isinstance(node.value, ast.Constant):
            yield node.value.lineno, str(node.value.value)
