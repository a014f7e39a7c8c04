"""The command that proves a planned fabric, or a written folder, with the real engines."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.checks.prove.fabric.proof import Proof, prove
from clusterwright.checks.prove.fabric.subnet_manager import missing_engine
from clusterwright.checks.prove.fabrics import facts
from clusterwright.checks.prove.records import NOT_PROVEN, SKIPPED, Result
from clusterwright.checks.prove.site.ethernet import EthernetProof, planned, walk_ethernet
from clusterwright.cli.planning import plan_of, progress_display
from clusterwright.cli.render.text_table import fitted
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.facility.cabling.links import compute_links, compute_names
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.facility.fabric.planes import Plane
from clusterwright.facility.fabric.system import SystemFabric

SCHEMA_VERSION = 1
_MANAGERS = ["fabric-manager-1", "fabric-manager-2"]


def prove_path(path: Path, set_values: list[str] | None, *, as_json: bool, strict: bool, quiet: bool) -> int:
    """Prove a written folder, or the fabric of a blueprint; return the exit code.

    Raises:
        InputError: see `prove_blueprint` and `prove_folder`.
    """
    if not path.is_dir():
        return prove_blueprint(path, set_values, as_json=as_json)
    if set_values:
        raise InputError("--set changes a blueprint, a folder is written already", help="leave out --set")
    return prove_folder(path, as_json=as_json, strict=strict, quiet=quiet)


def prove_folder(root: Path, *, as_json: bool, strict: bool, quiet: bool) -> int:
    """Prove a written folder with every engine that is installed, and write the page about it; return the exit code.

    Args:
        root: the folder.
        as_json: print JSON.
        strict: a part that was skipped counts as not proven.
        quiet: show no progress.

    Raises:
        InputError: the folder has no plan or no documents on premises.
    """
    from clusterwright.checks.prove.folder import read_folder
    from clusterwright.checks.prove.proof import PAGE, page, prove_documents
    from clusterwright.outputs import folder

    documents = read_folder(root)
    with progress_display(quiet=quiet or as_json) as progress:
        results = prove_documents(documents, progress=progress)
    folder.add(documents.site / PAGE, page(documents, results).encode())
    failed = any(result.state == NOT_PROVEN or (strict and result.state == SKIPPED) for result in results)
    if as_json:
        answer = {
            "schema": SCHEMA_VERSION,
            "folder": str(root),
            "proven": not failed,
            "parts": [asdict(result) for result in results],
        }
        print(json.dumps(answer, indent=1))
    else:
        print(fitted(folder_text(results, failed=failed, page=documents.site / PAGE)))
    return EXIT_RULE_FAILED if failed else EXIT_FINE


def folder_text(results: Sequence[Result], *, failed: bool, page: Path) -> str:
    """Return the proof of a folder as people read it."""
    lines = ["NOT PROVEN" if failed else "PROVEN", ""]
    width = max(len(result.part) for result in results)
    indent = " " * (width + 15)
    for result in results:
        first, *more = result.facts or (result.reason or f"{len(result.findings)} findings",)
        lines.append(f"  {result.state:<11} {result.part:<{width}} {first}")
        lines += [f"{indent}{fact}" for fact in more]
        if result.state != SKIPPED:
            lines.append(f"{indent}by {result.engine}, {result.seconds:.1f} s")
        for finding in result.findings:
            lines += [f"{'':<14}{finding.id}  {finding.message}", f"{'':<22}{finding.help}"]
    return "\n".join([*lines, "", f"written to {page}"])


def prove_blueprint(path: Path, set_values: list[str] | None, *, as_json: bool) -> int:
    """Prove the compute fabric of a blueprint's on-premises target; return the exit code.

    Raises:
        InputError: the fabric is InfiniBand, and the engines are not installed.
    """
    option = plan_of(path, set_values, "onprem").options[0]
    assert option.facility is not None  # noqa: S101 - on premises
    inventory = option.facility.inventory
    proofs = [
        _proof(
            inventory.fabric,
            switch=inventory.compute_switch,
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
        InputError: it is InfiniBand, and the engines are not installed.
    """
    hosts = [f"node{number + 1:04d}" for number in range(sized.fabric.nodes)]
    proofs = [
        _proof(sized.fabric, switch=sized.switch, hosts=hosts, managers=_MANAGERS, plane=plane)
        for plane in sized.each_plane()
    ]
    return show(proofs, title, as_json=as_json)


def _proof(
    fabric: Fabric, *, switch: str, hosts: list[str], managers: list[str], plane: Plane
) -> Proof | EthernetProof:
    """Route an InfiniBand fabric with OpenSM; walk the ways of equal cost of Ethernet, which has no subnet manager."""
    links = list(compute_links(fabric=fabric, family="", hosts=hosts, managers=managers, plane=plane))
    if load_catalogue().switches[switch].network != INFINIBAND_NETWORK:
        return walk_ethernet(planned(links, fabric))
    _require_engines()
    return prove(fabric=fabric, links=links, names=compute_names(fabric, plane))


def _require_engines() -> None:
    reason = missing_engine()
    if reason:
        raise InputError("the proof needs the InfiniBand subnet manager and its simulator", help=reason)


def show(proofs: Sequence[Proof | EthernetProof], title: str, *, as_json: bool) -> int:
    """Print the proofs of all planes; return 0 if all hold, 1 if not."""
    if as_json:
        print(_json(proofs))
    else:
        of = f", plane {{}} of {len(proofs)}" if len(proofs) > 1 else ""
        texts = ["\n".join(_lines(proof, title + of.format(number))) for number, proof in enumerate(proofs, start=1)]
        print(fitted("\n\n".join(texts)))
    return EXIT_RULE_FAILED if any(proof.findings for proof in proofs) else EXIT_FINE


def _json(proofs: Sequence[Proof | EthernetProof]) -> str:
    proven = not any(proof.findings for proof in proofs)
    first: dict[str, Any] = asdict(proofs[0]) if len(proofs) == 1 else {"planes": [asdict(proof) for proof in proofs]}
    return json.dumps({"schema": SCHEMA_VERSION, "proven": proven, **first}, indent=1)


def _rows(proof: Proof | EthernetProof) -> list[tuple[str, str]]:
    if isinstance(proof, EthernetProof):
        engine = ("engine", "none: ways of equal cost over the planned cables, as shortest-path protocols compute them")
        return [engine, *zip(("found", "ways", "all"), proof.facts(), strict=False)]
    names = ("found", "ways", "routes", "shifts", "all")
    return [("engine", f"{proof.engine} over ibsim, {proof.seconds:.1f} s"), *zip(names, facts(proof), strict=False)]


def _lines(proof: Proof | EthernetProof, title: str) -> list[str]:
    rows = _rows(proof)
    verdict = "PROVEN" if not proof.findings else "NOT PROVEN"
    lines = [f"{verdict}  compute fabric of {title}", "", *(f"  {name:<8}{value}" for name, value in rows)]
    for finding in proof.findings:
        lines += ["", f"  {finding.id}  {finding.message}", f"          {finding.help}"]
    return lines
