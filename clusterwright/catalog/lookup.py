"""Finding records by the names people write, and describing a node the way sizing needs it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TypeVar

from clusterwright.catalog.host import Host, host_of
from clusterwright.catalog.records import Accelerator, Catalogue, Instance, Model, NodeType, Part, Switch, System
from clusterwright.catalog.storage import StorageSystem
from clusterwright.errors import InputError, MissingFactError

_T = TypeVar("_T")
_SEPARATORS = re.compile(r"[^a-z0-9]+")
#: Organisation before the name of a model on a hub, and the maker's name that Meta's oldest ones repeat.
_PUBLISHER = re.compile(r"^[\w.-]+/(?:meta-)?", re.IGNORECASE)
#: Suffixes of tuned weights, of the format of Transformers, and of a first version.
_TUNED = re.compile(r"(?:-(?:instruct|chat|it|hf|base))*(?:-v0\.1)?$", re.IGNORECASE)
_SUGGESTIONS = 3
_LISTED = 12
#: Shorter names of accelerators (T4, L4) are in the middle of other words too.
_LEAST_HELD = 3


def accelerator(catalogue: Catalogue, name: str) -> Accelerator:
    """Return the accelerator that `name` means, for example `h100-sxm-80gb`, `H100` or `h100 sxm 80 GB`.

    Raises:
        InputError: nothing has that name; the help names the closest ones.
    """
    return _find("accelerator", name, catalogue.accelerators, catalogue.aliases)


def system(catalogue: Catalogue, name: str) -> System:
    """Return the on-premises system that `name` means, for example `dgx-h100`; errors as `accelerator`."""
    return _find("system", name, catalogue.systems, catalogue.aliases)


def instance(catalogue: Catalogue, name: str, *, cloud: str | None = None) -> Instance:
    """Return the cloud instance type that `name` means, for example `p5.48xlarge`.

    Args:
        catalogue: where to look.
        name: the cloud's own type name; case and punctuation do not matter.
        cloud: look only among this cloud's types (`aws`, `azure`, `gcp`).

    Raises:
        InputError: the cloud has no such type; the help names the closest ones, of another cloud too.
    """
    if cloud is None:
        return _find("instance type", name, catalogue.instances, catalogue.aliases)
    own = {key: entry for key, entry in catalogue.instances.items() if entry.cloud == cloud}
    try:
        return _find(f"{cloud} instance type", name, own, catalogue.aliases)
    except InputError as error:
        elsewhere = _match(name, catalogue.instances, catalogue.aliases)
        if elsewhere is None:
            raise
        other = catalogue.instances[elsewhere].cloud
        raise InputError(error.message, help=f"{elsewhere} is an instance type of {other}, not of {cloud}") from None


def model(catalogue: Catalogue, name: str) -> Model:
    """Return the model that `name` means, for example `gpt3-175b` or `meta-llama/Llama-3.3-70B-Instruct`.

    Raises:
        InputError: as `accelerator`.
    """
    shorter = _without_hub(name)
    found = next((known for one in shorter if (known := _match(one, catalogue.models, catalogue.aliases))), None)
    if found is None:
        help_ = _suggestion(shorter[-1], catalogue.models, catalogue.aliases)
        raise InputError(f"no model is called {name!r}", help=help_)
    return catalogue.models[found]


def _without_hub(name: str) -> list[str]:
    """Return a model's name, the name without its organisation on a hub, and that without suffixes of tuning.

    Tuned weights have the layers and widths of their base; their longest context may differ, and the catalogue's holds.
    Versions and dates stay: Mistral 7B has a sliding window in v0.1 alone, Qwen3 a longer context in its 2507 releases.

    >>> _without_hub("meta-llama/Llama-3.3-70B-Instruct")
    ['meta-llama/Llama-3.3-70B-Instruct', 'Llama-3.3-70B-Instruct', 'Llama-3.3-70B']
    >>> _without_hub("Qwen/Qwen3-30B-A3B-Instruct-2507")[-1], _without_hub("llama-3-70b")
    ('Qwen3-30B-A3B-Instruct-2507', ['llama-3-70b'])
    """
    published = _PUBLISHER.sub("", name)
    return list(dict.fromkeys((name, published, _TUNED.sub("", published))))


def switch(catalogue: Catalogue, name: str) -> Switch:
    """Return the switch that `name` means, for example `qm9700`; errors as `accelerator`."""
    return _find("switch", name, catalogue.switches, catalogue.aliases)


def part(catalogue: Catalogue, name: str) -> Part:
    """Return the part that `name` means; errors as `accelerator`."""
    return _find("part", name, catalogue.parts, catalogue.aliases)


def storage_system(catalogue: Catalogue, name: str) -> StorageSystem:
    """Return the storage system that `name` means, for example `vast`; errors as `accelerator`."""
    return _find("storage system", name, catalogue.storage_systems, catalogue.aliases)


def entity_id(catalogue: Catalogue, name: str) -> str:
    """Return the id of whatever `name` means, of any kind, among them topics that only claims speak of.

    Raises:
        InputError: nothing has that name; the help names the closest ones.
    """
    return _resolve("fact", name, names_of(catalogue), catalogue.aliases)


def names_of(catalogue: Catalogue) -> dict[str, str]:
    """Return every entity's id and the name to show for it, records first, then topics."""
    groups: tuple[Mapping[str, Accelerator | System | Switch | Part | Model | StorageSystem], ...] = (
        catalogue.accelerators,
        catalogue.systems,
        catalogue.switches,
        catalogue.parts,
        catalogue.models,
        catalogue.storage_systems,
    )
    names = {key: entry.name for group in groups for key, entry in group.items()}
    names |= {key: key for key in catalogue.instances}
    for claim in catalogue.claims:
        names.setdefault(claim.entity, claim.entity.replace("-", " "))
    return names


