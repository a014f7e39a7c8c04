"""The command that proves a planned InfiniBand fabric with the real subnet manager."""

import json
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
    links = list(
        compute_links(
            fabric=inventory.fabric,
            family=inventory.compute_family,
            hosts=inventory.hosts(),
            managers=inventory.compute_manager_names() or _MANAGERS,
        )
    )
    proof = prove(fabric=inventory.fabric, links=links, names=compute_names(inventory.fabric))
    return show(proof, f"{option.nodes:,} × {inventory.system_name}", as_json=as_json)


def prove_fabric(fabric: Fabric, *, switch: str, title: str, as_json: bool) -> int:
    """Prove a fabric that was sized without a blueprint; return the exit code.

    Raises:
        InputError: it is not InfiniBand, or the engines are not installed.
    """
    _require_engines()
    _require_infiniband(switch)
    hosts = [f"node{number + 1:04d}" for number in range(fabric.nodes)]
    links = list(compute_links(fabric=fabric, family="", hosts=hosts, managers=_MANAGERS))
    return show(prove(fabric=fabric, links=links, names=compute_names(fabric)), title, as_json=as_json)


def _require_engines() -> None:
    reason = missing_engine()
    if reason:
        raise InputError("the proof needs the InfiniBand subnet manager and its simulator", help=reason)


def _require_infiniband(switch: str) -> None:
    if load_catalogue().switches[switch].network != "infiniband":
        raise InputError(
            f"{switch} is an Ethernet switch: OpenSM routes InfiniBand only", help="nothing proves this fabric yet"
        )


def show(proof: Proof, title: str, *, as_json: bool) -> int:
    """Print a proof; return 0 if it holds, 1 if not."""
    print(_json(proof) if as_json else "\n".join(_lines(proof, title)))  # noqa: T201 - the result
    return EXIT_RULE_FAILED if proof.findings else EXIT_FINE


def _json(proof: Proof) -> str:
    return json.dumps({"schema": SCHEMA_VERSION, "proven": not proof.findings, **asdict(proof)}, indent=1)


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
