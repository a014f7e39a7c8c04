"""What must hold on Google Cloud of machines beside their hardware: restarts, scopes, updates, order of networks."""

from collections.abc import Iterator

from clusterwright.checks.preflight.records import Record

from .rules import Problem

TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
GROUP = "gcp:compute/instanceGroupManager:InstanceGroupManager"
INSTANCE = "gcp:compute/instance:Instance"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
#: Rights come from roles; a narrower scope takes them away again.
_SCOPES = ["cloud-platform"]


def node_problems(record: Record) -> list[Problem]:
    """Return everything that is wrong with how machines live."""
    return [*_restarts(record), *_scopes(record), *_updates(record), *_order(record)]


def _restarts(record: Record) -> Iterator[Problem]:
    for one in record.of(TEMPLATE):
        scheduling = one.inputs.get("scheduling") or {}
        lasting = scheduling.get("provisioningModel") in ("STANDARD", "RESERVATION_BOUND")
        if lasting and (scheduling.get("automaticRestart") is not True or scheduling.get("preemptible")):
            yield Problem(id="GCP121", resource=one.name, message="does not restart after maintenance")
    for one in record.of(INSTANCE):
        scheduling = one.inputs.get("scheduling") or {}
        if (scheduling.get("onHostMaintenance"), scheduling.get("automaticRestart")) != ("MIGRATE", True):
            yield Problem(id="GCP129", resource=one.name, message="ends with maintenance: set MIGRATE and a restart")


def _scopes(record: Record) -> Iterator[Problem]:
    for one in (*record.of(TEMPLATE), *record.of(INSTANCE)):
        scopes = (one.inputs.get("serviceAccount") or {}).get("scopes")
        if scopes != _SCOPES:
            yield Problem(id="GCP122", resource=one.name, message=f"its scopes take rights away: {scopes}")


def _updates(record: Record) -> Iterator[Problem]:
    for one in record.of(GROUP):
        policy = one.inputs.get("updatePolicy") or {}
        if policy.get("maxSurgeFixed") != 0 or policy.get("maxSurgePercent"):
            yield Problem(id="GCP123", resource=one.name, message="an update wants spare GPUs that nobody has")


def _order(record: Record) -> Iterator[Problem]:
    """Hold interfaces to the machine's order: primary network first, then by number, RDMA on its own network."""
    names = {text: one.name for one in record.of(SUBNETWORK) for text in one.identities}
    for template in record.of(TEMPLATE):
        interfaces = template.inputs["networkInterfaces"]
        found = [names.get(str(one.get("subnetwork")), "") for one in interfaces]
        if not all(found):
            continue
        if not found[0].endswith("-primary"):
            yield Problem(
                id="GCP124", resource=template.name, message=f"its first network, {found[0]}, is not the primary"
            )
        further = [(name.rpartition("-")[0], int(name.rpartition("-")[2])) for name in found[1:] if name[-1].isdigit()]
        if len(further) < len(found) - 1 or further != sorted(further):
            yield Problem(
                id="GCP124", resource=template.name, message=f"networks are not in the primary's order: {found}"
            )
        for one, name in zip(interfaces, found, strict=True):
            if (one.get("nicType") == "MRDMA") != ("-rdma-" in name):
                yield Problem(id="GCP124", resource=template.name, message=f"{one.get('nicType')} on {name}")
