"""Whose a state is, in the real Pulumi engine: a foreign one is refused with a sentence before anything is done."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engines.pulumi_projects import ONE_AT_A_TIME, Place, engine_program, place
from tests.stacks.cases import TYPICAL
from tests.stacks.projects import LAYERS, Case, stacks_python, write

pytestmark = pytest.mark.engine

#: Another place of each cloud, with the keys that a person changes who copies a project for it.
_ELSEWHERE = {
    "aws": {"aws:region": "us-west-2", "availabilityZone": "us-west-2a"},
    "azure": {"location": "westus3"},
    "gcp": {"gcp:region": "us-east5", "zone": "us-east5-a"},
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


def case_of(cloud: str) -> Case:
    """Return the typical project of a cloud."""
    return Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4)


@pytest.mark.parametrize("cloud", TYPICAL)
def test_a_fresh_folder_does_not_adopt_another_s_cluster(cloud: str, here: Place) -> None:
    """A second folder of the same blueprint is refused, until its owner says that it is the same cluster."""
    first = here.project(case_of(cloud), "first")
    first.cluster("up")
    ours = here.account.ids()
    second = here.project(case_of(cloud), "second")
    assert second.stack == first.stack
    for command in ("preview", "up", "down", "destroy"):
        said = second.cluster(command, fails=True)
        assert "it was brought up from another folder" in said
        assert "cluster small in " in said
        assert "./cluster.sh adopt" in said
        assert "Nothing was done" in said
        assert here.account.ids() == ours
    second.cluster("adopt")
    second.cluster("up")
    assert here.account.ids() == ours
    first.cluster("up")
    assert here.account.ids() == ours


@pytest.mark.parametrize("cloud", TYPICAL)
def test_a_copy_for_another_place_is_refused(cloud: str, here: Place) -> None:
    """A project that was copied and set to another region does not touch the cluster that it was copied from."""
    first = here.project(case_of(cloud), "first")
    first.pulumi("foundation", "stack", "select", "--create", first.stack)
    first.pulumi("foundation", "up", "--stack", first.stack, "--yes", "--skip-preview")
    ours = here.account.ids()
    shutil.copytree(first.folder, first.folder.with_name("copy"))
    copy = here.at(first.folder.with_name("copy"))
    copy.set(_ELSEWHERE[cloud])
    said = copy.cluster("up", fails=True)
    assert "it is of another place" in said
    assert next(iter(_ELSEWHERE[cloud].values())) in said
    assert "another place" in copy.cluster("adopt", fails=True)
    assert here.account.ids() == ours


def test_a_folder_that_is_generated_again_goes_on(here: Place) -> None:
    """Writing the project over itself keeps the id of its cluster, and nothing changes."""
    project = here.project(case_of("aws"))
    project.cluster("up")
    ours = here.account.ids()
    write(case_of("aws"), project.folder, stack="")
    project.cluster("up")
    assert here.account.ids() == ours


def test_an_interrupted_first_up_already_says_whose_it_is(here: Place) -> None:
    """A state without outputs, since its first `up` was killed, is refused to another folder too."""
    first = here.project(case_of("aws"), "first")
    here.account.hold("Create", "aws:fsx/lustreFileSystem:LustreFileSystem")
    started = first.start_cluster("up", engine=ONE_AT_A_TIME)
    here.account.wait_for_hold(started)
    os.killpg(started.pid, signal.SIGKILL)
    started.communicate()
    here.account.release()
    ours = here.account.ids()
    second = here.project(case_of("aws"), "second")
    assert "it was brought up from another folder" in second.cluster("up", fails=True)
    assert here.account.ids() == ours
    first.pulumi("foundation", "cancel", "--yes", "--stack", first.stack)
    first.cluster("up")
    assert ours.items() <= here.account.ids().items()


def test_another_account_is_refused(here: Place) -> None:
    """Who is logged in to another account than the state's is told so instead of making everything a second time."""
    project = here.project(case_of("aws"))
    project.cluster("up")
    ours = here.account.ids()
    project.environment["STAND_IN_ACCOUNT"] = "999999999999"
    said = project.cluster("up", fails=True)
    assert "it is of another account: 123456789012, and this folder is for 999999999999" in said
    assert here.account.ids() == ours


@pytest.mark.parametrize(
    ("cloud", "namesake"),
    [
        ("aws", "arn:aws:ec2:us-east-1:123456789012:vpc/vpc-0a"),
        ("azure", "/subscriptions/1/resourceGroups/small-network"),
        ("gcp", "https://www.googleapis.com/compute/v1/projects/my-gpu-project/global/networks/small-primary"),
    ],
    ids=("aws", "azure", "gcp"),
)
def test_a_name_that_the_cloud_knows_is_refused_before_up(cloud: str, namesake: str, here: Place) -> None:
    """A second cluster of the same name and place, with a state of its own, is refused with what is there."""
    project = here.project(case_of(cloud))
    project.environment["STAND_IN_NAMESAKES"] = namesake
    said = project.cluster("up", fails=True)
    place = f"STA004: foundation/Pulumi.{project.stack}.yaml, clusterName"
    assert f"{place}: there is a cluster of this name in this place already" in said
    assert namesake in said
    assert "Choose another cluster.name" in said
    assert here.account.ids() == {}


@pytest.mark.parametrize("cloud", TYPICAL)
def test_a_reference_to_another_cluster_ends_the_program(cloud: str, here: Place) -> None:
    """A layer that is set to the foundation of another cluster makes nothing of it, by `pulumi` alone too."""
    one = here.project(replace(case_of(cloud), cluster="one"), "one")
    two = here.project(replace(case_of(cloud), cluster="two"), "two")
    one.pulumi("foundation", "stack", "select", "--create", one.stack)
    one.pulumi("foundation", "up", "--stack", one.stack, "--yes", "--skip-preview")
    path = two.folder / "cluster" / f"Pulumi.{two.stack}.yaml"
    path.write_text(path.read_text().replace(f"-gpu-foundation/{two.stack}", f"-gpu-foundation/{one.stack}"))
    two.pulumi("cluster", "stack", "select", "--create", two.stack)
    engine = two.start("-C", "cluster", "preview", "--stack", two.stack)
    said, _ = engine.communicate()
    assert engine.returncode != 0
    assert "is of cluster one, and this layer is of two" in said


def test_layers_of_a_second_cluster_have_states_of_their_own(here: Place) -> None:
    """The stack is named after cluster and place, so that another cluster or place never meets this one's state."""
    one = here.project(case_of("aws"), "one")
    assert one.stack == "small-us-east-1"
    references = [(one.folder / layer / f"Pulumi.{one.stack}.yaml").read_text() for layer in LAYERS[1:]]
    assert all(f"organization/aws-gpu-foundation/{one.stack}\n" in text for text in references)
    other = replace(case_of("aws"), instance="p5.48xlarge")
    assert here.project(other, "two").stack == one.stack
