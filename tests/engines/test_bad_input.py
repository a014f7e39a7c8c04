"""Bad input on a fresh project, with the real Pulumi engine: refused before `up`, with id, place and fix."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines.pulumi_projects import Place, Project, engine_program, place
from tests.engines.test_pulumi_engine import case_of
from tests.stacks.cases import stacks
from tests.stacks.projects import stacks_python

pytestmark = pytest.mark.engine

#: What each cloud's command answers where a new account has none of a quota.
_NO_QUOTA = {
    "aws": ("aws", '*"service-quotas get-service-quota"*"CODE"*) echo 0.0 ;;'),
    "azure": ("az", '*"vm list-usage"*"CODE"*) echo 0 ;;'),
    "gcp": ("gcloud", '*"regions describe"*) echo "CODE,0.0" ;;'),
}


@pytest.fixture
def here(tmp_path: Path, require_engine: Callable[..., None]) -> Iterator[Place]:
    """Make a place with an engine, an empty account and an empty state."""
    program = engine_program()
    require_engine(working=program is not None, reason="pulumi is not installed: make engine builds it")
    require_engine(working=stacks_python() is not None, reason="not installed: make .venv-stacks/installed")
    assert program is not None
    with place(tmp_path, program) as made:
        yield made


def refused(project: Project, here: Place, *said: str) -> None:
    """Try `up`, and see that it ends with these words and that nothing is made or changed by it."""
    before = here.account.ids()
    shown = project.cluster("up", fails=True)
    for words in said:
        assert words in shown
    assert "Traceback" not in shown
    assert "+ pulumi" not in shown
    assert here.account.ids() == before


@pytest.mark.parametrize(("cloud", "scheduler"), [("aws", "kubernetes"), ("azure", "slurm"), ("gcp", "kubernetes")])
def test_growth_and_a_second_cluster_are_refused(cloud: str, scheduler: str, here: Place) -> None:
    """Once the network is there: a number that it has no addresses for, and another cluster of the name and place."""
    first = here.project(case_of(cloud, scheduler), "first")
    first.pulumi("foundation", "stack", "select", "--create", first.stack)
    first.pulumi("foundation", "up", "--stack", first.stack, "--yes", "--skip-preview")
    first.cluster("adopt")
    room = int(float(first.pulumi("foundation", "stack", "output", "--stack", first.stack, "node_addresses")))
    first.set({"nodeCount": room + 1})
    place = f"PRE032: nodes/Pulumi.{first.stack}.yaml, nodeCount: {room + 1} nodes"
    refused(first, here, place, f"./cluster.sh set nodeCount {room}")

    second = here.project(case_of(cloud, scheduler), "second")
    refused(
        second,
        here,
        f"STA003: foundation/Pulumi.{second.stack}.yaml, clusterName: the state",
        "is not this folder's",
        "cluster.name",
    )

    third = here.project(case_of(cloud, scheduler), "third")
    other = here.folder / "other-state"
    other.mkdir()
    third.environment |= {"PULUMI_BACKEND_URL": f"file://{other}", "STAND_IN_NAMESAKES": "what-is-there"}
    refused(
        third, here, f"STA004: foundation/Pulumi.{third.stack}.yaml, clusterName:", "what-is-there", "Choose another"
    )


@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_a_value_that_no_program_takes_is_refused_at_once(cloud: str, scheduler: str, here: Place) -> None:
    """`set` says what a key needs, or which key is near; the configuration stays as it is, and so does the account."""
    project = here.project(case_of(cloud, scheduler))
    files = sorted(project.folder.glob("*/Pulumi.*.yaml"))
    before = [file.read_bytes() for file in files]
    for key, value, said in (
        ("nodeCount", "abc", "PRE002: nodeCount: needs a whole number from 0 to "),
        ("nodeCuont", "8", "did you mean nodeCount?"),
        ("nodeType", "abc", 'PRE002: nodeType: needs an object, got "abc"'),
        ("nodeType.imagge", "x", "nodeType.imagge: unknown key"),
        ("nowhere:region", "x", "nowhere:region: the programs read no such key of a provider"),
    ):
        assert said in project.cluster("set", key, value, fails=True)
        assert [file.read_bytes() for file in files] == before
    project.set({"nodeCount": "many"})
    refused(
        project, here, f"PRE002: nodes/Pulumi.{project.stack}.yaml, nodeCount: needs a whole number", "nothing was done"
    )


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_users_that_machines_would_not_take_are_refused(cloud: str, here: Place) -> None:
    """A name that Linux does not take and a number that stands twice: both are named before the network is made."""
    project = here.project(case_of(cloud, "slurm"))
    project.set({"users": [{"name": one, "uid": 20001, "ssh_keys": []} for one in ("Alice", "bob")]})
    file = f"PRE043: cluster/Pulumi.{project.stack}.yaml"
    refused(
        project,
        here,
        f"{file}, users[0].name: 'Alice' cannot be the name of a user",
        "(USR001); for example alice",
        f"{file}, users[1].uid: 20001 is the number of user Alice (USR004); use each once",
    )


@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_a_new_account_is_told_what_to_do_first(cloud: str, scheduler: str, here: Place) -> None:
    """No quota, no passphrase, no place of the state: each is named before anything is made, with what to do."""
    project = here.project(case_of(cloud, scheduler))
    configuration = project.folder / "nodes" / f"Pulumi.{project.stack}.yaml"
    line = next(line for line in configuration.read_text().splitlines() if line.startswith("# Quota: "))
    capacity, code, *_ = line.removeprefix("# Quota: ").split("|")
    project.set({"capacity": capacity})
    if line not in configuration.read_text():
        configuration.write_text(f"{configuration.read_text().rstrip()}\n{line}\n")
    command, answer = _NO_QUOTA[cloud]
    program = here.program(command)
    program.write_text(
        program.read_text().replace('case "$*" in', f'case "$*" in\n  {answer.replace("CODE", code)}', 1)
    )
    place = f"PRE102: nodes/Pulumi.{project.stack}.yaml, nodeCount: 4 nodes need"
    refused(project, here, place, "the account has 0 here", "Ask the cloud for more")

    del project.environment["PULUMI_CONFIG_PASSPHRASE"]
    place = f"STA002: foundation/Pulumi.{project.stack}.yaml, secretsprovider: no passphrase"
    refused(project, here, place, "set PULUMI_CONFIG_PASSPHRASE")
    project.environment["PULUMI_BACKEND_URL"] = "file:///nowhere/at/all"
    refused(project, here, "STA001: PULUMI_BACKEND_URL: pulumi cannot keep its state", "make that folder")
