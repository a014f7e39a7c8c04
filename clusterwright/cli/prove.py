"""The command that proves a planned InfiniBand fabric with the real subnet manager."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.checks.fabric.proof import Proof, prove
from clusterwright.checks.fabric.subnet_manager import missing_engine
from clusterwright.cli.answer import plan_of
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.facility.fabric_counts import Fabric
from clusterwright.facility.links import compute_links, compute_names
from clusterwright.facility.planes import Plane
from clusterwright.facility.system_fabric import SystemFabric

SCHEMA_VERSION = 1
_MANAGERS = ["fabric-manager-1", "fabric-manager-2"]


def prove_blueprint(path: Path, set_values: list[str] | None, *, as_json: bool) -> int:
    """Prove the compute fabric of a blueprint's on-premises target; return the exit code.

    Raises:
        InputError: there is no InfiniBand fabric to prove, or the engines are not installed.
    """
    _require_engines()
    option = plan_of(path, set_values, "onprem").options[0]
    assert option.facility is not None  # noqa: S101 - on premises
    inventory = option.facility.inventory
    _require_infiniband(inventory.compute_switch)
    proofs = [
        _proof(
            inventory.fabric,
            hosts=inventory.hosts(),
            managers=inventory.managers_of(plane) or _MANAGERS,
            plane=plane,
        )
        for plane in inventory.each_plane()
    ]
    return show(proofs, f"{option.nodes:,} × {inventory.system_name}", as_json=as_json)


def prove_fabric(sized: SystemFabric, *, title: str, as_json: bool) -> int:
    """Prove all planes of a fabric that was sized without a blueprint; return the exit code.

    Raises:
        InputError: it is not InfiniBand, or the engines are not installed.
    """
    _require_engines()
    _require_infiniband(sized.switch)
    hosts = [f"node{number + 1:04d}" for number in range(sized.fabric.nodes)]
    proofs = [_proof(sized.fabric, hosts=hosts, managers=_MANAGERS, plane=plane) for plane in sized.each_plane()]
    return show(proofs, title, as_json=as_json)


def _proof(fabric: Fabric, *, hosts: list[str], managers: list[str], plane: Plane) -> Proof:
    links = list(compute_links(fabric=fabric, family="", hosts=hosts, managers=managers, plane=plane))
    return prove(fabric=fabric, links=links, names=compute_names(fabric, plane))


def _require_engines() -> None:
    reason = missing_engine()
    if reason:
        raise InputError("the proof needs the InfiniBand subnet manager and its simulator", help=reason)


def _require_infiniband(switch: str) -> None:
    if load_catalogue().switches[switch].network != "infiniband":
        raise InputError(
            f"{switch} is an Ethernet switch: OpenSM routes InfiniBand only",
            help="an Ethernet fabric is not proved; its links are checked on site with lldpctl (acceptance.md)",
        )


def show(proofs: Sequence[Proof], title: str, *, as_json: bool) -> int:
    """Print the proofs of all planes; return 0 if all hold, 1 if not."""
    if as_json:
        print(_json(proofs))  # noqa: T201 - the result
    else:
        of = f", plane {{}} of {len(proofs)}" if len(proofs) > 1 else ""
        texts = ["\n".join(_lines(proof, title + of.format(number))) for number, proof in enumerate(proofs, start=1)]
        print("\n\n".join(texts))  # noqa: T201 - the result
    return EXIT_RULE_FAILED if any(proof.findings for proof in proofs) else EXIT_FINE


def _json(proofs: Sequence[Proof]) -> str:
    proven = not any(proof.findings for proof in proofs)
    first: dict[str, Any] = asdict(proofs[0]) if len(proofs) == 1 else {"planes": [asdict(proof) for proof in proofs]}
    return json.dumps({"schema": SCHEMA_VERSION, "proven": proven, **first}, indent=1)


def _lines(proof: Proof, title: str) -> list[str]:
    pairs = sum(count for _, count in proof.pairs_by_switches)
    ways = ", ".join(f"{count:,} through {length}" for length, count in proof.pairs_by_switches)
    rows: list[tuple[str, Any]] = [
        ("engine", f"{proof.engine} over ibsim, {proof.seconds:.1f} s"),
        ("found", f"{proof.adapters:,} ports, {proof.switches:,} switches, {proof.cables:,} cables"),
        ("ways", f"{pairs:,} pairs of ports: {ways} switches"),
    ]
    if proof.destinations_per_uplink and proof.destinations_per_downlink:
        up, down = proof.destinations_per_uplink, proof.destinations_per_downlink
        rows.append(("routes", f"{_range(up)} destinations per uplink of a leaf, {_range(down)} per link down to one"))
    if proof.shifts:
        flows = "flow" if proof.busiest_link == 1 else "flows"
        rows.append(("shifts", f"{proof.shifts} shifts of all nodes: at most {proof.busiest_link} {flows} on a link"))
    verdict = "PROVEN" if not proof.findings else "NOT PROVEN"
    lines = [f"{verdict}  compute fabric of {title}", "", *(f"  {name:<8}{value}" for name, value in rows)]
    for finding in proof.findings:
        lines += ["", f"  {finding.id}  {finding.message}", f"          {finding.help}"]
    return lines


def _range(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"
