"""The generated projects in the real Pulumi engine, with stand-in providers: what a user types, from `up` to `destroy`.

`tests/engines/pulumi/build.sh` builds the engine; without it these tests skip, in continuous integration they fail.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engines.pulumi_projects import ONE_AT_A_TIME, Account, Place, Project, engine_program, place
from tests.stacks.cases import TYPICAL, stacks
from tests.stacks.projects import LAYERS, STACK, Case, recorded, stacks_python

pytestmark = pytest.mark.engine

#: Sizes after the first one of 4 nodes: every step on one project of each cloud, one resize on the other.
SIZES: Mapping[str, tuple[int, ...]] = {"slurm": (32, 256, 3), "kubernetes": (32,)}
#: The input with the number of nodes, by the type that holds them in the nodes' layer.
_COUNTS: Mapping[str, tuple[str, ...]] = {
    "aws:autoscaling/group:Group": ("desiredCapacity",),
    "aws:eks/nodeGroup:NodeGroup": ("scalingConfig", "desiredSize"),
    "azure-native:compute:VirtualMachineScaleSet": ("sku", "capacity"),
    "azure-native:containerservice:AgentPool": ("count",),
    "gcp:compute/instanceGroupManager:InstanceGroupManager": ("targetSize",),
    "gcp:container/nodePool:NodePool": ("nodeCount",),
}
#: What holds data, and stays when a cluster is destroyed without it.
_DATA: Mapping[str, tuple[str, ...]] = {
    "aws": ("aws:s3/bucket:Bucket", "aws:fsx/lustreFileSystem:LustreFileSystem", "aws:kms/key:Key"),
    "azure": (
        "azure-native:storage:BlobContainer",
        "azure-native:storagecache:AmlFilesystem",
        "azure-native:keyvault:Key",
    ),
    "gcp": ("gcp:storage/bucket:Bucket", "gcp:lustre/instance:Instance", "gcp:kms/cryptoKey:CryptoKey"),
}
#: What machines are made from: a change would take every node in service for an old one.
_TEMPLATES = ("LaunchTemplate", "InstanceTemplate")


@pytest.fixture
def here(tmp_path: Path, require_engine: Callable[..., None]) -> Iterator[Place]:
    """Make a place with an engine, an empty account and an empty state."""
    program = engine_program()
    require_engine(working=program is not None, reason="pulumi is not installed: make engine builds it")
    require_engine(working=stacks_python() is not None, reason="not installed: make .venv-stacks/installed")
    assert program is not None
    with place(tmp_path, program) as made:
        yield made


def case_of(cloud: str, scheduler: str) -> Case:
    """Return the typical project of a stack, as it is written for 4 nodes."""
    # 256 nodes on one InfiniBand fabric need scale sets of a size that Azure's support grants.
    granted = (("nodeType.maxNodesPerScaleSet", 300),) if cloud == "azure" else ()
    return Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler, changes=granted)


def nodes_in(account: Account) -> int:
    """Return how many GPU nodes the account has."""
    count = 0
    for one in account.resources("nodes"):
        value: object = one.inputs
        for key in _COUNTS.get(one.type, ()):
            value = value[key] if isinstance(value, Mapping) else None
        count += value if isinstance(value, int) else 0
    return count


def data_in(account: Account, cloud: str) -> dict[str, str]:
    """Return the ids of what holds data."""
    return {one.urn: one.id for type_ in _DATA[cloud] for one in account.of_type(type_)}


def changed(project: Project) -> dict[str, str]:
    """Return what the engine would change in any layer; reading another layer's outputs is no change."""
    steps = [project.preview(layer) for layer in LAYERS]
    return {urn: op for layer in steps for urn, op in layer.items() if "StackReference" not in urn}


