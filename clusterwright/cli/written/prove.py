"""The command that proves a planned fabric, or a written folder, with the real engines."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.checks.prove.fabric.proof import Budget, Proof, prove
from clusterwright.checks.prove.fabric.subnet_manager import NotRoutedError, missing_engine
from clusterwright.checks.prove.fabrics import Routing, facts
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED, UNKNOWN, Result
from clusterwright.checks.prove.site.ethernet import EthernetProof, planned, walk_ethernet
from clusterwright.cli.planning import plan_of, progress_display
from clusterwright.cli.render.text_table import described, fitted
from clusterwright.errors import EXIT_FACT_MISSING, EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.facility.cabling.links import compute_links, compute_names
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.facility.fabric.planes import Plane
from clusterwright.facility.fabric.system import SystemFabric
from clusterwright.units import DURATION, counted, parse

SCHEMA_VERSION = 1
#: Whether a fabric holds is as unknown as an answer without a fact.
_EXITS = {PROVEN: EXIT_FINE, NOT_PROVEN: EXIT_RULE_FAILED, UNKNOWN: EXIT_FACT_MISSING}
_MANAGERS = ["fabric-manager-1", "fabric-manager-2"]


def prove_path(
    path: Path,
    set_values: list[str] | None,
    *,
    as_json: bool,
    strict: bool,
    quiet: bool,
    route: str | None = None,
    within: str | None = None,
) -> int:
    """Prove a written folder, or the fabric of a blueprint; return the exit code.

    Raises:
        InputError: see `prove_blueprint` and `prove_folder`.
    """
    routing = _routing(route, within)
    if not path.is_dir():
        return prove_blueprint(path, set_values, as_json=as_json, routing=routing, quiet=quiet)
    if set_values:
        raise InputError("--set changes a blueprint, a folder is written already", help="leave out --set")
    return prove_folder(path, as_json=as_json, strict=strict, quiet=quiet, routing=routing)


def _routing(route: str | None, within: str | None) -> Routing:
    """Return what `--route` and `--within` ask for.

    Raises:
        InputError: an empty list, or a time that is none or not above 0.
    """
    chosen = None
    if route is not None and route.strip().lower() != "all":
        names = frozenset(name.strip().lower() for name in route.split(",") if name.strip())
        if not names:
            raise InputError("--route names no fabric", help="for example --route p1,storage, or --route none")
        chosen = names - {"none"}
    seconds = None if within is None else parse(within, DURATION)
    if seconds is not None and seconds <= 0:
        raise InputError(f"--within {within} leaves no time", help="for example --within 2h")
    return Routing(chosen=chosen, within_s=seconds)


def prove_folder(root: Path, *, as_json: bool, strict: bool, quiet: bool, routing: Routing | None = None) -> int:
    """Prove a written folder with every engine that is installed, and write the page about it; return the exit code.

    Args:
        root: the folder.
        as_json: print JSON.
        strict: a part that was skipped or is unknown counts as not proven.
        quiet: show no progress.
        routing: which fabrics are routed, and in what time.

    Raises:
        InputError: the folder has no plan, no documents on premises, or not the fabrics that were chosen.
    """
    from clusterwright.checks.prove.folder import read_folder
    from clusterwright.checks.prove.proof import PAGE, page, prove_documents, verdict
    from clusterwright.outputs import folder

    documents = read_folder(root)
    with progress_display(quiet=quiet or as_json) as progress:
        results = prove_documents(documents, routing=routing, progress=progress)
    folder.add(documents.site / PAGE, page(documents, results).encode())
    said = verdict(results)
    if strict and any(result.state in {SKIPPED, UNKNOWN} for result in results):
        said = NOT_PROVEN
    if as_json:
        answer = {
            "schema": SCHEMA_VERSION,
            "folder": str(root),
            "proven": said == PROVEN,
            "verdict": said,
            "parts": [asdict(result) for result in results],
        }
        print(json.dumps(answer, indent=1))
    else:
        print(fitted(folder_text(results, said=said, page=documents.site / PAGE)))
    return _EXITS[said]


def folder_text(results: Sequence[Result], *, said: str, page: Path) -> str:
    """Return the proof of a folder as people read it."""
    width = max(len(result.part) for result in results)
    lines = [said.upper(), ""]
    for result in results:
        texts = result.facts or (result.reason or counted(len(result.findings), "finding"),)
        if result.state not in {SKIPPED, UNKNOWN}:
            texts = (*texts, f"by {result.engine}, {result.seconds:.1f} s")
        lines += described([(f"{result.state:<10}  {result.part:<{width}}", texts)], indent=2)
        for finding in result.findings:
            lines += [f"{'':<14}{finding.id}  {finding.message}", f"{'':<22}{finding.help}"]
    return "\n".join([*lines, "", f"written to {page}"])


def prove_blueprint(
    path: Path, set_values: list[str] | None, *, as_json: bool, routing: Routing | None = None, quiet: bool = True
) -> int:
    """Prove the compute fabric of a blueprint's on-premises target; return the exit code.

    Raises:
        InputError: the fabric is InfiniBand without installed engines; a plane was chosen that it does not have.
    """
    option = plan_of(path, set_values, "onprem").options[0]
    assert option.design.facility is not None  # noqa: S101 - on premises
    inventory = option.design.facility.inventory
    with progress_display(quiet=quiet or as_json) as progress:
        proofs = _planes(
            inventory.fabric,
            switch=inventory.compute_switch,
            hosts=inventory.hosts(),
            managers=[inventory.managers_of(plane) or _MANAGERS for plane in inventory.each_plane()],
            planes=inventory.each_plane(),
            routing=routing or Routing(),
            progress=progress,
        )
    return show(proofs, f"{option.cluster.nodes:,} × {inventory.system_name}", as_json=as_json)


def prove_fabric(sized: SystemFabric, *, title: str, as_json: bool) -> int:
    """Prove all planes of a fabric that was sized without a blueprint; return the exit code.

    Raises:
        InputError: it is InfiniBand, and the engines are not installed.
    """
    planes = sized.each_plane()
    with progress_display(quiet=as_json) as progress:
        proofs = _planes(
            sized.fabric,
            switch=sized.switch,
            hosts=[f"node{number + 1:04d}" for number in range(sized.fabric.nodes)],
            managers=[_MANAGERS] * len(planes),
            planes=planes,
            routing=Routing(),
            progress=progress,
        )
    return show(proofs, title, as_json=as_json)


def _planes(
    fabric: Fabric,
    *,
    switch: str,
    hosts: list[str],
    managers: Sequence[list[str]],
    planes: Sequence[Plane],
    routing: Routing,
    progress: Callable[[str], None],
) -> list[Proof | EthernetProof | str]:
    """Prove plane after plane; a plane that is not routed gives the reason.

    Raises:
        InputError: a plane was chosen that there is not.
    """
    names = [f"p{plane.number + 1}" if plane.count > 1 else "compute" for plane in planes]
    foreign = sorted((routing.chosen or frozenset()) - set(names))
    if foreign:
        raise InputError(f"there is no fabric {foreign[0]} to route", help=f"the plan has {', '.join(names)}")
    until = None if routing.within_s is None else time.monotonic() + routing.within_s
    found: list[Proof | EthernetProof | str] = []
    for name, plane, own in zip(names, planes, managers, strict=True):
        budget = Budget(until=until, progress=lambda said, name=name: progress(f"{name}: {said}"))  # type: ignore[misc]
        if routing.chosen is not None and name not in routing.chosen:
            found.append("not routed: it is not among the fabrics that were chosen (--route)")
        elif budget.left_s() == 0:
            found.append("not routed: the time was over before it came (--within)")
        else:
            progress(f"proving {name}: {fabric.nodes * fabric.ports_per_node:,} ports")
            try:
                found.append(_proof(fabric, switch=switch, hosts=hosts, managers=own, plane=plane, budget=budget))
            except NotRoutedError as error:
                found.append(f"not routed: {error.message}, of what the time for all left it (--within)")
    return found


def _proof(
    fabric: Fabric, *, switch: str, hosts: list[str], managers: list[str], plane: Plane, budget: Budget
) -> Proof | EthernetProof:
    """Route an InfiniBand fabric with OpenSM; walk the ways of equal cost of Ethernet, which has no subnet manager."""
    links = list(compute_links(fabric=fabric, family="", hosts=hosts, managers=managers, plane=plane))
    if load_catalogue().switches[switch].network != INFINIBAND_NETWORK:
        return walk_ethernet(planned(links, fabric))
    _require_engines()
    return prove(fabric=fabric, links=links, names=compute_names(fabric, plane), budget=budget)


def _require_engines() -> None:
    reason = missing_engine()
    if reason:
        raise InputError("the proof needs the InfiniBand subnet manager and its simulator", help=reason)


def show(proofs: Sequence[Proof | EthernetProof | str], title: str, *, as_json: bool) -> int:
    """Print the proofs of all planes; return 0 if all hold, 1 if one does not, 3 if one was not routed."""
    said = _verdict(proofs)
    if as_json:
        print(_json(proofs, said))
    else:
        of = f", plane {{}} of {len(proofs)}" if len(proofs) > 1 else ""
        texts = ["\n".join(_lines(proof, title + of.format(number))) for number, proof in enumerate(proofs, start=1)]
        print(fitted("\n\n".join(texts)))
    return _EXITS[said]


def _verdict(proofs: Sequence[Proof | EthernetProof | str]) -> str:
    if any(not isinstance(proof, str) and proof.findings for proof in proofs):
        return NOT_PROVEN
    return UNKNOWN if any(isinstance(proof, str) for proof in proofs) else PROVEN


def _json(proofs: Sequence[Proof | EthernetProof | str], said: str) -> str:
    planes: list[dict[str, Any]] = [
        {"not_routed": proof} if isinstance(proof, str) else asdict(proof) for proof in proofs
    ]
    first: dict[str, Any] = planes[0] if len(planes) == 1 else {"planes": planes}
    answer = {"schema": SCHEMA_VERSION, "proven": said == PROVEN, "verdict": said, **first}
    return json.dumps(answer, indent=1)


def _rows(proof: Proof | EthernetProof) -> list[tuple[str, str]]:
    if isinstance(proof, EthernetProof):
        engine = ("engine", "none: ways of equal cost over the planned cables, as shortest-path protocols compute them")
        return [engine, *zip(("found", "ways", "all"), proof.facts(), strict=False)]
    names = ("found", "ways", "routes", "shifts", "all")
    return [("engine", f"{proof.engine} over ibsim, {proof.seconds:.1f} s"), *zip(names, facts(proof), strict=False)]


def _lines(proof: Proof | EthernetProof | str, title: str) -> list[str]:
    if isinstance(proof, str):
        return [f"{UNKNOWN.upper()}  compute fabric of {title}", "", f"  {proof}"]
    rows = _rows(proof)
    verdict = "PROVEN" if not proof.findings else "NOT PROVEN"
    lines = [f"{verdict}  compute fabric of {title}", "", *(f"  {name:<8}{value}" for name, value in rows)]
    for finding in proof.findings:
        lines += ["", f"  {finding.id}  {finding.message}", f"          {finding.help}"]
    return lines
