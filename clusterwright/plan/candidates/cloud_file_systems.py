"""The file system that a blueprint asks for, and what one costs in a month."""

from clusterwright.blueprint.clouds import CloudTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.facility.storage.file_system import AskedFileSystem, FileSystem
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import PriceRequest

_GB_PER_GIB = 2.0**30 / 1e9


def asked_of(asked: CloudTarget) -> AskedFileSystem:
    """Return tier and size that a target asks for."""
    return AskedFileSystem(
        capacity_bytes=asked.file_system.capacity, mb_per_s_per_tib=asked.file_system.mb_per_s_per_tib
    )


def usd_per_month(blueprint: Blueprint, book: PriceBook, target: str, system: FileSystem) -> float | None:
    """Return the documented price of a file system for a month in a target's region; None where there is none."""
    region = getattr(blueprint.targets, target).region
    request = PriceRequest(sku=system.tier.sku, region=region, term="on_demand")
    found = book.in_force([request], blueprint.economics.as_of or book.newest_day)[0]
    if found is None or found.point.charge != "monthly":
        return None
    per_gib = found.point.usd * (_GB_PER_GIB if found.point.unit == "GB" else 1.0)
    return per_gib * system.capacity_gib
