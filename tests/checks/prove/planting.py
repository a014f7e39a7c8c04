"""Writes the sites that faults are planted in, plants them, and asks what is found."""

import csv
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.prove.cables import prove_cables
from clusterwright.checks.prove.files import prove_files
from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.kubernetes.proof import prove_kubernetes
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.proof import prove_site
from clusterwright.cli.written import write
from clusterwright.errors import Finding
from tests.checks.prove.faults import ETHERNET, INFINIBAND, WHOLE_RACKS, Edit

Sites = Callable[[str], Path]
BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
_ALONE = ["targets.aws=null", "targets.azure=null", "targets.gcp=null"]
#: The faults name nodes, racks and counts of a cluster of 36 nodes, whatever size the estimate would choose.
NODES_36 = ["goals.finish_within=60 days", "targets.onprem.min_nodes=36", "targets.onprem.max_nodes=36"]
SITES = {
    INFINIBAND: [*_ALONE, *NODES_36],
    ETHERNET: [*_ALONE, *NODES_36, "targets.onprem.fabric.kind=roce"],
    WHOLE_RACKS: [
        *_ALONE,
        "targets.onprem.system=gb200-nvl72",
        "site.rack_power=160 kW",
        "site.cooling=direct-to-chip",
        *("goals.finish_within=60 days", "targets.onprem.min_nodes=2", "targets.onprem.max_nodes=2"),
    ],
}


def write_site(site: str, folders: pytest.TempPathFactory) -> Path:
    """Write the documents of a site; return a folder of them that the caller may change.

    The workbook of cables is left out: it repeats the list, takes longest to read, and has a test of its own.
    """

    def fill(folder: Path) -> None:
        assert write.onprem(BLUEPRINT, folder / "site", SITES[site], force=False) == 0
        (folder / "site" / "cables.xlsx").unlink()

    return copy_of(_once(folders, site, fill), folders.mktemp(site) / "site")


def written_once(blueprints: Mapping[str, str], folders: pytest.TempPathFactory) -> Sites:
    """Return what writes the documents of a blueprint's text when a name is asked for first, and gives its folder.

    The caller may change the folder; the next who asks gets it as it was left.
    """

    @cache
    def of(name: str) -> Path:
        digest = hashlib.sha256(blueprints[name].encode()).hexdigest()[:12]
        once = _once(folders, digest, lambda folder: _write(blueprints[name], folder))
        return copy_of(once, folders.mktemp("site") / "site")

    return of


def _write(blueprint: str, folder: Path) -> None:
    (folder / "blueprint.yaml").write_text(blueprint)
    assert write.onprem(folder / "blueprint.yaml", folder / "site", None, force=False) == 0


def _once(folders: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """Return the site in a folder that the first worker to ask fills, while the others wait; it takes seconds."""
    base = folders.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"site-{name}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            being_filled = folder.with_suffix(".part")
            # What a worker left that failed while it wrote.
            shutil.rmtree(being_filled, ignore_errors=True)
            being_filled.mkdir()
            fill(being_filled)
            being_filled.rename(folder)
    return folder / "site"


def findings(folder: Path) -> list[Finding]:
    """Return what the parts find that need no engine."""
    return list(each_finding(folder))


def each_finding(folder: Path) -> Iterator[Finding]:
    """Yield what the parts find that need no engine, each part when it is asked for.

    The form of files comes last: it takes a third of the time, and few faults are of it.
    """
    documents = read_folder(folder)
    papers = read_papers(documents)
    for result in prove_site(papers):
        yield from result.findings
    of_kubernetes = prove_kubernetes(papers)
    if of_kubernetes is not None:
        yield from of_kubernetes.findings
    yield from prove_cables(papers).findings
    yield from prove_files(documents).findings


@contextmanager
def planted(folder: Path, edits: Iterable[Edit]) -> Iterator[None]:
    """Change a folder for the time of the block."""
    kept = {}
    for edit in edits:
        path = folder / edit.file
        kept.setdefault(path, path.read_bytes() if path.is_file() else None)
        plant(path, edit)
    try:
        yield
    finally:
        for path, content in kept.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)


def plant(path: Path, edit: Edit) -> None:
    """Make one change; what it changes has to be there.

    Raises:
        LookupError: it is not.
    """
    if edit.old or not edit.where:
        text = path.read_text() if path.is_file() else ""
        if edit.old not in text:
            raise LookupError(f"{edit.file} has no {edit.old!r}")
        path.write_text(text.replace(edit.old, edit.new, 1) if edit.old else text + edit.new)
        return
    with path.open(newline="") as stream:
        reader = csv.DictReader(stream)
        columns, rows = list(reader.fieldnames or ()), list(reader)
    matching = [row for row in rows if all(row[column] == value for column, value in edit.where.items())]
    if not matching:
        raise LookupError(f"{edit.file} has no row with {dict(edit.where)}")
    chosen = matching if edit.nth is None else [matching[edit.nth]]
    if edit.swap:
        one, other = matching[edit.nth or 0], matching[edit.other]
        for column in edit.swap:
            one[column], other[column] = other[column], one[column]
    for row in chosen:
        row.update(edit.cells)
    columns += [column for column in edit.cells if column not in columns]
    kept = [row for row in rows if not (edit.drop and any(row is one for one in chosen))]
    if edit.repeat:
        kept += chosen
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, columns, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(kept)


def copy_of(folder: Path, to: Path) -> Path:
    """Return a copy of a folder."""
    shutil.copytree(folder, to)
    return to
