"""The directory of users: values of its configuration, and the settings that machines read."""

from typing import Any

import pytest

from gpu_cluster.config_values import Values
from gpu_cluster.directory import SCRIPT, missing_script, read_directory
from gpu_cluster.directory_settings import Directory, settings_text

JOINED: dict[str, Any] = {
    "uris": ["ldaps://ldap1.example.com"],
    "base": "dc=example,dc=com",
    "bind_dn": "cn=cluster,dc=example,dc=com",
    "allowed_groups": ["hpc-users"],
    "networks": ["10.8.0.0/24"],
}


def problems_of(changed: dict[str, Any], *, needs_networks: bool = False) -> list[str]:
    """Everything that is said of a directory with some values changed."""
    values = Values(values={"directory": JOINED | changed})
    read_directory(values, needs_networks=needs_networks)
    return values.problems


@pytest.mark.parametrize("given", [{}, {"directory": {}}, {"directory": None}])
def test_no_directory_is_joined_unless_one_is_named(given: dict[str, Any]) -> None:
    """The key that is not set, and its default."""
    assert read_directory(Values(values=given)) is None


def test_the_settings_are_written_as_the_machines_read_them() -> None:
    """One line for each value, and nothing of the password."""
    directory = read_directory(Values(values={"directory": JOINED}))
    assert directory == Directory(
        uris=("ldaps://ldap1.example.com",),
        base="dc=example,dc=com",
        bind_dn="cn=cluster,dc=example,dc=com",
        allowed_groups=("hpc-users",),
        networks=("10.8.0.0/24",),
    )
    assert directory is not None
    assert settings_text(directory).splitlines()[4:6] == ["bind_dn cn=cluster,dc=example,dc=com", "allow hpc-users"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"uris": ["ldap://ldap1.example.com"]}, "directory.uris[0]: "),
        ({"base": "example"}, "directory.base: "),
        ({"allowed_groups": []}, "directory.allowed_groups: "),
        ({"administrators": "sudo"}, "directory.administrators: "),
        ({"layout": "nis"}, "directory.layout: needs one of rfc2307bis, rfc2307, ad"),
        ({"uris": "ldaps://a"}, "directory.uris: needs a list"),
        ({"password": "secret"}, "directory.password: unknown key"),
        ({"ca_certificate": "ca.pem"}, "directory.ca_certificate: "),
    ],
)
def test_what_machines_would_not_take_is_refused(changed: dict[str, Any], said: str) -> None:
    """Each mistake is named with its place."""
    problems = problems_of(changed)
    assert len(problems) == 1
    assert problems[0].startswith(said)


def test_a_cloud_that_closes_ways_out_needs_the_networks() -> None:
    """Elsewhere they may be left out."""
    assert problems_of({"networks": []}) == []
    assert ["DIR009" in problem for problem in problems_of({"networks": []}, needs_networks=True)] == [True]
    assert problems_of({}, needs_networks=True) == []


def test_a_project_without_the_script_says_what_to_do() -> None:
    """Settings that no machine would read are not ignored."""
    directory = Directory(uris=("ldaps://a",), base="dc=a")
    assert "build the project again" in missing_script(directory, {"bootstrap.sh": ""})
    assert missing_script(directory, {SCRIPT: ""}) == ""
    assert missing_script(None, {}) == ""