@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_a_cluster_s_life(cloud: str, scheduler: str, here: Place) -> None:
    """From preview to the end of its data, a cluster keeps what has to stay and leaves nothing behind."""
    case = case_of(cloud, scheduler)
    project, account = here.project(case), here.account

    said = project.cluster("preview", "--policy-pack", "policy")
    assert "can be previewed once foundation is up" in said
    assert account.ids() == {}
    project.cluster("up", "--policy-pack", "policy")
    asked = {one.urn for layer in LAYERS for one in recorded(case).layers[layer].cloud_resources}
    made = {urn.replace(f":{project.stack}::", f":{STACK}::") for urn in account.ids()}
    assert {urn for urn in made if "pulumi:providers:" not in urn} == asked
    assert nodes_in(account) == 4
    assert changed(project) == {}

    lasting = account.ids("foundation", "cluster")
    for size in SIZES[scheduler]:
        project.resize(size)
        steps = changed(project)
        assert steps
        assert [urn for urn in steps if "-nodes::" not in urn] == []
        assert [urn for urn, op in steps.items() if "replace" in op] == []
        assert [urn for urn in steps if urn.split("::")[2].endswith(_TEMPLATES)] == []
        project.cluster("up")
        assert nodes_in(account) == size
        assert account.ids("foundation", "cluster") == lasting

    for layer in LAYERS:
        project.pulumi(layer, "refresh", "--stack", project.stack, "--yes", "--skip-preview", "--expect-no-changes")
    project.cluster("down")
    assert account.ids("nodes") == {}
    assert account.ids("foundation", "cluster") == lasting
    if scheduler == "slurm":
        _comes_back_on_its_data(project, account, cloud, nodes=SIZES[scheduler][-1])

    whole = account.ids()
    assert "nothing was removed" in project.cluster("destroy", "--with-data", answer="another\n", fails=True)
    assert account.ids() == whole
    project.cluster("destroy", "--with-data", answer="small\n")
    assert account.ids() == {}


def _comes_back_on_its_data(project: Project, account: Account, cloud: str, *, nodes: int) -> None:
    """Check that `up` after `down`, and after `destroy`, has the nodes again and the data still."""
    project.cluster("up")
    assert nodes_in(account) == nodes
    data = data_in(account, cloud)
    assert len(data) >= len(_DATA[cloud])
    project.cluster("destroy")
    assert account.ids("cluster", "nodes") == {}
    assert data_in(account, cloud) == data
    project.cluster("up")
    assert data_in(account, cloud) == data
    assert nodes_in(account) == nodes


def wait_until_recorded(project: Project, held: str) -> None:
    """Return once the engine has written down what it is making; killed while it writes, it leaves half a file."""
    folder = Path(project.environment["PULUMI_BACKEND_URL"].removeprefix("file://"))
    give_up_at = time.monotonic() + 60
    while time.monotonic() < give_up_at:
        for file in folder.glob(f".pulumi/stacks/**/{project.stack}.json"):
            with suppress(ValueError):
                if held in json.dumps(json.loads(file.read_text())["checkpoint"]["latest"].get("pending_operations")):
                    return
        time.sleep(0.1)
    raise AssertionError(f"no state of {project.stack} holds {held}")


@pytest.mark.parametrize(
    ("cloud", "layer", "held"),
    [
        ("aws", "foundation", "aws:fsx/lustreFileSystem:LustreFileSystem"),
        ("azure", "foundation", "azure-native:storagecache:AmlFilesystem"),
        ("gcp", "cluster", "gcp:sql/databaseInstance:DatabaseInstance"),
    ],
)
def test_an_interrupted_up_is_resumed(cloud: str, layer: str, held: str, here: Place) -> None:
    """An engine killed while the cloud makes something leaves a lock; once that is lifted, `up` goes on from there."""
    project, account = here.project(case_of(cloud, "slurm")), here.account
    # As the first step of `./cluster.sh up` does; a state of plain `pulumi up` is refused (test_bad_input.py).
    (project.folder / "foundation" / f"cluster-id.{project.stack}.json").write_text('{"id": "0123456789ab"}\n')
    for before in LAYERS[: LAYERS.index(layer)]:
        project.pulumi(before, "stack", "select", "--create", project.stack)
        project.pulumi(before, "up", "--stack", project.stack, "--yes", "--skip-preview")
    project.pulumi(layer, "stack", "select", "--create", project.stack)
    account.hold("Create", held)
    engine = project.start("-C", layer, "up", "--stack", project.stack, "--yes", "--skip-preview", *ONE_AT_A_TIME)
    account.wait_for_hold(engine)
    wait_until_recorded(project, held)
    os.killpg(engine.pid, signal.SIGKILL)
    engine.communicate()
    account.release()
    made = account.ids()
    assert made
    assert account.of_type(held) == []

    assert "pulumi cancel" in project.cluster("up", fails=True)
    project.pulumi(layer, "cancel", "--yes", "--stack", project.stack)
    project.cluster("up")
    assert made.items() <= account.ids().items()
    assert len(account.of_type(held)) == 1
    assert nodes_in(account) == 4
    assert changed(project) == {}


