"""What of a plan's software concerns jobs: the table that nodes install from, and the images that their driver runs."""

import csv
from dataclasses import dataclass, replace
from functools import cache

from clusterwright import assets
from clusterwright.catalog.software.node import Software
from clusterwright.catalog.software.solver import check
from clusterwright.catalog.software.table import software as tables

#: Packages of the container toolkit have the revision 1 of their release in NVIDIA's archive.
TOOLKIT, _REVISION = "nvidia-container-toolkit", "-1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """A row of `templates/node/software.csv`: what nodes get that is in no distribution, in one version.

    Attributes:
        source: repository or archive; reference: commit, or fingerprint of the archive's key.
    """

    name: str
    version: str
    source: str
    reference: str


@cache
def _shipped() -> str:
    return (assets.root() / "templates" / "node" / "software.csv").read_text(encoding="utf-8")


def installed(software: Software | None) -> dict[str, Installed]:
    """Return the rows of the table by name, with the container toolkit of a plan's software."""
    rows = {
        row["name"]: Installed(**{key: row[key] for key in ("name", "version", "source", "reference")})
        for row in csv.DictReader(_shipped().splitlines())
    }
    chosen = None if software is None else software.version(TOOLKIT)
    if chosen is not None and not rows[TOOLKIT].version.startswith(f"{chosen}-"):
        rows[TOOLKIT] = replace(rows[TOOLKIT], version=f"{chosen}{_REVISION}")
    return rows


def node_table(software: Software | None) -> str:
    """Return the text of `node/software.csv`: as shipped, but for the releases that a plan's software decides."""
    plain, chosen = installed(None)[TOOLKIT], installed(software)[TOOLKIT]
    return _shipped().replace(f"\n{TOOLKIT},{plain.version},", f"\n{TOOLKIT},{chosen.version},")


def image_words(software: Software | None) -> str:
    """Return which toolkits in images the nodes' driver runs; empty where no driver is known.

    Minor versions of one major run on each driver from that major's least on (NVIDIA, CUDA compatibility).
    """
    driver = None if software is None else software.version("driver")
    if software is None or driver is None:
        return ""
    runs = [
        version
        for version in tables().versions("cuda")
        if not check({"cuda": version, "driver": driver, "kernel_modules": software.version("kernel_modules") or ""})
    ]
    if not runs:
        return f"Nodes have NVIDIA's driver {driver}."
    paired = software.version("cuda")
    words = f"Nodes have NVIDIA's driver {driver}, which runs images with CUDA {runs[-1]} to {runs[0]}"
    return f"{words}; CUDA {paired} is the newest that it is paired with." if paired else f"{words}."
