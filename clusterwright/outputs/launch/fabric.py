"""NCCL's environment for a fabric, from `templates/launch/nccl.csv`, where every variable has its reason and source."""

import csv
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from clusterwright import assets

#: In this order a variable's value may use the job's number; everything else is printed as it is.
_EXPANDED = "${SLURM_JOB_ID}"
MOUNT = "mount"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One row: for a fabric, cloud and instance (`any` for all), what to do and why.

    Attributes:
        kind: `export` a value, `prepend` a folder to a path, `source` a script of the vendor, `mount` a folder of the
            node into a container.
    """

    fabric: str
    cloud: str
    instance: str
    kind: str
    name: str
    value: str
    why: str
    source: str


@cache
def settings() -> tuple[Setting, ...]:
    """Return every row of the table, in its order."""
    with (assets.root() / "templates" / "launch" / "nccl.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(Setting(**row) for row in csv.DictReader(lines))


def settings_for(*, fabric: str, target: str, instance: str) -> tuple[Setting, ...]:
    """Return the rows that apply to one target's nodes.

    Args:
        fabric: `efa`, `infiniband`, `roce`, `tcpx`, `tcpxo` or another without settings of its own.
        target: `aws`, `azure`, `gcp` or `onprem`.
        instance: instance type or system.
    """
    return tuple(
        row
        for row in settings()
        if row.fabric in ("any", fabric) and row.cloud in ("any", target) and row.instance in ("any", instance)
    )


def shell_lines(rows: Iterable[Setting]) -> list[str]:
    """Return the bash of the settings that a process has, which mounts are not."""
    return [shell_line(row) for row in rows if row.kind != MOUNT]


def container_mounts(rows: Iterable[Setting], *, shared: str) -> str:
    """Return what a container sees of its node, as Pyxis takes it: the shared file system, and what the fabric needs.

    Args:
        rows: settings of the fabric.
        shared: where the shared file system is mounted.
    """
    return ",".join(f"{path}:{path}" for path in (shared, *(row.value for row in rows if row.kind == MOUNT)))


def shell_line(setting: Setting) -> str:
    """Return the bash of a setting, quoted; a vendor's script takes more than one line.

    >>> shell_line(Setting(fabric="any", cloud="any", instance="any", kind="export", name="A", value="b c", why="",
    ...                    source=""))
    "export A='b c'"
    """
    if setting.kind == "source":
        path = shlex.quote(setting.value)
        # Vendors' scripts use variables that may not be set.
        return f"set +u\n# shellcheck source=/dev/null\n. {path}\nset -u"
    if setting.kind == "prepend":
        return f'export {setting.name}={shlex.quote(setting.value)}"${{{setting.name}:+:${setting.name}}}"'
    if _EXPANDED in setting.value:
        head, tail = setting.value.split(_EXPANDED)
        return f'export {setting.name}={shlex.quote(head)}"{_EXPANDED}"{shlex.quote(tail) if tail else ""}'
    # Bash takes a first = for a mistake unless it is quoted.
    quoted = f"'{setting.value}'" if re.fullmatch("=[A-Za-z0-9_,]*", setting.value) else shlex.quote(setting.value)
    return f"export {setting.name}={quoted}"
