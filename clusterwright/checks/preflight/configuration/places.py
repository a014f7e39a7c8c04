"""Is the type offered where the cluster is to be, as far as sources at hand tell."""

from collections.abc import Iterator

from clusterwright.blueprint.rules.cloud_places import offer_problems, zone_problems
from clusterwright.catalog.offerings import doubt_text, listed_regions, verdict, zone_verdict, zones_with
from clusterwright.catalog.records import Instance
from clusterwright.checks.preflight.configuration.targets import outcomes_of, target_of
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject
from clusterwright.clouds import CLOUDS


def offered(subject: Subject) -> Iterator[Outcome]:
    """Hold region and zone against where sources list the type: refused where they agree, else doubtful."""
    instance, setting, zone = subject.instance, subject.region_setting, subject.zone_setting
    if instance is None:
        return
    place = setting.place if setting else None
    problems = offer_problems(subject.catalogue, subject.cloud, target_of(subject), instance)
    yield from outcomes_of(subject, problems, "PLC001")
    says = verdict(subject.catalogue, instance, subject.region)
    elsewhere = ", ".join(listed_regions(subject.catalogue, instance))
    ask = "run with --online to ask the provider"
    if says.doubtful:
        yield Outcome(
            status="WARN" if says.left_out_by else "UNKNOWN",
            message=f"{doubt_text(subject.catalogue, says)} {instance.id} in {subject.region}",
            fix=f"{ask}; listed are {elsewhere}" if elsewhere else ask,
            place=place,
            rule="PLC002",
        )
    yield from outcomes_of(subject, zone_problems(subject.catalogue, subject.cloud, target_of(subject)), "PLC006")
    doubt = _zone_doubt(subject, instance)
    if doubt:
        yield Outcome(status="WARN", message=doubt, fix=ask, place=zone.place if zone else place, rule="PLC004")
    yield passed(f"{instance.id} is listed in {subject.region}", place)


def _zone_doubt(subject: Subject, instance: Instance) -> str:
    """Return what sources leave open of the zone; nothing for a zone of another region, which is refused elsewhere."""
    says = zone_verdict(subject.catalogue, subject.cloud, subject.region, subject.zone)
    listed = zones_with(instance, subject.region)
    if not subject.zone or (CLOUDS[subject.cloud].zone_has_region and not subject.zone.startswith(subject.region)):
        return ""
    if says.silent:
        return f"no source knows the zones of {subject.region}"
    if says.doubtful:
        return f"the only source on zones knows {', '.join(says.known) or 'none'} of {subject.region}"
    if not says.left_out_by and listed and subject.zone not in listed:
        return f"no source lists {instance.id} in {subject.zone}; known are {', '.join(listed)}"
    return ""
