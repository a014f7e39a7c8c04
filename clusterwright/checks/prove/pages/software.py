"""What the pages and tables say of software: one set of versions, the plan's, on every node, and who runs what."""

import re
from collections.abc import Iterator, Sequence

from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.catalog.software.node import Software
from clusterwright.catalog.software.table import GIVEN
from clusterwright.catalog.software.table import software as tables
from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.checks.prove.papers import Row, absent, read_rows, wrong
from clusterwright.errors import Finding

FILE, VERSIONS, SOURCES, JOBS, USERS = (
    "software.md",
    "node/versions.csv",
    "node/software.csv",
    "jobs.md",
    "users.md",
)
_ID = "SFW001"
_ORIGINS = {"given": "the system", "pinned": "pinned", "image": "the image", "newest": "newest that fits"}
#: Components without which a node takes no job.
_NEEDED = {"driver", "kernel_modules", "fabricmanager", "imex"}
#: Names in the table of sources that are components of the plan's set.
_SAME = {"enroot": "enroot", "pyxis": "pyxis", "nvidia-container-toolkit": "nvidia-container-toolkit"}
_COMMIT = re.compile(r"[0-9a-f]{40}")
#: Letters of a commit that a page shows.
_SHORT = 12


def _software(hall: Hall) -> Software | None:
    documents = hall.papers.documents
    return documents.plan.software_of(documents.option.target)


def _rows(hall: Hall) -> Iterator[Sequence[str]] | None:
    software = _software(hall)
    return None if software is None else _releases(software)


def _releases(software: Software) -> Iterator[Sequence[str]]:
    known = tables().components
    for part in software.parts:
        if part.version is not None and (known[part.component].needed_when != GIVEN or part.component == "os"):
            yield part.name, part.version, _ORIGINS[part.origin], part.least or "", part.ended or ""


def _checked(hall: Hall) -> Sequence[str] | None:
    if hall.papers.documents.option.deployment.scheduler == "kubernetes" or _software(hall) is None:
        return None
    return (str(len(hall.inventory.hosts())),)


def _sources(hall: Hall) -> dict[str, Row]:
    return {row["name"]: row for row in read_rows(hall.papers.documents, SOURCES)}


def _containers(hall: Hall) -> Sequence[str] | None:
    if hall.papers.documents.plan.cluster.jobs.environment != "container":
        return None
    rows = _sources(hall)
    return rows["enroot"]["version"], rows["pyxis"]["version"]


def _commits(hall: Hall) -> Sequence[str] | None:
    if hall.papers.documents.plan.cluster.jobs.environment != "container":
        return None
    rows = _sources(hall)
    return rows["enroot"]["reference"][:_SHORT], rows["pyxis"]["reference"][:_SHORT]


def _toolkit(hall: Hall) -> Sequence[str] | None:
    if hall.papers.documents.plan.cluster.jobs.environment != "container":
        return None
    return ("nvidia-container-toolkit", _sources(hall)["nvidia-container-toolkit"]["version"])


def _accounting(hall: Hall) -> Sequence[str]:
    return (hall.inventory.servers()[1],)


def _controllers(hall: Hall) -> Sequence[str]:
    one, other = hall.inventory.servers()[:2]
    return one, other


SAID: tuple[Sentence | Table, ...] = (
    Table(
        file=FILE,
        head=("software", "version", "from", "at least", "support ends"),
        rows=_rows,
        rule="plan.json has this set",
    ),
    Sentence(
        file=FILE,
        text="srun --nodes={} --ntasks-per-node=1 bash /opt/gpu-cluster/software_check.sh",
        values=_checked,
        rule="every host is compared",
    ),
    Sentence(
        file=JOBS,
        text="## Containers: Enroot {} and Pyxis {}\n",
        values=_containers,
        rule=f"{SOURCES} has these versions",
    ),
    Sentence(
        file=JOBS, text="from a release's commit ({} and\n{}), whose id", values=_commits, rule=f"{SOURCES} has these"
    ),
    Sentence(file=JOBS, text="it also installs {} {}, unless there is one", values=_toolkit, rule=f"{SOURCES} has it"),
    Sentence(
        file=JOBS,
        text="names {} as the place of slurmdbd",
        values=_accounting,
        rule="slurmdbd.conf is for the second server",
    ),
    Sentence(
        file=USERS,
        text="`node/users.list` holds {} of the blueprint",
        values=lambda hall: (_users(hall),),
        rule="the plan has as many",
    ),
    Sentence(
        file=USERS,
        text="ROLE: controller on {} and {}, login on the login",
        values=_controllers,
        rule="slurm.conf names these controllers",
    ),
    Sentence(
        file=USERS,
        text="The list is read from\n`{}`, so that",
        values=lambda _: (f"{SHARED_PATH}/.gpu-cluster/users",),
        rule="node/node.env names it",
    ),
)


def _users(hall: Hall) -> str:
    count = len(hall.papers.documents.plan.cluster.users)
    return f"{count} user{'' if count == 1 else 's'}"


def ended(hall: Hall) -> Iterator[Finding]:
    """Yield releases without support on the day of the plan of which the page does not say so (`SFW001`)."""
    software, day = _software(hall), hall.papers.documents.plan.as_of
    if software is None or not (hall.papers.documents.site / FILE).is_file():
        return
    page = hall.papers.text(FILE)
    for name, version, _, _, end in _releases(software):
        if end and end < day[: len(end)] and f"{name} {version}: support ended {end}." not in page:
            rule = "the plan is of a later day"
            yield absent(_ID, FILE, f"a word on {name}", None, f"support ended {end}", rule)


def versions(hall: Hall) -> Iterator[Finding]:
    """Yield where the tables that scripts read have other versions than the plan, or sources that cannot be checked."""
    software, site = _software(hall), hall.papers.documents.site
    if software is None or not (site / VERSIONS).is_file():
        return
    rows = {row["component"]: row for row in read_rows(hall.papers.documents, VERSIONS)}
    known = tables().components
    for part in software.parts:
        if part.version is None or not (known[part.component].needed_when != GIVEN or part.component == "os"):
            continue
        row = rows.pop(part.component, None)
        if row is None:
            yield absent(_ID, VERSIONS, f"the row of {part.component}", None, part.version, "plan.json has it")
            continue
        needed = "yes" if part.component in _NEEDED else "no"
        for column, expected in (
            ("version", part.version),
            ("from", part.origin),
            ("least", part.least or ""),
            ("needed", needed),
        ):
            if row[column] != expected:
                yield wrong(_ID, row, f"{column} of {part.component}", row[column], expected, "plan.json has it")
    for component, row in rows.items():
        yield wrong(_ID, row, "a component", component, "one of the plan's set", "every node has one set of versions")
    yield from _of_sources(hall, software)


def _of_sources(hall: Hall, software: Software) -> Iterator[Finding]:
    if not (hall.papers.documents.site / SOURCES).is_file():
        return
    for name, row in _sources(hall).items():
        planned = software.version(_SAME.get(name, ""))
        if planned is not None and row["version"].split("-")[0] != planned:
            yield wrong(_ID, row, f"version of {name}", row["version"], planned, "plan.json has it")
        if row["source"].endswith(".git") and _COMMIT.fullmatch(row["reference"]) is None:
            rule = "what arrives is known by its commit"
            yield wrong(_ID, row, f"reference of {name}", row["reference"], "40 hexadecimal digits", rule)
        if row["source"].startswith("http:"):
            rule = "what arrives must not be changed on its way"
            yield wrong(_ID, row, f"source of {name}", row["source"], "https", rule)
