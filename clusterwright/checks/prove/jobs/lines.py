"""Lines of Slurm's files: keys and values, and the names that its short form of hosts means."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.checks.prove.papers import CellError, Papers

SLURM, GRES, TOPOLOGY, CGROUP = "slurm.conf", "gres.conf", "topology.conf", "cgroup.conf"
ACCOUNTING = "slurmdbd.conf"
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
#: No cluster has more hosts.
_MOST_HOSTS = 1_000_000
_PAIR = re.compile(r"(\w+)\s*=\s*(\"[^\"]*\"|\S+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a file: its number, the keys and values on it, keys in lower case."""

    file: str
    number: int
    values: Mapping[str, str]

    def get(self, key: str) -> str:
        """Return the value of a key, empty if the line has none."""
        return self.values.get(key.lower(), "")


def lines_of(papers: Papers, file: str) -> list[Line]:
    """Return the lines of one of Slurm's files that say something."""
    found_lines = []
    for number, text in logical_lines(papers.text(file)):
        said = text.split("#", 1)[0].strip()
        if said:
            pairs = {key.lower(): value.strip('"') for key, value in _PAIR.findall(said)}
            found_lines.append(Line(file=file, number=number, values=pairs))
    return found_lines


def logical_lines(text: str) -> list[tuple[int, str]]:
    r"""Return number and text of every line, those that a backslash at the end continues joined to the first.

    >>> logical_lines("A=1 \\\n  B=2\nC=3")
    [(1, 'A=1   B=2'), (3, 'C=3')]
    """
    found: list[tuple[int, str]] = []
    going_on = False
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.removesuffix("\\")
        if going_on:
            first, before = found.pop()
            found.append((first, before + said))
        else:
            found.append((number, said))
        going_on = said != line
    return found


def hosts_of(expression: str) -> list[str]:
    """Return the names that Slurm's short form means.

    >>> hosts_of("dgx[001-002,007],login1")
    ['dgx001', 'dgx002', 'dgx007', 'login1']

    Raises:
        CellError: it is no such form, or it means more than a million names.
    """
    names: list[str] = []
    for item in re.findall(r"[^,\[\]]+(?:\[[^\]]*\])?[^,\[\]]*", expression):
        form = re.fullmatch(r"([^\[\]]*)(?:\[([^\]]*)\])?", item)
        if form is None:
            raise CellError(f"{expression!r} is no list of hosts")
        if form[2] is None:
            names.append(form[1])
            continue
        for span in form[2].split(","):
            ends = re.fullmatch(r"(\d+)(?:-(\d+))?", span)
            if ends is None:
                raise CellError(f"{expression!r} is no list of hosts")
            first, last = int(ends[1]), int(ends[2] or ends[1])
            if last - first + len(names) > _MOST_HOSTS:
                raise CellError(f"{expression[:80]!r} names more than a million hosts")
            names += [f"{form[1]}{number:0{len(ends[1])}d}" for number in range(first, last + 1)]
    return names


def minutes_of(text: str) -> float | None:
    """Return a time limit of Slurm in minutes; None for no limit.

    >>> minutes_of("4:00:00"), minutes_of("1-00:00:00"), minutes_of("INFINITE")
    (240.0, 1440.0, None)

    Raises:
        CellError: it is no time limit.
    """
    if text.upper() in {"", "INFINITE", "UNLIMITED"}:
        return None
    form = _TIME.fullmatch(text)
    if form is None:
        raise CellError(f"{SLURM}: {text!r} is no time limit")
    days, first, second = (int(part or 0) for part in form.groups()[:3])
    if form[1]:
        return float(days * 1440 + first * 60 + second)
    return float(first * 60 + second if form[4] else first)
