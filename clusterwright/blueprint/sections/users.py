"""Who works on the cluster: users and groups of the blueprint, and where their identity comes from."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError
from pydantic.json_schema import WithJsonSchema

from clusterwright import user_list
from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.reading.problems import Problem

#: `local`: the list of the blueprint, the same on every machine; `directory`: the users of `cluster.directory`, too.
Identity = Literal["local", "directory"]

_Name = Annotated[str, WithJsonSchema({"type": "string", "pattern": f"^{user_list.NAME}$"})]
_Number = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1100, "maximum": 99_999})]


_Listed = TypeVar("_Listed", bound=Section)


class UserSection(Section):
    """A user, with the same number and home on every machine."""

    name: _Name = Field(
        description="login name: up to 32 lower-case letters, digits, hyphens, underscores, for example ada"
    )
    uid: _Number = Field(description="number on every machine, 1100 to 59999; never given to a second person")
    groups: Annotated[list[_Name], Field(max_length=64)] = Field(
        default_factory=list,
        description="further groups, of cluster.groups; everybody has a group of the own name, for example [research]",
    )
    ssh_keys: Annotated[list[str], Field(max_length=16)] = Field(
        description="public keys, each the line of a .pub file; [] for a user who does not log in",
        examples=["[ssh-ed25519 AAAA… ada@laptop]"],
    )
    administrator: bool = Field(False, description="may become root on controller and login machine")
    google_account: str | None = Field(
        None,
        description="e-mail address at Google, who may then use the tunnel to the login machine of Google Cloud",
        examples=["ada@example.com"],
    )
    entra_object_id: str | None = Field(
        None,
        description="object id in Entra, who may then use Bastion to the login machine on Azure",
        examples=["00000000-0000-0000-0000-000000000000"],
    )


class GroupSection(Section):
    """A group of users, with the same number on every machine."""

    name: _Name = Field(description="up to 32 lower-case letters, digits, hyphens, underscores, for example research")
    gid: _Number = Field(description="number on every machine, 1100 to 59999")


def list_of(users: list[UserSection], groups: list[GroupSection]) -> tuple[list[user_list.User], list[user_list.Group]]:
    """Return users and groups as the rules and the plan hold them."""
    return (
        [
            user_list.User(
                name=user.name,
                uid=user.uid,
                groups=tuple(user.groups),
                ssh_keys=tuple(user.ssh_keys),
                administrator=user.administrator,
                google_account=user.google_account,
                entra_object_id=user.entra_object_id,
            )
            for user in users
        ],
        [user_list.Group(name=group.name, gid=group.gid) for group in groups],
    )


def user_problems(
    users: list[UserSection], groups: list[GroupSection], identity: Identity | None, *, joined: bool = False
) -> Iterator[Problem]:
    """Yield what is wrong with the list, and `USR008` where two keys disagree on where accounts come from.

    Args:
        users: of the blueprint.
        groups: of the blueprint.
        identity: where accounts come from; None where the blueprint does not say it.
        joined: whether the blueprint names a directory.
    """
    for fault in user_list.faults(*list_of(users, groups)):
        yield Problem(id=fault.id, path=("cluster", *fault.path), message=fault.message, help=fault.help)
    if identity == "directory" and not joined:
        yield Problem(
            id="USR008",
            path=("cluster", "identity"),
            message="identity is directory, and cluster.directory does not say which one",
            help="add cluster.directory with uris, base and allowed_groups, or remove identity",
        )
    elif identity == "local" and joined:
        yield Problem(
            id="USR008",
            path=("cluster", "identity"),
            message="identity is local, and cluster.directory names one that machines would be joined to",
            help="remove identity: local users stay possible beside a directory; or remove cluster.directory",
        )


def problems_as_written(cluster: dict[str, Any]) -> list[Problem]:
    """Return what is wrong with the users and groups that can be read, for a blueprint that has other mistakes too.

    Of groups that cannot all be read, nothing is concluded about who is in them.
    """
    users, user_places = _readable(UserSection, cluster.get("users"))
    groups, group_places = _readable(GroupSection, cluster.get("groups"))
    listed = cluster.get("groups") or []
    complete = isinstance(listed, list) and len(groups) == len(listed)
    places = {"users": user_places, "groups": group_places}
    found = []
    said = cluster.get("identity")
    identity: Identity | None = said if said in ("local", "directory") else None
    for problem in user_problems(users, groups, identity, joined=cluster.get("directory") is not None):
        _, section, *rest = problem.path
        if rest and isinstance(rest[0], int):
            rest[0] = places[str(section)][rest[0]]
        if complete or problem.id != "USR005":
            found.append(replace(problem, path=("cluster", section, *rest)))
    return found


def _readable(section: type[_Listed], written: object) -> tuple[list[_Listed], list[int]]:
    """Return the entries of a list that are of the right form, and their places in it."""
    entries, places = [], []
    for place, entry in enumerate(written if isinstance(written, list) else []):
        try:
            entries.append(section.model_validate(entry))
        except ValidationError:
            continue
        places.append(place)
    return entries, places
