"""The Azure Managed Lustre file system in the configuration: tiers, sizes, import."""

from dataclasses import dataclass

from gpu_cluster.config_values import Values

# Tier in MB/s per TiB -> (least, most, step) in TiB. Microsoft, "Create an Azure Managed Lustre file system", 2024-11.
# Azure rounds other values up in silence; here they are refused, because the step can cost thousands a month.
LUSTRE_CAPACITY_TIB = {40: (48, 768, 48), 125: (16, 128, 16), 250: (8, 128, 8), 500: (4, 128, 4)}
MOST_TIB = 768
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStorage:
    """The Azure Managed Lustre file system; `customer_key` is whether a key of the project encrypts it."""

    capacity_tib: int
    throughput_mb_per_s_per_tib: int
    mount_path: str
    maintenance_day: str
    maintenance_time_utc: str
    hydrate_from_bucket: bool
    import_prefix: str
    customer_key: bool
    hpc_cache_principal_id: str


def shared_storage(values: Values) -> SharedStorage:
    """Read the section `sharedStorage`."""
    fields = values.section("sharedStorage")
    fields.refuse_unknown(
        (
            "capacityTib",
            "throughputMbPerSPerTib",
            "mountPath",
            "maintenanceDay",
            "maintenanceTimeUtc",
            "hydrateFromBucket",
            "importPrefix",
            "hpcCachePrincipalId",
            "customerKey",
        )
    )
    tier = fields.whole("throughputMbPerSPerTib", 1, 10_000)
    if tier not in LUSTRE_CAPACITY_TIB:
        tiers = ", ".join(str(known) for known in LUSTRE_CAPACITY_TIB)
        fields.fail("throughputMbPerSPerTib", f"needs one of {tiers}, got {tier}")
    hydrate = fields.flag("hydrateFromBucket", default=False)
    principal = ""
    if hydrate:
        principal = fields.text(
            "hpcCachePrincipalId",
            r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
            "the object id of the service principal `HPC Cache Resource Provider` in your tenant "
            '(`az ad sp list --display-name "HPC Cache Resource Provider" --query [0].id`)',
        )
    return SharedStorage(
        capacity_tib=_capacity(fields, tier),
        throughput_mb_per_s_per_tib=tier,
        mount_path=fields.text("mountPath", r"(/[A-Za-z0-9._-]+)+", "an absolute path such as /shared", "/shared"),
        maintenance_day=fields.choice("maintenanceDay", WEEKDAYS, "Sunday"),
        maintenance_time_utc=fields.text(
            "maintenanceTimeUtc", r"([01]\d|2[0-3]):[0-5]\d", "a time such as 02:00", "02:00"
        ),
        hydrate_from_bucket=hydrate,
        import_prefix=fields.text("importPrefix", r"/[A-Za-z0-9._/-]*", "a prefix that starts with /", "/"),
        customer_key=fields.flag("customerKey", default=True),
        hpc_cache_principal_id=principal,
    )


def _capacity(fields: Values, tier: int) -> int:
    least, most, step = LUSTRE_CAPACITY_TIB.get(tier, (1, MOST_TIB, 1))
    capacity_tib = fields.whole("capacityTib", least, most)
    if capacity_tib % step:
        higher = -(-capacity_tib // step) * step
        fields.fail(
            "capacityTib",
            f"{capacity_tib} TiB is not a multiple of {step} TiB, the step of the {tier} MB/s per TiB tier; Azure "
            f"would round it up to {higher} TiB and charge for that: write {higher - step} or {higher}",
        )
    return capacity_tib
