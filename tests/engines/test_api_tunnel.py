"""A Kubernetes cluster with a private API server comes up from outside, in the real engine: its charts by a tunnel."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines.pulumi_projects import Place, Project, engine_program, place
from tests.engines.test_pulumi_engine import case_of
from tests.stacks.projects import stacks_python

pytestmark = pytest.mark.engine

_TUNNELLED = {
    "aws": "ssm start-session --target i-0123456789abcdef0 --document-name AWS-StartPortForwardingSessionToRemoteHost",
    "azure": "network bastion tunnel --name",
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


def inside(here: Place) -> list[str]:
    """Return what exists inside Kubernetes, by type."""
    return [one.type for one in here.account.resources("cluster") if one.type.startswith("kubernetes:")]


def tunnels(project: Project) -> list[str]:
    """Return the calls that opened a tunnel, and forget them."""
    path = Path(project.environment["STAND_IN_TUNNELS"])
    calls = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return calls


@pytest.mark.parametrize("cloud", _TUNNELLED)
def test_charts_go_through_a_tunnel(cloud: str, here: Place) -> None:
    """The first `up` makes the cluster, then opens the way and installs; where none opens, the next one goes on."""
    project = here.project(case_of(cloud, "kubernetes"))
    project.environment |= {"STAND_IN_NO_WAY": "yes", "API_TUNNEL_WAIT_S": "2"}
    said = project.cluster("up", fails=True)
    assert "there is no way to the API server" in said
    assert "--exclude" in next(line for line in said.splitlines() if line.startswith("+ pulumi -C cluster up"))
    assert inside(here) == []
    assert here.account.ids("nodes") == {}
    made = here.account.ids()

    tunnels(project)
    # Two seconds are for a way that never opens; one that does has the time that a busy machine needs.
    project.environment |= {"STAND_IN_NO_WAY": "", "API_TUNNEL_WAIT_S": "120"}
    said = project.cluster("up")
    assert said.count("+ pulumi -C cluster up") == 1
    assert "--exclude" not in said
    assert inside(here)
    assert made.items() <= here.account.ids().items()
    (call,) = tunnels(project)
    assert _TUNNELLED[cloud] in call

    project.cluster("destroy", "--with-data", answer="small\n")
    assert here.account.ids() == {}
    assert len(tunnels(project)) == 1


def test_charts_that_are_there_survive_another_way_to_them(here: Place) -> None:
    """From addresses of operators to the tunnel and back, no chart is made again."""
    project = here.project(case_of("aws", "kubernetes"))
    project.set({"operatorCidrs": ["203.0.113.7/32"]})
    project.cluster("up")
    assert tunnels(project) == []
    made = here.account.ids()
    for way in ([], ["203.0.113.7/32"]):
        project.set({"operatorCidrs": way})
        project.cluster("up")
        assert {urn: id_ for urn, id_ in here.account.ids().items() if urn in made} == made
        assert len(tunnels(project)) == 1


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_without_a_gate_a_machine_in_the_network_brings_it_up(cloud: str, here: Place) -> None:
    """`apiFromOutside: false`: charts are refused from outside, and a runner in the network goes on."""
    project = here.project(case_of(cloud, "kubernetes"))
    project.cluster("set", "apiFromOutside", "false")
    outside = here.account.folder / "outside"
    outside.touch()
    said = project.cluster("up", fails=True)
    assert "cannot be reached: no route to host" in said
    assert "--exclude" not in said
    assert inside(here) == []
    assert here.account.ids("nodes") == {}
    made = here.account.ids()
    assert made

    outside.unlink()
    said = project.cluster("up")
    assert said.count("+ pulumi -C cluster up") == 1
    assert inside(here)
    assert made.items() <= here.account.ids().items()
    assert set(project.preview("cluster").values()) <= {"read"}

    project.cluster("destroy", "--with-data", answer="small\n")
    assert here.account.ids() == {}
    # No way through a gate was opened for any of it.
    assert tunnels(project) == []
