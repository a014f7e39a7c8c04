"""The parallel file system: tier and size as the provider sells them, the nearest ones named."""

from collections.abc import Iterator
from typing import Any

from clusterwright.checks.preflight.configuration.prices import usd_per_month_of
from clusterwright.checks.preflight.files.values import flag, whole
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import LUSTRE_CAPACITY, Subject
from clusterwright.facility.storage.file_system import (
    GIB,
    AskedFileSystem,
    FileSystem,
    asked_problem,
    choose_file_system,
)
from clusterwright.sizing.records.run import StorageNeed

_GIB_PER_TIB = 1024


def file_system(subject: Subject) -> Iterator[Outcome]:
    """Check tier and size of the file system by the rule of `plan`."""
    section = subject.project.setting("sharedStorage")
    if section is None:
        return
    key = LUSTRE_CAPACITY[subject.cloud]
    capacity = subject.project.setting(f"sharedStorage.{key}")
    tier = subject.project.setting("sharedStorage.throughputMbPerSPerTib")
    asked = _asked(key, capacity.value if capacity else None, tier.value if tier else None)
    if capacity is None or tier is None or asked is None:
        yield Outcome(
            status="FAIL",
            message=f"sharedStorage needs {key} and throughputMbPerSPerTib, both whole numbers",
            place=section.place,
        )
        return
    efa = efa_enabled(subject)
    problem = asked_problem(
        cloud=subject.cloud,
        asked=asked,
        efa=efa,
        usd_per_month=lambda system: usd_per_month_of(
            subject.book, sku=system.tier.sku, region=subject.region, quantity=system.capacity_gib
        ),
    )
    if problem is not None:
        about_tier = problem.path[-1] == "mb_per_s_per_tib"
        yield Outcome(
            status="FAIL",
            message=problem.message,
            fix=f"{problem.help}; set sharedStorage.{key} in every layer that has it",
            place=(tier if about_tier else capacity).place,
            rule=problem.id,
        )
        return
    sold = _sold(subject.cloud, asked, efa=efa)
    if sold.on_request:
        yield Outcome(
            status="WARN",
            message=f"{sold.capacity_gib:,} GiB is more than {subject.cloud} gives without a support request",
            fix="ask the provider for the larger file system before `up`",
            place=capacity.place,
        )
    yield passed(
        f"{sold.capacity_gib:,} GiB at {sold.tier.mb_per_s_per_tib} MB/s per TiB: {sold.bytes_per_s / 1e9:,.1f} GB/s",
        capacity.place,
    )


def efa_enabled(subject: Subject) -> bool:
    """Tell whether the file system is to be reached by EFA."""
    setting = subject.project.setting("sharedStorage.efaEnabled")
    return bool(setting and flag(setting.value))


def configured(subject: Subject) -> FileSystem | None:
    """Return the file system as configured, None where it is not sold so or there is none."""
    capacity = subject.project.setting(f"sharedStorage.{LUSTRE_CAPACITY[subject.cloud]}")
    tier = subject.project.setting("sharedStorage.throughputMbPerSPerTib")
    asked = _asked(LUSTRE_CAPACITY[subject.cloud], capacity.value if capacity else None, tier.value if tier else None)
    efa = efa_enabled(subject)
    if asked is None or asked_problem(cloud=subject.cloud, asked=asked, efa=efa) is not None:
        return None
    return _sold(subject.cloud, asked, efa=efa)


def _asked(key: str, capacity: Any, tier: Any) -> AskedFileSystem | None:  # noqa: ANN401 - configuration values
    size, speed = whole(capacity), whole(tier)
    if size is None or speed is None:
        return None
    gib = size * _GIB_PER_TIB if key == "capacityTib" else size
    return AskedFileSystem(capacity_bytes=gib * GIB, mb_per_s_per_tib=speed)


def _sold(cloud: str, asked: AskedFileSystem, *, efa: bool) -> FileSystem:
    nothing = StorageNeed(
        dataset_bytes=0.0, checkpoint_bytes_kept=0.0, capacity_bytes=0.0, read_bytes_per_s=0.0, write_bytes_per_s=0.0
    )
    return choose_file_system(cloud=cloud, need=nothing, efa=efa, asked=asked)
