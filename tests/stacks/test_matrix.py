"""Every stack × instance type × size runs unmodified, and nothing is wrong with what it asks for."""

import os
import tempfile
from pathlib import Path

import pytest

from clusterwright.checks.preflight.records import UNKNOWN, Record, texts

from .cases import TYPICAL, beyond, chosen, compact, limit_of, stacks
from .kubernetes_nodes import AKS_POOL, EKS_GROUP, GKE_POOL, is_gpu_group
from .profiles import profile_problems, profiles, read, text_of
from .projects import INSTANCES, Case, record_all, recorded, run, write
from .proof import problems

#: Resources of one layer without its groups of nodes: few enough to read, and the same for every number of nodes.
MOST_RESOURCES = 60
PROFILES = Path(__file__).parent / "profiles"


@pytest.fixture(scope="session")
def _recorded(request: pytest.FixtureRequest) -> None:
    """Run what the selected tests look at on all cores first; parallel workers of pytest share it out themselves."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        parameters = (getattr(item, "callspec", None) for item in request.session.items)
        cases = (one.params.get("case") for one in parameters if one is not None)
        record_all([(case, False) for case in dict.fromkeys(cases) if isinstance(case, Case)])


def of_groups(record: Record) -> int:
    """Count what comes once for each group of nodes."""
    kinds = (
        "aws:autoscaling/group:Group",
        "azure-native:compute:VirtualMachineScaleSet",
        "gcp:compute/instanceGroupManager:InstanceGroupManager",
        EKS_GROUP,
        GKE_POOL,
        AKS_POOL,
    )
    return sum(len([one for one in record.of(kind) if is_gpu_group(one)]) for kind in kinds)


@pytest.mark.usefixtures("_recorded")
@pytest.mark.parametrize("case", chosen(), ids=str)
def test_nothing_is_wrong_with_what_the_program_asks_for(case: Case) -> None:
    """Inputs fit the SDK's shapes, and the rules of all clouds and of this one hold."""
    made = recorded(case)
    found = problems(made, case)
    if dict(case.changes).get("allowSplitFabric"):
        # That is what this setting asks for, in full knowledge.
        found = [one for one in found if one.id != "AZ013"]
    profile = PROFILES / f"{case.cloud}-{case.scheduler}.json"
    strange = list(profile_problems(made.whole, read(profile))) if profile.exists() else []
    if dict(case.changes).get("allowSplitFabric"):
        # Profiles are of projects with one pool; here there are several, which differ in their number alone.
        strange = [one for one in strange if not one.message.startswith("agentPoolName is ")]
    found += strange
    assert [str(one) for one in found] == []
    for layer, record in made.layers.items():
        lasting = len(record.cloud_resources) - of_groups(record)
        assert lasting <= MOST_RESOURCES, f"{layer}: {lasting} resources"


@pytest.mark.usefixtures("_recorded")
@pytest.mark.parametrize("case", beyond(), ids=str)
def test_one_node_too_many_is_refused_in_words(case: Case) -> None:
    """Beyond the limit a layer says which value is wrong and what the limit is, and registers nothing."""
    layers = recorded(case).layers
    record = list(layers.values())[-1]
    assert record.cloud_resources == ()
    assert record.error is not None
    assert "nodeCount" in record.error
    assert any(
        f"{limit:,}" in record.error or str(limit) in record.error
        for limit in (limit_of(case.cloud, case.instance)[0], 300)
    )
    assert "Traceback" not in record.error


@pytest.mark.usefixtures("_recorded")
@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_the_number_of_resources_does_not_grow_with_the_nodes(cloud: str, scheduler: str) -> None:
    """From one node to a type's limit only groups of nodes are added, never one resource per node."""
    for instance in INSTANCES[cloud]:
        ours = [one for one in compact() if (one.cloud, one.scheduler, one.instance) == (cloud, scheduler, instance)]
        small, large = (recorded(one).whole for one in ours)
        # A reservation or flex-start replaces the placement policy, and asks for its nodes in one request.
        lasting = [len(one.cloud_resources) - of_groups(one) for one in (small, large)]
        assert abs(lasting[0] - lasting[1]) <= 2
        assert of_groups(large) <= -(-limit_of(cloud, instance)[0] // 64)


@pytest.mark.skipif(
    os.environ.get("CLUSTERWRIGHT_WRITE_GOLDEN") != "1", reason="writes the profiles only when asked to"
)
@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_profiles_are_written(cloud: str, scheduler: str) -> None:
    """With `CLUSTERWRIGHT_WRITE_GOLDEN=1` what all cases have in common becomes the profile, to be read."""
    ours = [one for one in chosen() if (one.cloud, one.scheduler) == (cloud, scheduler)]
    record_all([(one, False) for one in ours])
    PROFILES.mkdir(exist_ok=True)
    (PROFILES / f"{cloud}-{scheduler}.json").write_text(text_of(profiles(recorded(one).whole for one in ours)))


@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_a_second_run_asks_for_the_same(cloud: str, scheduler: str) -> None:
    """Nothing depends on the order of registration, on time or on chance."""
    case = Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler)
    first = recorded(case)
    with tempfile.TemporaryDirectory() as folder:
        write(case, Path(folder))
        assert run(Path(folder)) == first


@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_a_preview_asks_for_the_same_resources(cloud: str, scheduler: str) -> None:
    """In a preview, where ids and outputs are unknown, the program gets as far and says nothing wrong."""
    case = Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler)
    preview, deployed = recorded(case, dry_run=True).whole, recorded(case).whole
    assert preview.error is None
    assert [one.urn for one in preview.resources] == [one.urn for one in deployed.resources]
    unknown = sum(UNKNOWN in str(one.inputs) for one in preview.resources)
    assert unknown > len(preview.cloud_resources) / 2
    assert not [text for one in preview.resources for text, _ in texts(one.inputs) if "Calling __str__" in text]
