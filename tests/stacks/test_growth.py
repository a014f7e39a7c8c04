"""A cluster grows and shrinks by its number of nodes alone: templates, controllers and boot data stay as they are."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.preflight.records import Resource, Run

from .projects import Case, run, set_config, write

_INSTANCES = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-megagpu-8g"}
#: What nodes are made from: a change of any input makes a new version, of which running nodes are not.
_TEMPLATES = {
    "aws": "aws:ec2/launchTemplate:LaunchTemplate",
    "azure": "azure-native:compute:VirtualMachineScaleSet",
    "gcp": "gcp:compute/instanceTemplate:InstanceTemplate",
}
#: Paths of the number itself, which is beside the model that Azure's scale set makes nodes from.
_NUMBER = {"azure": ("sku",)}
#: Input in which another value would be a new machine, or a start and stop of it.
_BOOT_DATA = {
    "aws": ("aws:ec2/instance:Instance", "userDataBase64", "userDataBase64"),
    "azure": ("azure-native:compute:VirtualMachine", "osProfile", "osProfile.customData"),
    "gcp": ("gcp:compute/instance:Instance", "metadata", 'metadata["user-data"]'),
}


@pytest.fixture(scope="module", params=sorted(_INSTANCES))
def sizes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Run]]:
    """A cloud, and the runs of one project there at 4 nodes, at 40 and at 4 again."""
    cloud, folder = request.param, tmp_path_factory.mktemp("growth")
    write(Case(cloud=cloud, instance=_INSTANCES[cloud], nodes=4), folder)
    runs = []
    for count in (4, 40, 4):
        set_config(folder, {"nodeCount": count, **({"budgetStartMonth": "2026-11"} if cloud == "azure" else {})})
        runs.append(run(folder))
    assert [record.error for made in runs for record in made.layers.values() if record.error] == []
    return cloud, runs


def _templates(cloud: str, made: Run) -> list[dict[str, object]]:
    aside, templates = _NUMBER.get(cloud, ()), made.layers["nodes"].of(_TEMPLATES[cloud])
    return [{key: value for key, value in one.inputs.items() if key not in aside} for one in templates]


def _inputs(resources: tuple[Resource, ...]) -> dict[str, object]:
    return {one.urn: one.inputs for one in resources}


def test_a_resize_changes_no_template_and_nothing_of_the_cluster(sizes: tuple[str, list[Run]]) -> None:
    """At 4, 40 and 4 nodes, foundation and cluster ask for the same, and nodes are made from the same template."""
    cloud, (small, large, again) = sizes
    for layer in ("foundation", "cluster"):
        assert _inputs(large.layers[layer].resources) == _inputs(small.layers[layer].resources)
        assert _inputs(again.layers[layer].resources) == _inputs(small.layers[layer].resources)
    assert _templates(cloud, small)
    assert _templates(cloud, small) == _templates(cloud, large) == _templates(cloud, again)
    assert _inputs(small.layers["nodes"].resources) != _inputs(large.layers["nodes"].resources)


#: Frame of `cloud.sh`, with stand-ins that know each node by the template that it was made from.
_REIMAGE = """
set -euo pipefail
stack_name=small
say() { printf '%s\\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
run() { "$@"; }
output() { printf '%s' "$2"; }
outputs() { printf 'group\\n'; }
configured() { printf 'us-east-1\\n'; }
pulumi() { :; }
aws() {
  case "$*" in
    *InService*) awk '{ print "i-" NR "\\t" $1 }' "$NODES" ;;
    *describe-auto-scaling-groups*) printf '%s\\n' "$NEWEST" ;;
    *) fail "asked for: aws $*" ;;
  esac
}
az() {
  case "$*" in
    "vmss list "*) printf 'group\\n' ;;
    "vmss list-instances"*latestModelApplied*)
      awk -v newest="$NEWEST" '{ print NR "\\tnode" NR "\\t" ($1 == newest ? "True" : "False") }' "$NODES" ;;
    *) fail "asked for: az $*" ;;
  esac
}
gcloud() {
  case "$*" in
    *"managed describe"*) printf '%s\\n' "$NEWEST" ;;
    *list-instances*version.instanceTemplate*) awk '{ print "node" NR "\\t" $1 }' "$NODES" ;;
    *) fail "asked for: gcloud $*" ;;
  esac
}
. ./cloud.sh
reimage_nodes
"""


def _reimage(cloud: str, nodes: list[str], newest: str, folder: Path) -> tuple[int, str]:
    """Return the status of `reimage`, and what it said, where nodes were made from templates."""
    stack = assets.root() / "stacks" / cloud
    shutil.copy(stack / "base" / "cloud.sh", folder)
    shutil.copy(stack / "slurm" / "reimage.sh", folder)
    (folder / "nodes").write_text("".join(f"{one}\n" for one in nodes))
    environment = {"PATH": "/usr/bin:/bin", "NODES": str(folder / "nodes"), "NEWEST": newest, "REIMAGE_POLL_S": "0"}
    done = subprocess.run(
        ["bash", "-c", _REIMAGE], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stderr


def test_after_growing_and_shrinking_no_node_is_reimaged(sizes: tuple[str, list[Run]], tmp_path: Path) -> None:
    """From 4 nodes to 40 and back, `reimage` lists none; one made from another template it would go through."""
    cloud, runs = sizes
    made = [hashlib.sha256(repr(_templates(cloud, one)).encode()).hexdigest() for one in runs]
    # Four from the first `up`, 36 more from the second one; any four may be left.
    for nodes in ([made[0]] * 4, [made[1]] * 4, [made[0]] * 4 + [made[1]] * 36):
        status, said = _reimage(cloud, nodes, made[2], tmp_path)
        assert status == 0, said
        assert ": 0 nodes " in said
    status, said = _reimage(cloud, [made[0], "an-older-one"], made[2], tmp_path)
    assert status != 0
    assert "asked for: " in said


def test_other_boot_data_replaces_no_controller(sizes: tuple[str, list[Run]]) -> None:
    """Controller and login machine ignore a change of their boot data, which would cost the queue of jobs."""
    cloud, runs = sizes
    kind, key, ignored = _BOOT_DATA[cloud]
    machines = runs[0].layers["cluster"].of(kind)
    assert len(machines) == 2
    assert [one.name for one in machines if key not in one.inputs or ignored not in one.ignore_changes] == []


@pytest.mark.parametrize(
    ("cloud", "network", "most"),
    [
        ("aws", {"vpcCidr": "10.64.0.0/25"}, None),
        ("azure", {"vnetAddressSpace": "10.40.0.0/20"}, 2041),
        ("gcp", {"networkCidr": "10.0.0.0/22"}, 58),
    ],
)
def test_growth_beyond_the_network_is_refused_before_a_node_is_made(
    cloud: str, network: dict[str, str], most: int | None, tmp_path: Path
) -> None:
    """The foundation refuses more nodes than its network has addresses for, and the nodes' layer does by itself."""
    small = {"aws": {"sharedStorage": {"capacityGib": 1200, "throughputMbPerSPerTib": 125}}}.get(cloud, {})
    write(Case(cloud=cloud, instance=_INSTANCES[cloud], nodes=4, changes=tuple((network | small).items())), tmp_path)
    made = run(tmp_path)
    assert [record.error for record in made.layers.values() if record.error] == []
    room = int(made.layers["foundation"].outputs["node_addresses"])
    assert most in (None, room)
    set_config(tmp_path, {"nodeCount": room + 1, **({"allowSplitFabric": True} if cloud == "azure" else {})})
    refused = run(tmp_path, layers=("foundation",)).layers["foundation"]
    assert refused.error is not None
    assert "PRE032" in refused.error
    assert f"afterwards {room} nodes or fewer" in refused.error
    assert refused.cloud_resources == ()
    alone = run(
        tmp_path,
        layers=("nodes",),
        stacks={f"organization/{record.project}/small": record.outputs for record in made.layers.values()},
    ).layers["nodes"]
    assert alone.error is not None
    assert f"PRE032: nodeCount: {room + 1} nodes are more than the {room} that the foundation's network" in alone.error
    groups = {"aws": "autoscaling", "azure": "VirtualMachineScaleSet", "gcp": "instanceGroupManager"}[cloud]
    assert [one.type for one in alone.cloud_resources if groups in one.type] == []