def test_what_a_killed_engine_was_making_is_named_by_its_state(here: Place) -> None:
    """What the cloud made while the engine died is a pending operation; `up` makes another and leaves that one be."""
    project, account, network = here.project(case_of("gcp", "slurm")), here.account, "gcp:compute/network:Network"
    options = ("--stack", project.stack, "--yes", "--skip-preview")
    project.pulumi("foundation", "stack", "select", "--create", project.stack)
    account.hold("Created", network)
    engine = project.start("-C", "foundation", "up", *options, *ONE_AT_A_TIME)
    account.wait_for_hold(engine)
    os.killpg(engine.pid, signal.SIGKILL)
    engine.communicate()
    account.release()
    (left,) = account.of_type(network)

    project.pulumi("foundation", "cancel", "--yes", "--stack", project.stack)
    state = json.loads(project.pulumi("foundation", "stack", "export", "--stack", project.stack))["deployment"]
    assert [one["resource"]["urn"] for one in state["pending_operations"]] == [left.urn]
    project.pulumi("foundation", "refresh", *options, "--clear-pending-creates")
    project.pulumi("foundation", "up", *options)
    twice = [one.id for one in account.of_type(network) if one.urn == left.urn]
    assert len(twice) == 2
    assert left.id in twice
    assert project.preview("foundation") == {}


@pytest.mark.parametrize("cloud", TYPICAL)
def test_what_the_cloud_refuses_is_made_by_the_next_up(cloud: str, here: Place) -> None:
    """A refusal stops `up` with the cloud's words; what was made stays, and the next `up` makes the rest."""
    project, account = here.project(case_of(cloud, "slurm")), here.account
    held = next(type_ for type_ in _COUNTS if type_.startswith(cloud) and "kubernetes" not in type_)
    account.hold("Create", held)
    started = project.start_cluster("up")
    account.wait_for_hold(started)
    account.release()
    said, _ = started.communicate()
    assert started.returncode != 0
    assert "Interrupted: Create" in said
    made = account.ids()
    project.cluster("up")
    assert made.items() <= account.ids().items()
    assert nodes_in(account) == 4


#: A mistake in a program: what is replaced, where, by what, and the rule that stops it.
_MISTAKES = {
    "aws": ("gpu_cluster/bucket.py", "block_public_acls=True", "block_public_acls=False", "no-public-bucket"),
    "azure": (
        "gpu_cluster/object_store.py",
        "allow_blob_public_access=False",
        "allow_blob_public_access=True",
        "closed-storage",
    ),
    "gcp": (
        "gpu_cluster/data.py",
        'public_access_prevention="enforced"',
        'public_access_prevention="inherited"',
        "private-bucket",
    ),
}


@pytest.mark.parametrize("cloud", _MISTAKES)
def test_the_policy_pack_stops_a_planted_mistake(cloud: str, here: Place) -> None:
    """A program with a mistake is stopped in its preview, by the rule's name, before anything is made."""
    project = here.project(case_of(cloud, "slurm"))
    file, right, wrong, rule = _MISTAKES[cloud]
    path = project.folder / file
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong))
    assert rule in project.cluster("preview", "--policy-pack", "policy", fails=True)
    assert here.account.ids() == {}


@pytest.mark.parametrize("cloud", TYPICAL)
def test_two_clusters_of_one_blueprint_stand_beside_each_other(cloud: str, here: Place) -> None:
    """Under another name a second cluster shares nothing with the first, and goes without touching it."""
    case = case_of(cloud, "slurm")
    first = here.project(case, "first")
    second = here.project(replace(case, cluster="other"), "second")
    assert second.stack != first.stack
    first.cluster("up")
    ours = here.account.ids()
    second.cluster("up")
    both = here.account.ids()
    assert ours.items() <= both.items()
    assert len(both) == 2 * len(ours)
    assert changed(first) == changed(second) == {}
    second.cluster("destroy", "--with-data", answer="other\n")
    assert here.account.ids() == ours
    assert changed(first) == {}
