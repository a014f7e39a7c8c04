"""Every rule that an answer can name: what it refuses or warns of, why, what to do, an example, and its page."""

import csv
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError, InputError

#: Form of an id: letters of the subject and three digits.
ID = re.compile(r"(?:[A-Z]{3,6}|K8S)[0-9]{3}")
SEVERITIES = ("error", "warning", "check")
SUBJECTS = ("blueprint", "preflight", "project", "proof")
_FILE = "rules.csv"
_SOFTWARE_FILE = "software_rules.csv"
_NEAREST = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One row of `catalog/rules.csv`.

    Attributes:
        id: stable id that findings carry, for example `MEM001`.
        about: subject of the finding, one of `SUBJECTS`: a blueprint and its plan, a project that
            preflight reads or that its own `cluster.sh` brings up, or written documents.
        severity: `error` and `warning` when a blueprint is planned or documents are proven; `check` of preflight, whose
            outcome decides.
        page: page of the documentation, for example `docs/howto/capacity.md`.
        section: heading on that page, empty for the whole page.
        what: condition that raises the finding; for a check, the condition that holds when it passes.
        why: consequence that the rule prevents.
        fix: what to do.
        example: input that raises it.
    """

    id: str
    about: str
    severity: str
    page: str
    section: str
    what: str
    why: str
    fix: str
    example: str

    @property
    def place(self) -> str:
        """Page with the anchor of its section, as Markdown links name it."""
        anchor = re.sub(r"[^\w\- ]", "", self.section.lower()).replace(" ", "-")
        return f"{self.page}#{anchor}" if anchor else self.page


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules of `catalog/rules.csv` and the requirements of `catalog/software_rules.csv`, by file and row.

    Raises:
        ClusterwrightError: a file is missing, or a row of it is not whole.
    """
    requirements = dict.fromkeys(_requirement(row) for row in _rows(_SOFTWARE_FILE))
    return (*(_rule(row) for row in _rows(_FILE)), *requirements)


def check_rule(rule_id: str) -> Rule:
    """Return the rule of a check of preflight.

    Raises:
        ClusterwrightError: the table has no such check; the installation is broken.
    """
    for rule in rules():
        if rule.id == rule_id:
            return rule
    raise ClusterwrightError(f"{_FILE} has no row of {rule_id}", help="install Clusterwright again")


def rules_named(text: str) -> tuple[Rule, ...]:
    """Return the rules with an id: one, or a row for each release that a requirement of software speaks of.

    Raises:
        InputError: no rule has the id; the help names the nearest ones.
    """
    wanted = text.upper()
    named = tuple(rule for rule in rules() if rule.id == wanted)
    if named:
        return named
    known = sorted({rule.id for rule in rules()})
    near = get_close_matches(wanted, known, n=_NEAREST, cutoff=0.0)
    same_letters = [each for each in known if each[:-3] == wanted[:-3]]
    if same_letters:
        near = get_close_matches(wanted, same_letters, n=_NEAREST, cutoff=0.0)
    raise InputError(
        f"there is no rule {wanted}", help=f"the nearest ids are {', '.join(near)}; clusterwright docs codes lists all"
    )


def _rows(name: str) -> list[dict[str, str]]:
    path = assets.root() / "catalog" / name
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise ClusterwrightError(f"cannot read {name}: {error}", help="install Clusterwright again") from error


def _rule(row: dict[str, str]) -> Rule:
    if not all(row.get(name) for name in ("id", "page", "what", "why", "fix", "example")):
        raise ClusterwrightError(f"{_FILE}: the row of {row.get('id')} is not whole", help="fill in its empty cells")
    if row["severity"] not in SEVERITIES or row["about"] not in SUBJECTS or not ID.fullmatch(row["id"]):
        raise ClusterwrightError(
            f"{_FILE}: the row of {row['id']} has an unknown severity, subject or form of id",
            help=f"severities are {', '.join(SEVERITIES)}, subjects {', '.join(SUBJECTS)}",
        )
    return Rule(**row)


def _requirement(row: dict[str, str]) -> Rule:
    return Rule(
        id=row["id"],
        about="blueprint",
        severity="error" if row["level"] == "error" else "warning",
        page="docs/howto/software.md",
        section="Pin or forbid versions",
        what=f"The versions of {row['subject']} do not go together.",
        why=row["truth"],
        fix=f"Change the version of {row['component']} or of {row['requires'] or 'the component that it requires'}.",
        example=row["fails"],
    )