@pytest.mark.parametrize(("present", "upgrades"), [("1.34.2", 0), ("1.34.1", 1)])
@pytest.mark.parametrize(("cloud", "upgrade"), [("azure", "nodepool upgrade"), ("gcp", "clusters upgrade")])
def test_a_pool_of_the_newest_image_is_not_reimaged(
    cloud: str, upgrade: str, present: str, upgrades: int, tmp_path: Path
) -> None:
    """With managed Kubernetes a pool is asked for its image first, and left alone where that is the newest."""
    stack = assets.root() / "stacks" / cloud
    shutil.copy(stack / "base" / "cloud.sh", tmp_path)
    shutil.copy(stack / "kubernetes" / "reimage.sh", tmp_path)
    answers = """
az() {
  case "$*" in
    *"nodepool show"*) echo "$PRESENT" ;;
    *get-upgrades*) echo 1.34.2 ;;
    *) echo "az $*" >>calls ;;
  esac
}
gcloud() {
  case "$*" in
    *"clusters describe"*) echo 1.34.2 ;;
    *"node-pools describe"*) echo "$PRESENT" ;;
    *) echo "gcloud $*" >>calls ;;
  esac
}
. ./cloud.sh
"""
    (tmp_path / "calls").touch()
    done = subprocess.run(
        ["bash", "-c", _REIMAGE.replace(". ./cloud.sh\n", answers)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PRESENT": present, "NODES": "", "NEWEST": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (tmp_path / "calls").read_text().count(upgrade) == upgrades
    assert ("0 nodes to replace" in done.stderr) == (upgrades == 0)
