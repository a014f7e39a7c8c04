"""Who may work on a cluster with Slurm: jobs run under the accounts of the list of users, and under no other."""

from collections.abc import Iterator
from typing import Any

from clusterwright import user_list
from clusterwright.checks.preflight.files.project import Project, Setting
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject

_KEY, _GROUPS = "users", "groups"
_LIST = (
    "name them in cluster.users of the blueprint, or as `users` in cluster/Pulumi.<stack>.yaml (README.md, Users); no "
    "machine is replaced for it"
)
_SHOWN = 8


def somebody_can_submit(subject: Subject) -> Iterator[Outcome]:
    """Check that the list of users names somebody who has a key, and nothing that machines would not take."""
    project = subject.project
    if project.scheduler != "slurm" or not _has_list(project):
        return
    refused = list(_refused(project))
    if refused:
        yield from refused
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
