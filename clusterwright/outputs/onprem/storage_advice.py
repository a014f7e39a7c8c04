"""What the page on storage says of local drives, and of rules of thumb by size of the data set."""

from clusterwright import units
from clusterwright.catalog.records import System
from clusterwright.catalog.storage import storage_tiers
from clusterwright.facility.storage.design import NEITHER, SHARE, UNKNOWN, WHOLE, LocalCache, StorageDesign
from clusterwright.facility.storage_checks import judge_tier


def cache_lines(cache: LocalCache, system: System) -> list[str]:
    """Return whether training data can stay on local drives, as lines of Markdown."""
    drives = units.text(cache.drives_bytes, units.BYTES)
    what = {
        WHOLE: f"The data set ({_bytes(cache.dataset_bytes)}) fits into the drives of every node ({drives}).",
        SHARE: f"The data set ({_bytes(cache.dataset_bytes)}) does not fit into the drives of a node ({drives}); its "
        f"share of one node ({_bytes(cache.share_bytes)}) does.",
        NEITHER: f"Neither the data set ({_bytes(cache.dataset_bytes)}) nor one node's share "
        f"({_bytes(cache.share_bytes)}) fits into the drives of a node ({drives}): every epoch reads shared storage.",
        UNKNOWN: f"The drives of {system.name} are unknown, so every epoch is taken to read shared storage.",
    }[cache.holds]
    if cache.holds not in (WHOLE, SHARE) or cache.read_once_s is None or cache.read_whole_s is None:
        return [what]
    whole = f" the whole of it to every node, {_time(cache.read_whole_s)}." if cache.holds == WHOLE else ""
    return [
        (
            f"{what} Then shared storage is read once: at the bandwidth asked for, every node has its share after "
            f"{_time(cache.read_once_s)}{';' + whole if whole else '.'} `data.staging: nvme` plans for that. "
            "Checkpoints still go to shared storage: a node's drives are lost with the node."
        )
    ]


def _time(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"  # noqa: PLR2004 - two hours


def tier_lines(storage: StorageDesign, system: System) -> list[str]:
    """Return the rules of thumb as a table, with what of them holds for this data set."""
    judged = judge_tier(storage, drives_read_bytes_per_s=system.local_nvme_read_bytes_per_s)
    what = "the drives of a node read" if judged.tier.scope == "node" else "shared storage reads"
    verdict = f"How fast {what} is unknown, so nobody can say whether that is enough."
    if judged.gives_bytes_per_s is not None:
        enough = "which is enough" if judged.enough else "which is less"
        verdict = f"{what[0].upper()}{what[1:]} {_rate(judged.gives_bytes_per_s)}, {enough}."
    lines = [
        "| data set | advice | bandwidth | of | what was corrected |",
        "|---|---|---:|---|---|",
    ]
    for tier in storage_tiers():
        above = f"{_bytes(tier.above_bytes)} to " if tier.above_bytes else "up to "
        size = f"more than {_bytes(tier.above_bytes)}" if tier.up_to_bytes is None else above + _bytes(tier.up_to_bytes)
        mark = " **(this one)**" if tier == judged.tier else ""
        lines.append(
            f"| {size}{mark} | {tier.storage} | {_rate(tier.read_bytes_per_s)} | each {tier.scope} | {tier.note} |"
        )
    return [
        *lines,
        "",
        (
            f"{verdict} These figures do not depend on the size of the cluster, so they decide nothing here; the "
            "demands above do."
        ),
    ]


def _bytes(value: float) -> str:
    return units.text(value, units.BYTES)


def _rate(value: float) -> str:
    return units.text(value, units.BANDWIDTH)
