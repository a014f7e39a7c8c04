"""The directory of the site that machines of a Slurm cluster are joined to: an LDAP server, or Active Directory."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from clusterwright import directory_settings
from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.sections.users import GroupSection, UserSection

_Id = Annotated[int, Field(ge=1100, le=4_294_967_293)]


class DirectorySection(Section):
    """Users and groups that a directory has, beside the local ones of `cluster.users`."""

    uris: Annotated[list[str], Field(max_length=directory_settings.MOST_URIS)] = Field(
        description="servers, the first that answers is asked: ldaps://, or ldap:// with start_tls",
        examples=["[ldaps://ldap1.example.com, ldaps://ldap2.example.com]"],
    )
    base: str = Field(
        description="distinguished name below which users and groups are", examples=["ou=people,dc=example,dc=com"]
    )
    layout: Literal["rfc2307bis", "rfc2307", "ad"] = Field(
        "rfc2307bis",
        description="how users and groups are written; ad: Active Directory and Entra Domain Services, whose numbers "
        "SSSD computes, the same on every machine",
    )
    start_tls: bool = Field(False, description="ldap:// servers are asked for TLS before anything else")
    bind_dn: str | None = Field(
        None,
        description="account that reads the directory, whose password is put into the cloud's store, or a file of root "
        "on premises; none for a directory that answers everybody",
        examples=["cn=cluster,ou=services,dc=example,dc=com"],
    )
    allowed_groups: Annotated[list[str], Field(max_length=directory_settings.MOST_GROUPS)] = Field(
        description="groups whose members log in and submit, for example [hpc-users]"
    )
    administrators: str | None = Field(
        None,
        description="group whose members may become root on controllers and login machines, for example hpc-admins",
    )
    passwords: bool = Field(
        False,
        description="the login machine takes the directory's passwords too, where users have no SSH key in it, as in "
        "Entra Domain Services",
    )
    first_id: _Id = Field(
        directory_settings.FIRST_ID, description="smallest number of its users and groups; local users have others"
    )
    last_id: _Id = Field(directory_settings.LAST_ID, description="greatest number of its users and groups")
    ca_certificate: str | None = Field(
        None,
        description="PEM text of the authority that signed the servers' certificates; those of the system by default",
        examples=["-----BEGIN CERTIFICATE-----…"],
    )
    networks: Annotated[list[str], Field(max_length=directory_settings.MOST_NETWORKS)] = Field(
        default_factory=list,
        description="ranges of the servers' addresses, to which AWS's security group lets machines out, for example "
        "[10.8.0.0/24]",
    )


def directory_of(section: DirectorySection) -> directory_settings.Directory:
    """Return the directory as the rules and the plan hold it."""
    return directory_settings.Directory(
        uris=tuple(section.uris),
        base=section.base,
        layout=section.layout,
        start_tls=section.start_tls,
        bind_dn=section.bind_dn or "",
        allowed_groups=tuple(section.allowed_groups),
        administrators=section.administrators or "",
        passwords=section.passwords,
        first_id=section.first_id,
        last_id=section.last_id,
        ca_certificate=section.ca_certificate or "",
        networks=tuple(section.networks),
    )


def directory_problems(
    section: DirectorySection | None,
    users: Sequence[UserSection],
    groups: Sequence[GroupSection],
    closed: Sequence[str],
) -> Iterator[Problem]:
    """Yield what is wrong with the directory, and what it says against local users and groups.

    `DIR001` to `DIR007` are those of `directory_settings`; `DIR008`: a local number or group that the directory may
    have too; `DIR009`: a target whose firewall would stop what asks the directory.

    Args:
        section: of the blueprint; None where no directory is joined.
        users: of the blueprint, who stay local.
        groups: of the blueprint.
        closed: targets with Slurm whose firewall lets out what is named alone.
    """
    if section is None:
        return
    yield from _faults(section)
    numbers = [(("users", place, "uid"), user.uid) for place, user in enumerate(users)]
    numbers += [(("groups", place, "gid"), group.gid) for place, group in enumerate(groups)]
    for path, number in numbers:
        if section.first_id <= number <= section.last_id:
            yield Problem(
                id="DIR008",
                path=("cluster", *path),
                message=f"{number} may be the number of somebody in the directory, who would own the same files",
                help=f"choose one from 1100 to {section.first_id - 1}, or raise cluster.directory.first_id",
            )
    named = {*section.allowed_groups, section.administrators}
    for place, group in enumerate(groups):
        if group.name in named:
            yield Problem(
                id="DIR008",
                path=("cluster", "groups", place, "name"),
                message=f"{group.name} is a group of the directory, and machines ask their own groups first",
                help="leave it to the directory, or give the local group another name",
            )
    if closed and not section.networks:
        yield Problem(
            id="DIR009",
            path=("cluster", "directory"),
            message=f"machines on {', '.join(closed)} reach HTTPS and HTTP alone, so that no directory would answer",
            help="give networks the ranges of the servers' addresses, for example networks: [10.8.0.0/24]",
        )


def problems_as_written(cluster: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with a directory that can be read, for a blueprint that has other mistakes too."""
    try:
        section = DirectorySection.model_validate(cluster.get("directory"))
    except ValidationError:
        return
    yield from _faults(section)


def _faults(section: DirectorySection) -> Iterator[Problem]:
    for fault in directory_settings.directory_faults(directory_of(section)):
        yield Problem(id=fault.id, path=("cluster", "directory", *fault.path), message=fault.message, help=fault.help)
