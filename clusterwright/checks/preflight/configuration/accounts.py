"""Who may work on a cluster with Slurm: jobs run under the accounts of the list of users, and under no other."""

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from clusterwright import directory_settings, user_list
from clusterwright.checks.preflight.files.project import Project, Setting
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject

_KEY, _GROUPS, _DIRECTORY = "users", "groups", "directory"
#: Script of the machines that joins them to a directory, and the one that starts it.
_JOINS, _BOOT = "node/users_directory.sh", "node/bootstrap.sh"
#: Ports at which servers of the other scheme listen: of LDAP and of the global catalogue, each with TLS and without.
_OTHERS_PORTS = {"ldaps": ("389", "3268"), "ldap": ("636", "3269")}
_LIST = (
    "name them in cluster.users of the blueprint, or as `users` in cluster/Pulumi.<stack>.yaml (README.md, Users); no "
    "machine is replaced for it"
)
_SHOWN = 8


def somebody_can_submit(subject: Subject) -> Iterator[Outcome]:
    """Check that somebody of the list or of a directory may log in, and that machines would take all of both."""
    project = subject.project
    if project.scheduler != "slurm" or not _has_list(project):
        return
    refused = [*_refused(project), *_refused_of_directory(project)]
    if refused:
        yield from refused
        return
    directory = project.setting(_DIRECTORY)
    if directory is not None and isinstance(directory.value, dict):
        groups = ", ".join(_texts(directory.value, "allowed_groups"))
        yield passed(f"members of {groups} of the directory may log in and submit", directory.place)
        return
    setting = project.setting(_KEY)
    entries = _entries(setting)
    if not entries:
        yield Outcome(
            status="WARN",
            message="the list of users is empty: nobody but root on the controller could submit a job",
            fix=_LIST,
            place=None if setting is None else setting.place,
        )
        return
    logging_in = [name for name, keys in entries.items() if keys]
    if not logging_in:
        yield Outcome(
            status="WARN",
            message=f"none of the {len(entries)} users has an SSH public key, so nobody of the list could log in",
            fix="give ssh_keys of a user the line of a .pub file",
            place=None if setting is None else setting.place,
        )
        return
    more = f" and {len(logging_in) - _SHOWN} more" if len(logging_in) > _SHOWN else ""
    yield passed(f"{', '.join(logging_in[:_SHOWN])}{more} may log in and submit", setting.place if setting else None)


def _has_list(project: Project) -> bool:
    """Whether the project's machines take a list of users; those of earlier releases do not."""
    return any(layer.name == "cluster" and _KEY in layer.declared for layer in project.layers)


def _refused(project: Project) -> Iterator[Outcome]:
    """Yield what Linux, Slurm or SSH would not take of users and groups, each at its place."""
    users = [
        user_list.User(
            name=entry["name"],
            uid=entry["uid"],
            groups=_texts(entry, "groups"),
            ssh_keys=_texts(entry, "ssh_keys"),
            google_account=entry.get("google_account"),
            entra_object_id=entry.get("entra_object_id"),
        )
        for entry in _numbered(project, _KEY, "uid")
    ]
    groups = [user_list.Group(name=entry["name"], gid=entry["gid"]) for entry in _numbered(project, _GROUPS, "gid")]
    for fault in user_list.faults(users, groups):
        section, *within = fault.path
        setting = project.setting(str(section))
        layer = next(one for one in project.layers if setting is not None and one.name == setting.layer)
        where = str(section) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in within)
        yield Outcome(
            status="FAIL",
            message=f"{where}: {fault.message} ({fault.id})",
            fix=fault.help,
            place=None if setting is None else project.place(layer, setting.key, tuple(within)),
            rule=fault.id,
        )


