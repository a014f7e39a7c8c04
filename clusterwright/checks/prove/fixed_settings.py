"""Settings that are the same on every site: lines of scripts, services and pages against `catalog/fixed_settings.csv`.

A row of the table names files, an expression with one group, and what the group may be. With `like` the group has to be
that of a second expression in the same file, or, with `alike`, one and the same wherever it is found.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.catalog import tables
from clusterwright.checks.prove.papers import Papers, absent, examined
from clusterwright.checks.prove.records import Result
from clusterwright.errors import ClusterwrightError, Finding

FILE = "fixed_settings.csv"
_RULE = "SET003"
_ALIKE = "alike"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Setting:
    """A row of the table.

    Attributes:
        files: patterns of paths within the folder; when: what is true of sites that have it, empty for all.
        key: finds it, with one group; value: what the group may be; like: expression or `alike`.
        needed: a file without it is wrong, too.
        expected, why: in words.
    """

    files: tuple[str, ...]
    when: str
    key: re.Pattern[str]
    value: re.Pattern[str]
    like: str
    needed: bool
    expected: str
    why: str


@cache
def _settings() -> tuple[_Setting, ...]:
    try:
        rows = [row.cells for row in tables.read(assets.root() / "catalog" / FILE)]
        return tuple(
            _Setting(
                files=tuple(row["files"].split()),
                when=row.get("when", ""),
                key=re.compile(row["key"], re.MULTILINE),
                value=re.compile(row.get("value", "")),
                like=row.get("like", ""),
                needed=row["need"] == "yes",
                expected=row["expected"],
                why=row["why"],
            )
            for row in rows
        )
    except (OSError, ValueError, KeyError, re.error) as error:
        raise ClusterwrightError(f"cannot read {FILE}: {error}", help="install Clusterwright again") from error


def _true_of(papers: Papers) -> set[str]:
    """Return the conditions of the table that are true of a site."""
    documents = papers.documents
    system = papers.catalogue.systems[documents.design.inventory.system]
    software = documents.plan.software_of(documents.option.target)
    architecture = None if software is None else software.version("host_architecture")
    vendor = papers.catalogue.accelerators[system.accelerator].vendor.lower()
    found = {"", vendor}
    if vendor == "nvidia":
        found.add("dgx" if system.name.startswith("NVIDIA DGX") else "no-dgx")
    if (architecture or "x86_64") == "x86_64":
        found.add("x86")
    return found | {str(getattr(documents.plan.workload, "framework", "")).lower()}


def prove_fixed(papers: Papers) -> Result:
    """Return what holds of the settings that no site has of its own."""
    texts: dict[str, str] = {}
    read = list(_read(papers, texts))
    lines = sum(len(setting.key.findall(texts[name])) for setting, names in read for name in names)
    facts = [f"{lines:,} lines of {len(texts):,} scripts, services, policies and pages say what they do on every site"]

    def differing(_: Papers) -> Iterator[Finding]:
        for setting, names in read:
            yield from _of(setting, {name: texts[name] for name in names})

    return examined("fixed settings", papers, tuple(texts), (differing,), facts)


def _read(papers: Papers, texts: dict[str, str]) -> Iterator[tuple[_Setting, list[str]]]:
    """Yield the settings that a site has, with the files of each, whose texts are kept."""
    true, site = _true_of(papers), papers.documents.site
    for setting in _settings():
        if setting.when not in true:
            continue
        paths = {path for files in setting.files for path in site.glob(files) if path.is_file()}
        names = sorted(path.relative_to(site).as_posix() for path in paths)
        for name in names:
            if name not in texts:
                texts[name] = papers.text(name)
        if names:
            yield setting, names


def _of(setting: _Setting, texts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the places of one setting that have another value, and the files without it."""
    found = {name: list(setting.key.finditer(text)) for name, text in texts.items()}
    usual = _usual(setting, found)
    for name, matches in found.items():
        if setting.needed and not matches:
            yield absent(_RULE, name, "a setting", None, setting.expected, setting.why)
        for match in matches:
            said, expected = match[1] or "", setting.expected
            right = setting.value.fullmatch(said) is not None
            if setting.like == _ALIKE and said != usual:
                right, expected = False, usual
            elif setting.like and setting.like != _ALIKE:
                other = re.search(setting.like, texts[name], re.MULTILINE)
                if other is not None and other[1] != said:
                    right, expected = False, f"{other[1]}, {expected}"
            if not right:
                line = texts[name].count("\n", 0, match.start(1) if match[1] is not None else match.start()) + 1
                yield absent(_RULE, f"{name}:{line}", _shown(match), said, expected, setting.why)


def _usual(setting: _Setting, found: Mapping[str, Sequence[re.Match[str]]]) -> str:
    counted = Counter(match[1] or "" for matches in found.values() for match in matches)
    return counted.most_common(1)[0][0] if counted and setting.like == _ALIKE else ""


def _shown(match: re.Match[str]) -> str:
    """Return the line of a setting, as a message quotes it."""
    text = match.string
    at = match.start(1) if match[1] is not None else match.start()
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = " ".join(text[start : end if end >= 0 else len(text)].split())
    return f"“{line[:80]}”"
