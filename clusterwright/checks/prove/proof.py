"""The whole proof of a written folder, of its site part by part, and the page kept beside the documents."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from clusterwright.checks.prove.cables import prove_cables
from clusterwright.checks.prove.fabrics import Routing, prove_fabrics
from clusterwright.checks.prove.files import READERS, prove_files
from clusterwright.checks.prove.fixed_settings import prove_fixed
from clusterwright.checks.prove.jobs.finetuning import has_finetuning, prove_finetuning
from clusterwright.checks.prove.jobs.job import has_job, other_work, prove_job
from clusterwright.checks.prove.jobs.scheduler import has_slurm, prove_slurm_text
from clusterwright.checks.prove.jobs.service import prove_service, service_folder
from clusterwright.checks.prove.jobs.settings import has_settings, prove_settings
from clusterwright.checks.prove.jobs.slurm import prove_slurm
from clusterwright.checks.prove.kubernetes.proof import prove_kubernetes
from clusterwright.checks.prove.pages.proof import prove_pages
from clusterwright.checks.prove.papers import Papers, read_papers
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED, UNKNOWN, Documents, Result
from clusterwright.checks.prove.site.addressing import has_addresses, prove_addresses
from clusterwright.checks.prove.site.bill import prove_bill
from clusterwright.checks.prove.site.ethernet import prove_ethernet
from clusterwright.checks.prove.site.feed_loss import prove_feed_loss
from clusterwright.checks.prove.site.feeds import prove_feeds
from clusterwright.checks.prove.site.netbox import prove_netbox
from clusterwright.checks.prove.site.networks import prove_networks
from clusterwright.checks.prove.site.places import prove_places
from clusterwright.checks.prove.site.provisioning import has_provisioning, prove_provisioning, prove_tools
from clusterwright.checks.prove.site.vocabulary import prove_vocabulary
from clusterwright.checks.prove.site.wiring import prove_wiring
from clusterwright.checks.prove.workbooks import prove_workbooks
from clusterwright.facility.cabling.links import storage_network
from clusterwright.facility.fabric.node_ports import ETHERNET

PAGE = "proof.md"
Progress = Callable[[str], None]


def prove_documents(
    documents: Documents, *, routing: Routing | None = None, progress: Progress = lambda _: None
) -> tuple[Result, ...]:
    """Return every part of the proof; what needs a program that is not installed is skipped with the reason.

    Args:
        documents: the folder.
        routing: which fabrics OpenSM routes, and in what time; all of them, without a limit, if None.
        progress: called with what is being done.

    Raises:
        InputError: a fabric was chosen that the folder does not have.
    """
    papers = read_papers(documents)
    results: list[Result] = []
    for what, part in _PARTS:
        progress(f"proving {what}")
        started = time.monotonic()
        proven = prove_fabrics(documents, routing, progress) if part is _routed else part(papers)
        for result in proven:
            now = time.monotonic()
            results.append(replace(result, seconds=round(now - started, 1)))
            started = now
    return tuple(results)


def _routed(papers: Papers) -> Iterator[Result]:
    """Prove the fabrics that a subnet manager routes."""
    return prove_fabrics(papers.documents)


def _scheduler(papers: Papers) -> Iterator[Result]:
    """Prove the files of the scheduler, and of machines before it, that the folder has."""
    for result in (prove_slurm(papers.documents), prove_kubernetes(papers), prove_tools(papers)):
        if result is not None:
            yield result


def prove_site(papers: Papers) -> Iterator[Result]:
    """Yield what holds between the documents of a folder; no program has to be installed for it."""
    for prove in (
        prove_places,
        prove_wiring,
        prove_networks,
        prove_feeds,
        prove_feed_loss,
        prove_netbox,
        prove_bill,
        prove_pages,
    ):
        yield prove(papers)
    if has_addresses(papers):
        yield prove_addresses(papers)
    yield prove_vocabulary(papers)
    yield from _ethernet(papers)
    if has_slurm(papers):
        yield prove_slurm_text(papers)
    if has_settings(papers):
        yield prove_settings(papers)
    if has_job(papers):
        yield prove_job(papers)
    if has_finetuning(papers):
        yield prove_finetuning(papers)
    if service_folder(papers):
        yield prove_service(papers)
    if has_provisioning(papers):
        yield prove_provisioning(papers)
    yield prove_fixed(papers)
    other = other_work(papers)
    if other is not None and not has_finetuning(papers):
        yield other


def _ethernet(papers: Papers) -> Iterator[Result]:
    """Yield the walk over the fabrics that no subnet manager routes."""
    inventory = papers.documents.design.inventory
    if inventory.compute_network != ETHERNET:
        return
    for plane in inventory.each_plane():
        several = plane.count > 1
        part = f"compute fabric, plane {plane.number + 1}" if several else "compute fabric"
        prefix = f"p{plane.number + 1}-" if several else ""
        yield prove_ethernet(papers, part, "compute", inventory.fabric, plane=prefix)
    planned = {
        (end.device, end.port)
        for link in storage_network(inventory)
        for end in (link.a, link.b)
        if end.kind != "switch"
    }
    yield prove_ethernet(papers, "storage network", "storage", inventory.storage_fabric, ends=len(planned))


_PARTS: Sequence[tuple[str, Callable[[Papers], Iterator[Result]]]] = (
    ("that files are well-formed", lambda papers: iter((prove_files(papers.documents),))),
    ("cables", lambda papers: iter((prove_cables(papers),))),
    ("relations between the documents", prove_site),
    ("fabrics", _routed),
    ("workbooks", lambda papers: prove_workbooks(papers.documents)),
    ("the scheduler's files", _scheduler),
)


def verdict(results: Sequence[Result]) -> str:
    """Return `not proven` if a part is, `unknown` if one is; else `proven`, even where parts were skipped."""
    states = {result.state for result in results}
    return next((state for state in (NOT_PROVEN, UNKNOWN) if state in states), PROVEN)


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
    unknown = [result for result in results if result.state == UNKNOWN]
    lines = [
        f"# Proof of the documents of {documents.plan.name}",
        "",
        f"**{verdict(results).capitalize()}**"
        + (f"; {len(unknown)} of {len(results)} parts were not looked at to their end" if unknown else "")
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
