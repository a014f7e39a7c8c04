"""The whole proof of a written folder, and the page that keeps it beside the documents."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from clusterwright.checks.prove.cables import prove_cables
from clusterwright.checks.prove.fabrics import prove_fabrics
from clusterwright.checks.prove.files import READERS, prove_files
from clusterwright.checks.prove.kubernetes import prove_kubernetes
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED, Documents, Result
from clusterwright.checks.prove.site import prove_site
from clusterwright.checks.prove.slurm import prove_slurm
from clusterwright.checks.prove.workbooks import prove_workbooks

PAGE = "proof.md"
Progress = Callable[[str], None]


def prove_documents(documents: Documents, *, progress: Progress = lambda _: None) -> tuple[Result, ...]:
    """Return every part of the proof; what needs a program that is not installed is skipped with the reason.

    Args:
        documents: the folder.
        progress: called with what is being done.
    """
    results: list[Result] = []
    for what, part in _PARTS:
        progress(f"proving {what}")
        started = time.monotonic()
        for result in part(documents):
            now = time.monotonic()
            results.append(replace(result, seconds=round(now - started, 1)))
            started = now
    return tuple(results)


def _scheduler(documents: Documents) -> Iterator[Result]:
    """Prove the files of the scheduler that the folder has."""
    for result in (prove_slurm(documents), prove_kubernetes(documents)):
        if result is not None:
            yield result


_PARTS: Sequence[tuple[str, Callable[[Documents], Iterator[Result]]]] = (
    ("that files are well-formed", lambda documents: iter((prove_files(documents),))),
    ("cables", lambda documents: iter((prove_cables(documents),))),
    ("relations between the documents", prove_site),
    ("fabrics", prove_fabrics),
    ("workbooks", prove_workbooks),
    ("the scheduler's files", _scheduler),
)


def verdict(results: Sequence[Result]) -> str:
    """Return `not proven` if a part is; else `proven`, even where parts were skipped."""
    return NOT_PROVEN if any(result.state == NOT_PROVEN for result in results) else PROVEN


def digest(documents: Documents) -> str:
    """Return the SHA-256 over names and contents of the files that were looked at, by which a page is known as old."""
    total = hashlib.sha256()
    netlists = (".ibnetdiscover", ".conf")
    for path in sorted(documents.site.rglob("*")):
        if path.is_file() and path.suffix in {*READERS, *netlists}:
            total.update(f"{path.relative_to(documents.site).as_posix()}\n".encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def page(documents: Documents, results: Sequence[Result]) -> str:
    """Return the page of the documents that says what was proved of them, by which program, and what was not."""
    skipped = [result for result in results if result.state == SKIPPED]
    lines = [
        f"# Proof of the documents of {documents.plan.name}",
        "",
        f"**{verdict(results).capitalize()}**"
        + (f"; {len(skipped)} of {len(results)} parts were skipped" if skipped else "")
        + ". Written by `clusterwright prove`; run it again after any change.",
        "",
        f"Files as of SHA-256 `{digest(documents)[:16]}`.",
        "",
        "| Part | State | By | Seconds | What was found |",
        "|---|---|---|---:|---|",
    ]
    lines += [
        f"| {result.part} | {result.state} | {_cell(result.engine)} | {result.seconds:.1f} | {_cell(_words(result))} |"
        for result in results
    ]
    wrong = [finding for result in results for finding in result.findings]
    if wrong:
        lines += ["", "## What does not hold", ""]
        lines += [f"- `{finding.id}` {_cell(finding.message)}. {_cell(finding.help)}." for finding in wrong]
    return "\n".join(lines) + "\n"


def _words(result: Result) -> str:
    return result.reason or "; ".join(result.facts)


def _cell(text: str) -> str:
    """Return a text that cannot leave its cell: file names and messages of programs come from outside."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