def _find(what: str, name: str, entries: Mapping[str, _T], aliases: Mapping[str, str]) -> _T:
    return entries[_resolve(what, name, entries, aliases)]


def _resolve(what: str, name: str, entries: Mapping[str, object], aliases: Mapping[str, str]) -> str:
    found = _match(name, entries, aliases)
    if found is None:
        raise InputError(f"no {what} is called {name!r}", help=_suggestion(name, entries, aliases))
    return found


def _match(name: str, entries: Mapping[str, object], aliases: Mapping[str, str]) -> str | None:
    if name in entries:
        return name
    plain = _plain(name)
    for key in entries:
        if _plain(key) == plain:
            return key
    for alias, key in aliases.items():
        if key in entries and _plain(alias) == plain:
            return key
    return None


def _suggestion(name: str, entries: Mapping[str, object], aliases: Mapping[str, str]) -> str:
    by_plain = {_plain(alias): key for alias, key in aliases.items() if key in entries}
    by_plain |= {_plain(key): key for key in entries}
    plain = _plain(name)
    having = _having_accelerator(plain, entries, aliases)
    begun = sorted(key for key in by_plain if plain and key.startswith(plain))[:_SUGGESTIONS]
    among = [key for key in by_plain if by_plain[key] in having] if having else list(by_plain)
    close = get_close_matches(plain, among, n=_SUGGESTIONS, cutoff=0.5) or begun
    if close or having:
        return f"did you mean {_listed(dict.fromkeys([by_plain[match] for match in close] or having[:_SUGGESTIONS]))}?"
    if len(entries) > _LISTED:
        return f"`clusterwright facts` lists all {len(entries)} that are known"
    return f"known: {', '.join(sorted(entries))}"


def _having_accelerator(plain: str, entries: Mapping[str, object], aliases: Mapping[str, str]) -> list[str]:
    """Return nodes with an accelerator that a name holds, as `8xh100` does, those with most of it first."""
    nodes = {key: entry for key, entry in entries.items() if isinstance(entry, Instance | System)}
    words: dict[str, set[str]] = {}
    for chip in {node.accelerator for node in nodes.values()}:
        others = (alias for alias, meant in aliases.items() if meant == chip)
        parts = (part for part in chip.split("-") if not part.endswith("gb") and any(map(str.isdigit, part)))
        for word in map(_plain, (chip, *others, *parts)):
            words.setdefault(word, set()).add(chip)
    held = [word for word in words if word == plain or (len(word) >= _LEAST_HELD and word in plain)]
    if not held:
        return []
    chips = words[max(held, key=len)]
    found = [node for node in nodes.values() if node.accelerator in chips]
    return [node.id for node in sorted(found, key=lambda node: (-node.gpus, node.id))]


