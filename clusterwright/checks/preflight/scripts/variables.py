"""Variables of NCCL and libfabric: which there are, what they may hold, and what a fabric needs.

Two tables, beside the templates of the jobs: `nccl.csv`, from which jobs are written, and `variables.csv`.
"""

import csv
import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

from clusterwright import assets
from clusterwright.catalog.records import Instance

_PREFIXES = ("NCCL_", "FI_")
#: How much of a name has to agree for the rest to be a slip.
_LIKENESS = 0.8
#: What says more or less is a matter of taste.
_OF_THE_MACHINE = re.compile(r"_(IFNAME|CTRL_DEV|PREFIX|DIR|DIRECTORY|BINDINGS|FILE)$")
_FREE = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE")


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    with (assets.root() / "templates" / "launch" / name).open(encoding="utf-8", newline="") as table:
        return tuple(csv.DictReader(table))


def needed(instance: Instance, kind: str = "export") -> dict[str, str]:
    """Return what a job on an instance type needs for its fabric, by name.

    Args:
        instance: type of the nodes.
        kind: `export` for variables with their values, `prepend` for folders of a path, `source` for files of settings,
            `mount` for folders of the node within a container.
    """
    return {
        row["name"]: row["value"]
        for row in _rows("nccl.csv")
        if row["kind"] == kind
        and row["fabric"] == instance.fabric_kind
        and row["cloud"] in ("any", instance.cloud)
        and row["instance"] in ("any", instance.id)
    }


def problems(instance: Instance, given: dict[str, str], *, in_pod: bool = False) -> Iterator[tuple[str, str, str]]:
    """Yield variable, what is wrong with it, and what to do.

    Args:
        instance: type of the nodes.
        given: the variables that a job sets.
        in_pod: whether it runs in a pod, where interfaces and folders have other names.
    """
    known = {row["name"]: row for row in _rows("variables.csv")}
    names = {*known, *(row["name"] for row in _rows("nccl.csv"))}
    own = needed(instance)
    for name, value in given.items():
        if not name.startswith(_PREFIXES):
            continue
        if name not in names:
            close = get_close_matches(name, sorted(names), n=1, cutoff=_LIKENESS)
            if close or name.startswith("FI_"):
                yield name, "is no variable of libfabric or NCCL", f"did you mean {close[0]}?" if close else "remove it"
            continue
        if "$" in value or name in _FREE:
            continue
        if name in own:
            if value != own[name] and "$" not in own[name] and not (in_pod and _OF_THE_MACHINE.search(name)):
                yield name, f"is {value!r}, the fabric of {instance.id} needs {own[name]!r}", f"{name}={own[name]}"
        elif name in known and not _fits(known[name], value, instance.fabric_kind):
            yield name, f"is {value!r}, which takes the fabric from NCCL or has no effect", "leave it out"
        elif name == "NCCL_IB_HCA" and _exact(value) and len(_exact(value)) < _adapters(instance):
            message = f"is {value!r}: NCCL uses {len(_exact(value))} of {_adapters(instance)} adapters"
            yield name, message, "leave it out, or name the beginning that all of them share"


def _exact(value: str) -> list[str]:
    """Return the adapters that a list names to their number; a beginning such as `mlx5` stands for all of them.

    >>> _exact("=mlx5_0:1,mlx5_1"), _exact("mlx5"), _exact("^mlx5_0")
    (['mlx5_0', 'mlx5_1'], [], [])
    """
    names = [name.partition(":")[0] for name in value.removeprefix("=").split(",")]
    return names if all(re.fullmatch(r"[a-z]\w*_(ib)?\d+", name) for name in names) else []


def _adapters(instance: Instance) -> int:
    return (instance.fabric_interfaces or 0) if instance.fabric_kind == "infiniband" else 0


def _fits(row: dict[str, str], value: str, fabric: str) -> bool:
    of_fabric = row["fabrics"] == "any" or fabric in row["fabrics"].split("|") or row["name"].startswith("NCCL_")
    judged = row["fabrics"] == "any" or fabric in row["fabrics"].split("|")
    return of_fabric and (not judged or bool(re.fullmatch(row["pattern"], value)))
