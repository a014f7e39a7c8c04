"""Which cluster a state belongs to: recorded by every layer, compared by `cluster.sh` before anything is done.

    python -m gpu_cluster.identity COMMAND STACK STACK_NAME [ACCOUNT]

COMMAND is that of `cluster.sh`; `up` gives a new cluster its id, in `foundation/cluster-id.STACK.json`, and `adopt`
takes over the id of the state. Prints `new` where no layer has a state yet. The file belongs with the configuration:
whoever has it works on the same cluster, and a folder that was generated again beside it does not.
"""

import json
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import yaml

LAYERS = ("foundation", "cluster", "nodes")
TYPE = "gpucluster:state:ClusterIdentity"
#: Where a cloud's configuration says its place; the last one is under the project's own name.
_PLACE_KEYS = ("aws:region", "gcp:region", "location")


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What distinguishes a cluster from every other one.

    Attributes:
        cluster: its name.
        place: region of the cloud.
        account: account, subscription or project; empty if unknown.
        id: given once, by the first `up`; empty if that was not by `cluster.sh`.
    """

    cluster: str
    place: str
    account: str
    id: str

    def __str__(self) -> str:
        """For people, on one line."""
        account = f" of account {self.account}" if self.account else ""
        return f"cluster {self.cluster} in {self.place}{account}, id {self.id or 'unknown'}"


def file_of(project: Path, stack: str) -> Path:
    """Return where a project keeps the id of a stack's cluster."""
    return project / "foundation" / f"cluster-id.{stack}.json"


def read_file(project: Path, stack: str) -> dict[str, str]:
    """Return id and account of a stack's cluster, or nothing before its first `up`."""
    try:
        values: object = json.loads(file_of(project, stack).read_text())
    except FileNotFoundError:
        return {}
    return cast("dict[str, str]", values)


def state_of(deployment: Mapping[str, Any]) -> Identity | None:
    """Return whose a layer's state is; None where it holds nothing, unknown parts empty where nobody recorded it.

    Args:
        deployment: what `pulumi stack export` prints.
    """
    resources = cast("list[dict[str, Any]]", _mapping(deployment.get("deployment")).get("resources") or [])
    for resource in resources:
        if resource["type"] == TYPE:
            outputs = cast("dict[str, str]", resource.get("outputs") or {})
            return Identity(**{key: str(outputs.get(key, "")) for key in ("cluster", "place", "account", "id")})
    made = [one for one in resources if one["type"] != "pulumi:pulumi:Stack"]
    return Identity(cluster="", place="", account="", id="") if made else None


def objection(state: Identity, own: Identity, *, adopting: bool) -> str:
    """Return why a state is not this folder's; empty if it is.

    Args:
        state: recorded there.
        own: of this folder.
        adopting: whether the folder is said to be of the same cluster, so that its id may differ.
    """
    for what, theirs, ours in (
        ("another cluster", state.cluster, own.cluster),
        ("another place", state.place, own.place),
        ("another account", state.account, own.account),
    ):
        if theirs and ours and theirs != ours:
            return f"it is of {what}: {theirs}, and this folder is for {ours}"
    if adopting or (own.id and not state.id):
        return ""
    if state.id != own.id:
        return "it was brought up from another folder"
    if state.cluster and not state.id:
        return "it was brought up without ./cluster.sh, so that it has no id, and this folder has none either"
    return "" if state.cluster else "it does not say whose it is"


def _way_out(state: Identity, own: Identity, file: Path) -> str:
    """Return what to do about a foreign state; a state of another name, place or account cannot be taken over."""
    own_cluster = "For a cluster of its own, generate the folder with another cluster.name."
    if objection(state, own, adopting=True):
        return (
            f"{own_cluster} To go on\nwith the cluster of that state, work in the folder that it was brought up from."
        )
    copied = f"copy its {file} here, or, if this folder was\ngenerated again for it: " if state.id else ""
    return f"{own_cluster} To go on\nwith the cluster of that state, {copied}./cluster.sh adopt"


def configured(project: Path, stack: str, account: str) -> Identity:
    """Return the identity of a folder, as its configuration says."""
    layer = project / "foundation"
    name = str(_mapping(yaml.safe_load((layer / "Pulumi.yaml").read_text()))["name"])
    config = _mapping(_mapping(yaml.safe_load((layer / f"Pulumi.{stack}.yaml").read_text())).get("config"))
    values = {key.removeprefix(f"{name}:"): value for key, value in config.items()}
    known = read_file(project, stack)
    return Identity(
        cluster=str(values.get("clusterName", "")),
        place=next((str(values[key]) for key in _PLACE_KEYS if values.get(key)), ""),
        account=account or known.get("account", ""),
        id=known.get("id", ""),
    )


def exported(layer: str, stack_name: str) -> Mapping[str, Any]:
    """Return the state of a layer; nothing where its stack does not exist.

    Raises:
        RuntimeError: the state cannot be read, in the engine's words.
    """
    done = subprocess.run(  # noqa: S603 - the arguments are cluster.sh's
        ["pulumi", "-C", layer, "stack", "export", "--stack", stack_name],  # noqa: S607 - as cluster.sh finds it
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        if "no stack named" in done.stderr or "not found" in done.stderr:
            return {}
        raise RuntimeError(
            f"STA005: {layer}/Pulumi.yaml, backend.url: the state {stack_name} of layer {layer} cannot be read: "
            f"{done.stderr.strip()}\n"
            "Nothing was done. Correct what pulumi says, such as a login that has ended (pulumi whoami), then run this "
            "again."
        )
    return _mapping(json.loads(done.stdout))


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def main() -> int:
    """Compare states and folder; 1 and a sentence if one of them is foreign."""
    command, stack, stack_name, *rest = sys.argv[1:]
    project, own = Path(), configured(Path(), stack, rest[0] if rest else "")
    states = {layer: state for layer in LAYERS if (state := state_of(exported(layer, stack_name))) is not None}
    for layer, state in states.items():
        problem = objection(state, own, adopting=command == "adopt")
        if problem:
            sys.stderr.write(
                f"STA003: {layer}/Pulumi.{stack}.yaml, clusterName: the state {stack_name} of layer {layer} "
                f"is not this folder's: {problem}.\n"
                f"  state:  {state}\n  folder: {own}\n"
                f"Nothing was done. {_way_out(state, own, file_of(Path(), stack))}\n"
            )
            return 1
    if command == "adopt" and not states:
        sys.stderr.write(
            f"STA006: foundation/Pulumi.{stack}.yaml: no layer has a state {stack_name}, so that there is no state to "
            "adopt: ./cluster.sh up makes one.\n"
        )
        return 1
    given = next((state.id for state in states.values() if state.id), own.id)
    if not given and (command == "adopt" or (command == "up" and not states)):
        given = uuid.uuid4().hex[:12]
    own = replace(own, id=given)
    if own.id and own.id != read_file(project, stack).get("id"):
        file_of(project, stack).write_text(json.dumps({"id": own.id, "account": own.account}, indent=1) + "\n")
        sys.stderr.write(
            f"wrote {file_of(project, stack)}: keep it with the configuration, it says whose the state is\n"
        )
    if not states:
        sys.stdout.write("new\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(str(error))