def _refused_of_directory(project: Project) -> Iterator[Outcome]:
    """Yield what SSSD, sudo or the list of local users would not take of the directory, each at its place."""
    setting = project.setting(_DIRECTORY)
    if setting is None or not isinstance(setting.value, dict):
        return
    directory = directory_of(setting.value)
    # What has no form is refused by the program itself.
    if directory is None:
        return
    layer = next(one for one in project.layers if one.name == setting.layer)
    for field, message, fix in _unlikely(directory):
        yield Outcome(
            status="FAIL",
            message=f"{_DIRECTORY}.{field}: {message}",
            fix=fix,
            place=project.place(layer, setting.key, (field,)),
        )
    for fault in directory_settings.directory_faults(directory):
        where = _DIRECTORY + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.path)
        yield Outcome(
            status="FAIL",
            message=f"{where}: {fault.message} ({fault.id})",
            fix=fault.help,
            place=project.place(layer, setting.key, fault.path),
            rule=fault.id,
        )
    for key, number in ((_KEY, "uid"), (_GROUPS, "gid")):
        for entry in _numbered(project, key, number):
            if directory.first_id <= entry[number] <= directory.last_id:
                yield Outcome(
                    status="FAIL",
                    message=f"{key}: {entry['name']} has {entry[number]}, which may be the number of somebody in the "
                    "directory (DIR008)",
                    fix=f"choose one below {directory.first_id}, or raise directory.first_id",
                    place=setting.place,
                    rule="DIR008",
                )
    if _JOINS not in project.files or _JOINS.removeprefix("node/") not in project.files.get(_BOOT, ""):
        yield Outcome(
            status="FAIL",
            message=f"directory is set, and {_BOOT} does not start {_JOINS}: no machine would know its users",
            fix="name cluster.directory in the blueprint, and build the project again",
            place=setting.place,
        )


def _unlikely(directory: directory_settings.Directory) -> Iterator[tuple[str, str, str]]:
    """Yield field, what is wrong and what to do of values that have their form, and contradict each other."""
    if directory.administrators and set(directory.allowed_groups) == {directory.administrators}:
        yield (
            "administrators",
            f"{directory.administrators} is the only group that logs in: every user would be root",
            "a group of few, such as hpc-admins",
        )
    base, account = _domain(directory.base), _domain(directory.bind_dn)
    if base and account and base != account and not base.endswith(f".{account}") and not account.endswith(f".{base}"):
        yield (
            "base",
            f"it is of {base}, and bind_dn is of {account}: one server has both, of one domain or one below it",
            "write both alike",
        )
    for place, uri in enumerate(directory.uris):
        for scheme, ports in _OTHERS_PORTS.items():
            if uri.startswith(f"{scheme}://") and uri.rstrip("/").rpartition(":")[2] in ports:
                yield (
                    "uris",
                    f"{uri} ({place + 1}) has {scheme} at a port of the other kind",
                    "ldaps:// is at 636 and 3269, ldap:// at 389 and 3268",
                )


def _domain(name: str) -> str:
    """Return the domain of a distinguished name, empty for one without.

    >>> _domain("ou=people,DC=example,dc=com")
    'example.com'
    """
    return ".".join(re.findall(r"(?i)(?:^|,)\s*dc=([^,]+)", name)).lower()


def directory_of(value: dict[str, Any]) -> directory_settings.Directory | None:
    """Return the directory of a configuration; None where a value has no form."""
    known = {field.name: field.default for field in fields(directory_settings.Directory)}
    given: dict[str, Any] = {
        key: tuple(item) if isinstance(item, list) else item for key, item in value.items() if key in known
    }
    same = all(type(item) is type(known[key]) for key, item in given.items() if key not in ("uris", "base"))
    texts = all(isinstance(one, str) for item in given.values() if isinstance(item, tuple) for one in item)
    complete = isinstance(given.get("uris"), tuple) and isinstance(given.get("base"), str)
    return directory_settings.Directory(**given) if same and texts and complete else None


def _numbered(project: Project, key: str, number: str) -> list[dict[str, Any]]:
    """Return the entries of a list; none where one of them has no name or number, which the program itself refuses."""
    setting = project.setting(key)
    listed = setting.value if setting is not None and isinstance(setting.value, list) else []
    whole = all(
        isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get(number), int)
        for one in listed
    )
    return listed if whole else []


def _texts(entry: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(str(one) for one in entry.get(key) or ())


def _entries(setting: Setting | None) -> dict[str, object]:
    """Return the keys of each user by name; what is no list of users is refused by the program itself."""
    value = setting.value if setting is not None else []
    listed = value if isinstance(value, list) else []
    return {str(entry.get("name")): entry.get("ssh_keys") for entry in listed if isinstance(entry, dict)}
