"""Who may work on a cluster with Slurm: jobs run under the accounts of the list of users, and under no other."""

from collections.abc import Iterator

from clusterwright.checks.preflight.project import Project, Setting
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject

_KEY = "users"
_LIST = (
    "name them in cluster.users of the blueprint, or as `users` in cluster/Pulumi.<stack>.yaml (README.md, Users); no "
    "machine is replaced for it"
)
_SHOWN = 8


def somebody_can_submit(subject: Subject) -> Iterator[Outcome]:
    """Check that the list of users names somebody, with a key to log in with."""
    project = subject.project
    if project.scheduler != "slurm" or not _has_list(project):
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


def _entries(setting: Setting | None) -> dict[str, object]:
    """Return the keys of each user by name; what is no list of users is refused by the program itself."""
    value = setting.value if setting is not None else []
    listed = value if isinstance(value, list) else []
    return {str(entry.get("name")): entry.get("ssh_keys") for entry in listed if isinstance(entry, dict)}
