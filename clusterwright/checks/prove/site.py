"""The whole proof of a site's documents by their relations, part by part."""

from collections.abc import Iterator

from clusterwright.checks.prove.addressing import has_addresses, prove_addresses
from clusterwright.checks.prove.bill import prove_bill
from clusterwright.checks.prove.ethernet import prove_ethernet
from clusterwright.checks.prove.feed_loss import prove_feed_loss
from clusterwright.checks.prove.feeds import prove_feeds
from clusterwright.checks.prove.job import has_job, other_work, prove_job
from clusterwright.checks.prove.netbox import prove_netbox
from clusterwright.checks.prove.networks import prove_networks
from clusterwright.checks.prove.pages import prove_pages
from clusterwright.checks.prove.papers import Papers, read_papers
from clusterwright.checks.prove.places import prove_places
from clusterwright.checks.prove.records import Documents, Result
from clusterwright.checks.prove.scheduler import has_slurm, prove_slurm_text
from clusterwright.checks.prove.vocabulary import prove_vocabulary
from clusterwright.checks.prove.wiring import prove_wiring
from clusterwright.facility.cabling.fabric_links import storage_network
from clusterwright.facility.fabric.node_ports import ETHERNET


def prove_site(documents: Documents) -> Iterator[Result]:
    """Yield what holds between the documents of a folder; no program has to be installed for it."""
    papers = read_papers(documents)
    for prove in (
        prove_places, prove_wiring, prove_networks, prove_feeds, prove_feed_loss, prove_netbox, prove_bill, prove_pages,
    ):  # fmt: skip
        yield prove(papers)
    if has_addresses(papers):
        yield prove_addresses(papers)
    yield prove_vocabulary(papers)
    yield from _ethernet(papers)
    if has_slurm(papers):
        yield prove_slurm_text(papers)
    if has_job(papers):
        yield prove_job(papers)
    other = other_work(papers)
    if other is not None:
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
