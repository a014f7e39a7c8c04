"""Projects whose machines are joined to a directory: settings in the store, the password in no state, the way out."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clusterwright.checks.preflight.records import Resource, Run
from clusterwright.clouds import CLOUDS
from clusterwright.directory_settings import Directory

from . import projects
from .cases import TYPICAL
from .projects import Case, run, set_config, write

DIRECTORY = Directory(
    uris=("ldaps://ldap1.example.com", "ldaps://ldap2.example.com:3269"),
    base="dc=example,dc=com",
    bind_dn="cn=cluster,dc=example,dc=com",
    allowed_groups=("hpc-users",),
    administrators="hpc-admins",
    networks=("10.8.0.0/24",),
)
#: Resources of a cloud's store, and the input that holds what is in it.
_STORED = {
    "aws": ("aws:secretsmanager/secretVersion:SecretVersion", "secretString"),
    "azure": ("azure-native:keyvault:Secret", "properties"),
    "gcp": ("gcp:secretmanager/secretVersion:SecretVersion", "secretData"),
}
_WRITE = {"aws": "secretsmanager:PutSecretValue", "gcp": "roles/secretmanager.secretVersionAdder"}


def _written(cloud: str, folder: Path, directory: Directory | None) -> Run:
    """Write a project of a plan with a directory, and run it."""
    plan = projects.plan_for(cloud, TYPICAL[cloud])
    joined = replace(plan, cluster=replace(plan.cluster, directory=directory))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projects, "plan_for", lambda *_, **__: joined)
        write(Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4), folder)
    # The budget starts in the month of the first deployment otherwise.
    if cloud == "azure":
        set_config(folder, {"budgetStartMonth": "2026-11"})
    return run(folder)


@pytest.fixture(scope="module", params=sorted(CLOUDS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Run, Run]:
    """A cloud, and the runs of its project with a directory and without."""
    folders = [tmp_path_factory.mktemp(name) for name in ("joined", "plain")]
    return (
        request.param,
        _written(request.param, folders[0], DIRECTORY),
        _written(request.param, folders[1], None),
    )


def _texts(value: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(value)


def _new(made: tuple[str, Run, Run], layer: str) -> list[Resource]:
    _, joined, plain = made
    known = {one.urn for one in plain.layers[layer].resources}
    return [one for one in joined.layers[layer].resources if one.urn not in known]


def test_the_programs_run_to_their_end(made: tuple[str, Run, Run]) -> None:
    """With a directory and without one, in every layer."""
    for one in made[1:]:
        assert [record.error for record in one.layers.values() if record.error] == []


def test_settings_are_stored_and_the_password_is_not(made: tuple[str, Run, Run]) -> None:
    """One new value in the store, without a password, whose own place has no value in the state."""
    kind, field = _STORED[made[0]]
    stored = [one for one in _new(made, "cluster") if one.type == kind]
    assert len(stored) == 1
    text = _texts(stored[0].inputs[field])
    for line in ("uri ldaps://ldap1.example.com", "allow hpc-users", "administrators hpc-admins"):
        assert line in text
    assert "password " not in text


def test_the_controller_alone_may_write_the_password(made: tuple[str, Run, Run]) -> None:
    """Rights for the new secrets: all machines read, the controller writes; on Azure the vault's own roles say so."""
    cloud = made[0]
    if cloud not in _WRITE:
        assert not [one for one in _new(made, "cluster") if "RoleAssignment" in one.type]
        return
    writing = [one for one in _new(made, "cluster") if _WRITE[cloud] in _texts(one.inputs)]
    assert len(writing) == 1
    assert "controller" in writing[0].urn.rpartition("::")[2]


def test_machines_are_let_out_to_the_servers_where_the_cloud_closes_the_way(made: tuple[str, Run, Run]) -> None:
    """A rule for each port and network where rules name ways out, none elsewhere."""
    cloud = made[0]
    rules = [one for one in _new(made, "cluster") if "EgressRule" in one.type or "irewall" in one.type]
    if not CLOUDS[cloud].names_ways_out:
        assert rules == []
        return
    opened = {(one.inputs["cidrIpv4"], one.inputs["fromPort"], one.inputs["toPort"]) for one in rules}
    assert opened == {("10.8.0.0/24", 636, 636), ("10.8.0.0/24", 3269, 3269)}


def _boot_texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield the boot data of a machine or template: plain, or packed as some clouds take it."""
    if isinstance(value, dict | list):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _boot_texts(inside)
    elif isinstance(value, str) and "#cloud-config" in value:
        yield value
    elif isinstance(value, str) and value.startswith("H4sI"):
        yield gzip.decompress(base64.b64decode(value)).decode()


@pytest.mark.parametrize(("layer", "machines"), [("cluster", 2), ("nodes", 1)])
def test_every_machine_knows_where_the_settings_are(made: tuple[str, Run, Run], layer: str, machines: int) -> None:
    """Boot data of every machine have the variable, the script and its step; without a directory none of them."""
    _, joined, plain = made
    texts = [text for one in joined.layers[layer].resources for text in _boot_texts(one.inputs)]
    before = [text for one in plain.layers[layer].resources for text in _boot_texts(one.inputs)]
    assert len(texts) == len(before) == machines
    for word in (
        "CLUSTER_DIRECTORY_ID=",
        "CLUSTER_DIRECTORY_PASSWORD_ID=",
        "/opt/gpu-cluster/users_directory.sh",
        "$here/users_directory.sh",
    ):
        assert all(word in text for text in texts)
        assert not any(word in text for text in before)
    assert not _new(made, "nodes")
    assert not _new(made, "foundation")
