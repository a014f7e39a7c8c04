"""Settings `users` and `groups`: who works on the cluster, the same on every machine.

    python -m gpu_cluster.users STACK

tells what is wrong with them before any layer starts; each line names the file and the place in it.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pulumi
import yaml

from gpu_cluster.config_values import Values
from gpu_cluster.user_list import CLOUD_ACCOUNTS, NAME, Group, User, faults, list_text

OBJECT_KEYS = ("users", "groups")
_MOST_ID = 4_294_967_295
_FIELDS = {"users": ("name", "uid", "groups", "ssh_keys", "administrator", *CLOUD_ACCOUNTS), "groups": ("name", "gid")}


@dataclass(frozen=True, kw_only=True, slots=True)
class Users:
    """The list of the cluster's users and groups.

    Attributes:
        text: as the machines read it; it holds no secret.
        count: of users.
        google_accounts, entra_object_ids: of the users that have one; each once, for one person may have two names.
    """

    text: str
    count: int
    google_accounts: tuple[str, ...]
    entra_object_ids: tuple[str, ...]

    def mention_if_empty(self) -> None:
        """Say in the log of `preview` and `up` that nobody could submit a job."""
        if not self.count:
            pulumi.log.info(
                "the list of users is empty: nobody but root can submit jobs, since nodes know no other account of the "
                "login machine. Set `users` in cluster/Pulumi.STACK.yaml; no machine is replaced for it"
            )


def read_users(values: Values) -> Users:
    """Read and check `users` and `groups`; every problem is noted with its place and what to do."""
    before = len(values.problems)
    groups = [Group(name=one.text("name"), gid=one.whole("gid", 0, _MOST_ID)) for one in _entries(values, "groups")]
    users = [
        User(
            name=one.text("name"),
            uid=one.whole("uid", 0, _MOST_ID),
            groups=one.texts("groups", NAME, "names of groups"),
            ssh_keys=one.texts("ssh_keys", meaning="public keys, each the line of a .pub file"),
            administrator=one.flag("administrator", default=False),
            google_account=one.optional_text("google_account"),
            entra_object_id=one.optional_text("entra_object_id"),
        )
        for one in _entries(values, "users")
    ]
    # What has no form yet would be complained of twice.
    if len(values.problems) == before:
        for fault in faults(users, groups):
            section, *rest = fault.path
            place = str(section) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)
            values.fail(place, f"{fault.message} ({fault.id}); {fault.help}")
    return Users(
        text=list_text(users, groups),
        count=len(users),
        google_accounts=_each_once(user.google_account for user in users),
        entra_object_ids=_each_once(user.entra_object_id for user in users),
    )


def _each_once(accounts: Iterable[str | None]) -> tuple[str, ...]:
    """Return accounts in the order of the list; directories do not tell capital letters from small ones."""
    return tuple(dict.fromkeys(account.lower() for account in accounts if account))


def _entries(values: Values, key: str) -> list[Values]:
    """Return the entries of a list of objects, unknown fields noted."""
    values.asked.add(key)
    given = values.values.get(key)
    if given in (None, ""):
        return []
    if not isinstance(given, list):
        values.fail(key, "needs a list of objects")
        return []
    entries: list[Values] = []
    for place, entry in enumerate(cast("list[object]", given)):
        if not isinstance(entry, Mapping):
            values.fail(f"{key}[{place}]", f"needs an object with {', '.join(_FIELDS[key])}")
            continue
        nested = Values(
            values=cast("Mapping[str, object]", entry), problems=values.problems, path=f"{values.path}{key}[{place}]."
        )
        if key == "users" and "ssh_keys" not in nested.values:
            nested.fail("ssh_keys", "is missing: give public keys, or [] for a user who does not log in")
        nested.refuse_unknown(_FIELDS[key])
        entries.append(nested)
    return entries


def problems_as_written(layer: Path, stack: str) -> list[str]:
    """Return what is wrong with the users and groups that a layer's `Pulumi.<stack>.yaml` names."""
    written: object = yaml.safe_load((layer / f"Pulumi.{stack}.yaml").read_text())
    config = cast("Mapping[str, object]", written).get("config") if isinstance(written, Mapping) else None
    settings: Mapping[str, object] = cast("Mapping[str, object]", config) if isinstance(config, Mapping) else {}
    values = Values(
        values={
            key.rpartition(":")[2]: _as_read(value)
            for key, value in settings.items()
            if key.rpartition(":")[2] in OBJECT_KEYS
        }
    )
    read_users(values)
    return values.problems


def _as_read(value: object) -> object:
    """Return a value as the program gets it: the engine takes a list that is written as text for JSON."""
    if not isinstance(value, str):
        return value
    try:
        return cast("object", json.loads(value))
    except ValueError:
        return value


def main() -> int:
    """Print everything that is wrong, with place and what to do; 1 if there is anything."""
    stack = sys.argv[1]
    problems = problems_as_written(Path("cluster"), stack)
    for problem in problems:
        sys.stderr.write(f"PRE043: cluster/Pulumi.{stack}.yaml, {problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
