"""Where data, keys and traffic are on Google Cloud, and who may reach them beside the cluster."""

from collections.abc import Iterator

from clusterwright.checks.preflight.records import Record

from .rules import Problem

PROVIDER = "pulumi:providers:gcp"
BUCKET = "gcp:storage/bucket:Bucket"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
KEY_RING = "gcp:kms/keyRing:KeyRing"
KEY_MEMBER = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
NAT = "gcp:compute/routerNat:RouterNat"
FIREWALL = "gcp:compute/firewall:Firewall"
CONNECTION = "gcp:servicenetworking/connection:Connection"
#: What machines and Lustre may do with the bucket: objects, not the bucket itself.
_BUCKET_ROLES = ("roles/storage.objectUser", "roles/storage.objectViewer", "roles/storage.legacyBucketReader")
_KEY_ROLE = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
#: Service producers take a /24 in each region (Google, "Configure private services access").
_PEERING_PREFIX = 24
_ANYBODY = ("allUsers", "allAuthenticatedUsers")
#: Collectives take TCP and UDP; ICMP carries the news of packets that are too large.
_INTERNAL = {"tcp", "udp", "icmp"}


def way_problems(record: Record) -> list[Problem]:
    """Return everything that is elsewhere than the cluster, or open to others."""
    return [*_places(record), *_bucket(record), *_grants(record), *_traffic(record), *_networks(record)]


def _places(record: Record) -> Iterator[Problem]:
    providers = [one for one in record.resources if one.type == PROVIDER]
    regions = {str(one.inputs.get("region")) for one in providers}
    for one in providers:
        zone, region = str(one.inputs.get("zone", "")), str(one.inputs.get("region"))
        if zone and not zone.startswith(f"{region}-"):
            yield Problem(id="GCP110", resource="provider", message=f"zone {zone} is not in region {region}")
    for one in (*record.of(BUCKET), *record.of(KEY_RING)):
        place = str(one.inputs.get("location")).lower()
        if regions and place not in regions:
            yield Problem(id="GCP111", resource=one.name, message=f"is in {place}, the nodes in {sorted(regions)}")
    for one in record.of(POLICY):
        if (one.inputs.get("groupPlacementPolicy") or {}).get("vmCount"):
            yield Problem(id="GCP112", resource=one.name, message="is for one number of machines; none can be replaced")


def _bucket(record: Record) -> Iterator[Problem]:
    for one in record.of(BUCKET):
        if one.inputs.get("storageClass") not in (None, "STANDARD"):
            message = f"is in {one.inputs.get('storageClass')}: every read is charged, and so is early deletion"
            yield Problem(id="GCP128", resource=one.name, message=message)
        for rule in one.inputs.get("lifecycleRules", []):
            condition = rule.get("condition") or {}
            old = condition.get("withState") == "ARCHIVED" or condition.get("daysSinceNoncurrentTime")
            if (rule.get("action") or {}).get("type") == "Delete" and not old:
                yield Problem(id="GCP113", resource=one.name, message=f"deletes objects that are in use: {condition}")


def _grants(record: Record) -> Iterator[Problem]:
    for kind, roles in ((BUCKET_MEMBER, _BUCKET_ROLES), (KEY_MEMBER, (_KEY_ROLE,))):
        for one in record.of(kind):
            if one.inputs.get("role") not in roles:
                yield Problem(id="GCP114", resource=one.name, message=f"grants {one.inputs.get('role')}")
    for one in record.cloud_resources:
        if one.inputs.get("member") in _ANYBODY:
            yield Problem(id="GCP115", resource=one.name, message=f"grants {one.inputs.get('role')} to anybody")


def _traffic(record: Record) -> Iterator[Problem]:
    for one in record.of(NAT):
        if one.inputs.get("natIpAllocateOption") != "AUTO_ONLY" and not one.inputs.get("natIps"):
            yield Problem(id="GCP116", resource=one.name, message="has no addresses to send from")
    for one in record.of(FIREWALL):
        protocols = {str(allowed.get("protocol")) for allowed in one.inputs.get("allows", [])}
        if one.name.endswith("-internal") and protocols != {"all"} and not protocols >= _INTERNAL:
            yield Problem(id="GCP117", resource=one.name, message=f"lets only {sorted(protocols)} through")
    for one in record.of(CONNECTION):
        if one.inputs.get("service") != "servicenetworking.googleapis.com":
            yield Problem(id="GCP118", resource=one.name, message=f"leads to {one.inputs.get('service')}")


def _networks(record: Record) -> Iterator[Problem]:
    routed = {str(one.inputs.get("network")) for one in record.of("gcp:compute/router:Router")}
    for one in record.of("gcp:compute/network:Network"):
        # The RDMA network's profile knows no way out.
        alone = not one.inputs.get("networkProfile") and not routed & set(one.identities)
        if alone and one.inputs.get("deleteDefaultRoutesOnCreate") is not True:
            yield Problem(id="GCP120", resource=one.name, message="keeps the default route to the Internet")
    for one in record.of("gcp:compute/globalAddress:GlobalAddress"):
        prefix = one.inputs.get("prefixLength")
        if one.inputs.get("purpose") == "VPC_PEERING" and not (isinstance(prefix, int) and prefix <= _PEERING_PREFIX):
            yield Problem(id="GCP126", resource=one.name, message=f"/{prefix} is too small for Lustre and a database")
    for one in record.of(NAT):
        listed = one.inputs.get("sourceSubnetworkIpRangesToNat") == "LIST_OF_SUBNETWORKS"
        if listed and not one.inputs.get("subnetworks"):
            yield Problem(id="GCP127", resource=one.name, message="lists no subnetwork, and so serves none")
