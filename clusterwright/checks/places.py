"""Is the type offered where the cluster is to stand, as far as sources at hand tell."""

from collections.abc import Iterator

from clusterwright.blueprint.cloud_places import offer_problems
from clusterwright.catalog.offerings import listed_regions, verdict, zones_of
from clusterwright.checks.results import Outcome, passed
from clusterwright.checks.subject import Subject
from clusterwright.checks.targets import outcomes_of, target_of


def offered(subject: Subject) -> Iterator[Outcome]:
    """Hold region and zone against where sources list the type: refused where they agree, else doubtful."""
    instance, setting, zone = subject.instance, subject.region_setting, subject.zone_setting
    if instance is None:
        return
    place = setting.place if setting else None
    problems = offer_problems(subject.catalogue, subject.cloud, target_of(subject), instance)
    yield from outcomes_of(subject, problems, "PLC001")
    says = verdict(subject.catalogue, instance, subject.region)
    elsewhere = ", ".join(listed_regions(subject.catalogue, instance)[:8])
    ask = "run with --online to ask the provider"
    if says.doubtful:
        yield Outcome(
            status="WARN" if says.left_out_by else "UNKNOWN",
            message=f"of the sources that know both, {len(says.listed_by)} list {instance.id} in {subject.region} and "
            f"{len(says.left_out_by)} do not",
            fix=f"{ask}; listed are {elsewhere}" if elsewhere else ask,
            place=place,
            rule="PLC002",
        )
    zones = zones_of(subject.catalogue, instance, subject.region)
    if zones and subject.zone not in zones and subject.zone.startswith(subject.region):
        yield Outcome(
            status="WARN",
            message=f"no source lists {instance.id} in {subject.zone}",
            fix=f"{ask}; known are {', '.join(zones)}",
            place=zone.place if zone else place,
            rule="PLC004",
        )
    yield passed(f"{instance.id} is listed in {subject.region}", place)
