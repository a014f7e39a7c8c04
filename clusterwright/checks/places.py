"""Is the type offered where the cluster is to stand, as far as sources at hand tell."""

from collections.abc import Iterator

from clusterwright.checks.results import Outcome, passed
from clusterwright.checks.subject import Subject


def offered(subject: Subject) -> Iterator[Outcome]:
    """Hold region and zone against where sources list the type; they lag and differ, so this only warns."""
    instance, setting = subject.instance, subject.region_setting
    if instance is None:
        return
    place = setting.place if setting else None
    if not instance.regions:
        yield Outcome(status="UNKNOWN", message=f"no source lists where {instance.id} is offered", place=place)
        return
    by_zone = any(region.count("-") == 2 for region in instance.regions) and subject.cloud == "gcp"  # noqa: PLR2004
    here = subject.zone if by_zone else subject.region
    if here in instance.regions:
        yield passed(f"{instance.id} is listed in {here}", place)
        return
    near = [region for region in instance.regions if region.startswith(here.split("-")[0])] or list(instance.regions)
    yield Outcome(
        status="WARN",
        message=f"no source lists {instance.id} in {here}",
        fix=f"known are {', '.join(near[:6])}; run with --online to ask the provider",
        place=(subject.zone_setting.place if by_zone and subject.zone_setting else place),
    )