def _listed(names: Iterable[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.casefold())


def node_type_of_instance(catalogue: Catalogue, name: str) -> NodeType:
    """Return what sizing needs to know of a rented node.

    Scale-out bandwidth of one GPU, one direction = fabric interfaces x bytes/s each / GPUs: a p5.48xlarge has 32 x 100
    Gb/s for 8 GPUs, so 50 GB/s. Memory is the smaller of what the instance shows and what the accelerator's software
    can use.

    Args:
        catalogue: the facts.
        name: instance type.

    Raises:
        InputError: no such instance type.
        MissingFactError: its memory is not known.
    """
    entry = instance(catalogue, name)
    chip = catalogue.accelerators[entry.accelerator]
    shown = [size for size in (entry.visible_hbm_bytes_per_gpu, chip.hbm_bytes) if size is not None]
    node = _node_type(
        identity=entry.id,
        chip=chip,
        gpus=entry.gpus,
        hbm_bytes_per_gpu=min(shown, default=None),
        network_kind=entry.fabric_kind,
        network_bytes_per_s=_product(entry.fabric_interfaces, entry.fabric_bytes_per_s_per_interface_one_way),
        placement_max_nodes=entry.placement_max_nodes,
        host=_host(catalogue, entry, chip),
    )
    return replace(
        node,
        cpu_threads=entry.vcpus,
        local_nvme_bytes=entry.local_nvme_bytes,
        local_nvme_read_bytes_per_s=entry.local_nvme_read_bytes_per_s,
        storage_bytes_per_s_one_way=entry.front_end_bytes_per_s_one_way,
    )


def node_type_of_system(catalogue: Catalogue, name: str) -> NodeType:
    """Return what sizing needs to know of a bought node; a DGX H100 has 8 x 400 Gb/s for 8 GPUs, so 50 GB/s per GPU.

    Raises:
        InputError: no such system.
        MissingFactError: its memory is not known.
    """
    entry = system(catalogue, name)
    chip = catalogue.accelerators[entry.accelerator]
    node = _node_type(
        identity=entry.id,
        chip=chip,
        gpus=entry.gpus,
        hbm_bytes_per_gpu=chip.hbm_bytes,
        network_kind=entry.fabric_kind or "none",
        network_bytes_per_s=_product(entry.gpus, entry.fabric_bytes_per_s_per_gpu_one_way),
        placement_max_nodes=None,
        host=_host(catalogue, entry, chip),
    )
    cores = _times(entry.cpu_sockets, entry.cpu_cores_per_socket)
    return replace(
        node,
        cpu_threads=_times(cores, entry.cpu_threads_per_core),
        local_nvme_bytes=entry.local_nvme_bytes,
        local_nvme_read_bytes_per_s=entry.local_nvme_read_bytes_per_s,
    )


def _host(catalogue: Catalogue, entry: Instance | System, chip: Accelerator) -> Host:
    return host_of(
        catalogue.claims,
        node=entry.id,
        memory_bytes=entry.memory_bytes,
        nvme_bytes=entry.local_nvme_bytes,
        nvme_read=entry.local_nvme_read_bytes_per_s,
        link=chip.host_link_bytes_per_s_one_way,
        sockets=getattr(entry, "cpu_sockets", None),
    )


def _times(count: int | None, each: int | None) -> int | None:
    return None if count is None or each is None else count * each


def _product(count: int | None, each: float | None) -> float | None:
    return None if count is None or each is None else count * each


def _node_type(
    *,
    identity: str,
    chip: Accelerator,
    gpus: int,
    hbm_bytes_per_gpu: float | None,
    network_kind: str,
    network_bytes_per_s: float | None,
    placement_max_nodes: int | None,
    host: Host,
) -> NodeType:
    if hbm_bytes_per_gpu is None:
        raise MissingFactError(
            f"the memory of {chip.name} is not known, so {identity} cannot be sized", help="choose another node type"
        )
    return NodeType(
        id=identity,
        accelerator=chip,
        gpus=gpus,
        hbm_bytes_per_gpu=hbm_bytes_per_gpu,
        network_kind=network_kind,
        network_bytes_per_s_per_gpu_one_way=(network_bytes_per_s or 0.0) / gpus,
        placement_max_nodes=placement_max_nodes,
        host=host,
    )
