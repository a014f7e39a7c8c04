"""Keys of a blueprint that change nothing with what is beside them: a warning each."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from clusterwright.blueprint.rules.hardware import CLOUDS
from clusterwright.blueprint.schema import TARGETS, Blueprint
from clusterwright.errors import Finding
from clusterwright.facility.storage.boxes import StorageBox
from clusterwright.facility.storage.design import StorageDesign
from clusterwright.plan.record import Option

#: Keys of `cluster` that reach clouds only, or owned hosts only.
_OF_CLOUDS = ("tags", "time_to_live", "stop_when_idle")
_OF_HOSTS = ("host_prefix",)


def without_effect(blueprint: Blueprint, options: Sequence[Option]) -> list[Finding]:
    """Return a warning for every key that was given and changes nothing whatever the workload (`EFF006` to `EFF010`).

    Args:
        blueprint: as loaded, with all its targets.
        options: what was planned of it.
    """
    return [
        *_cluster(blueprint),
        *_services(blueprint),
        *_storage(blueprint, options),
        *_owner(blueprint),
    ]


def given(section: BaseModel, name: str) -> bool:
    """Tell whether a key was given a value."""
    return name in section.model_fields_set and getattr(section, name) is not None


def no_effect(number: int, path: tuple[str, ...], reason: str, advice: str) -> Finding:
    """Return the warning that a key changes nothing, and what to do about it."""
    return Finding(id=f"EFF{number:03}", path=path, message=f"{'.'.join(path)} has no effect: {reason}", help=advice)


def _cluster(blueprint: Blueprint) -> Iterator[Finding]:
    rented = any(getattr(blueprint.targets, cloud) is not None for cloud in CLOUDS)
    owned = blueprint.targets.onprem is not None
    for names, reached, reason in (
        (_OF_CLOUDS, rented, "no target is a cloud"),
        (_OF_HOSTS, owned, "no target is on premises"),
    ):
        if reached:
            continue
        for name in names:
            if given(blueprint.cluster, name):
                yield no_effect(6, ("cluster", name), reason, f"remove {name}, or add such a target")
    targets = [target for name in TARGETS if (target := getattr(blueprint.targets, name)) is not None]
    if all(target.scheduler == "kubernetes" for target in targets):
        for name in ("users", "groups", "directory"):
            if given(blueprint.cluster, name):
                yield no_effect(
                    10,
                    ("cluster", name),
                    "who may start pods is Kubernetes' own matter (role bindings of the namespace)",
                    f"remove {name}, or set scheduler: slurm",
                )


def _owner(blueprint: Blueprint) -> Iterator[Finding]:
    if blueprint.targets.onprem is None and blueprint.tco.owner.model_fields_set:
        yield no_effect(9, ("tco", "owner"), "no target is owned", "add targets.onprem, or remove tco.owner")


def _services(blueprint: Blueprint) -> Iterator[Finding]:
    azure = blueprint.targets.azure
    if azure is not None and azure.scheduler != "kubernetes" and azure.network.service_cidr is not None:
        yield no_effect(
            7,
            ("targets", "azure", "network", "service_cidr"),
            f"{azure.scheduler} has no services with addresses of their own",
            "set scheduler to kubernetes, or remove service_cidr",
        )


def _storage(blueprint: Blueprint, options: Sequence[Option]) -> Iterator[Finding]:
    """Yield figures of storage boxes that the chosen storage system does not use."""
    target = blueprint.targets.onprem
    asked = None if target is None else target.storage
    if asked is None:
        return
    designs = [option.design.facility.inventory.storage for option in options if option.design.facility is not None]
    if not designs:
        return
    design, path = designs[0], ("targets", "onprem", "storage")
    if design.lustre is None:
        for name in ("files", "targets_per_box"):
            if given(asked, name):
                yield no_effect(8, (*path, name), f"{design.name} is no Lustre", f"remove {name}")
    if design.front is None and given(asked, "front_box"):
        yield no_effect(8, (*path, "front_box"), f"{design.name} has one kind of box", "remove front_box")
    for section, box, names in _idle_figures(design):
        for name in names:
            if given(getattr(asked, section), name):
                yield no_effect(8, (*path, section, name), f"{box.name} is not counted by it", f"remove {name}")


def _idle_figures(design: StorageDesign) -> Iterator[tuple[str, StorageBox, tuple[str, ...]]]:
    """Yield section, box and keys by which boxes are not counted, where a system has two kinds."""
    if design.front is None:
        return
    yield "front_box", design.front, ("capacity", "ports", "port_rate")
    if design.throughput_box == "front":
        yield "box", design.data, ("read", "write")
    else:
        yield "front_box", design.front, ("read", "write")
