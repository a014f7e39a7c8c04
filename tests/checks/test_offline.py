"""Each offline check passes on a sound project and catches what it is for, at its line, with a fix."""

import re

import pytest

from clusterwright.checks.preflight.offline import offline
from clusterwright.checks.preflight.results import ORDER, Outcome
from clusterwright.checks.preflight.table import BY_ID, CHECKS
from clusterwright.errors import ClusterwrightError

from .mistakes import FILE_MISTAKES, JOB_MISTAKES, MISTAKES, SOUND_JOBS, FileMistake, Mistake
from .projects import STACK, configuration, files, found, subject

CLOUDS = ("aws", "azure", "gcp")

#: Checks that answer only where the program was run.
RECORDED = ("PRE013", "PRE016", "PRE025", "PRE036", "PRE039")


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_sound_project_passes(cloud: str) -> None:
    """Nothing fails or warns; only what the provider alone knows is open, and what takes a run of the program."""
    bad = {
        (check, result.outcome.message)
        for check, results in found(cloud).items()
        for result in results
        if result.outcome.status in ("FAIL", "WARN")
        or (result.outcome.status == "UNKNOWN" and check < "PRE029" and check not in RECORDED)
    }
    assert bad == set()


def _name(mistake: Mistake | FileMistake) -> str:
    return f"{mistake.cloud} {mistake.name}"


@pytest.mark.parametrize("mistake", MISTAKES, ids=_name)
def test_what_is_wrong_is_found(mistake: Mistake) -> None:
    """The check meant for a mistake says so, points at the line, and tells what to do."""
    config = configuration(mistake.cloud)
    mistake.change(config)
    text = files(mistake.cloud, config)
    results = found(mistake.cloud, config, only=mistake.check)[mistake.check]
    outcomes = [result.outcome for result in results if mistake.message in result.outcome.message]
    assert outcomes, [result.outcome.message for result in results]
    outcome = outcomes[0]
    assert outcome.status == mistake.status
    assert outcome.fix or BY_ID[mistake.check].fix
    if mistake.at:
        assert outcome.place is not None
        name = outcome.place.file.removeprefix("here/")
        assert mistake.at in text[name].splitlines()[outcome.place.line - 1]


@pytest.mark.parametrize("mistake", FILE_MISTAKES, ids=_name)
def test_what_is_wrong_in_files_is_found(mistake: FileMistake) -> None:
    """The check meant for a mistake in a file says so."""
    results = found(mistake.cloud, more=mistake.more, only=mistake.check)[mistake.check]
    outcomes = [result.outcome for result in results if mistake.message in result.outcome.message]
    assert outcomes, [result.outcome.message for result in results]
    assert outcomes[0].status == mistake.status


@pytest.mark.parametrize("mistake", JOB_MISTAKES, ids=_name)
def test_what_no_node_could_use_is_found_at_its_line(mistake: FileMistake) -> None:
    """One finding for each mistake, with the rule's id, the line of its variable and what to do."""
    (result,) = found(mistake.cloud, more=mistake.more, only="PRE045")["PRE045"]
    outcome = result.outcome
    assert outcome.rule.startswith("JOB0")
    assert outcome.fix
    assert outcome.place is not None
    line = str(mistake.more["launch/job.env"]).splitlines()[outcome.place.line - 1]
    assert line.startswith(outcome.message.partition(":")[0])


@pytest.mark.parametrize("text", SOUND_JOBS)
def test_what_every_node_reaches_passes(text: str) -> None:
    """Images of registries and of the shared folder, an environment of modules, nodes without internet."""
    results = found("aws", more={"launch/job.env": text}, only="PRE045")["PRE045"]
    assert [result.outcome.status for result in results] == ["PASS"]


def test_what_machines_prepare_for_is_looked_at_too() -> None:
    """A folder of a layer's `jobEnvironment` that no node sees fails at its line."""
    config = configuration("gcp")
    config["nodes"]["jobEnvironment"] = {"kind": "venv", "venv": "/home/me/venv"}
    (result,) = found("gcp", config, only="PRE045")["PRE045"]
    assert (result.outcome.status, result.outcome.rule) == ("FAIL", "JOB003")
    place = result.outcome.place
    assert place is not None
    text = files("gcp", config)[place.file.removeprefix("here/")]
    assert "venv: /home/me/venv" in text.splitlines()[place.line - 1]
    config["nodes"]["jobEnvironment"]["venv"] = "/shared/venv"
    assert found("gcp", config, only="PRE045")["PRE045"][0].outcome.status == "PASS"


def test_still_to_set_until_it_is() -> None:
    """A line that says what is still to set counts until the key has a value."""
    config, file = configuration("aws"), f"nodes/Pulumi.{STACK}.yaml"
    command = "pulumi -C nodes config set --path nodeType.image ami-YOUR-IMAGE"
    asked = f"# Still to set: {command}\n"
    assert found("aws", more={file: asked + files("aws", config)[file]})["PRE003"][0].outcome.status == "PASS"
    config["nodes"]["nodeType"].pop("image")
    outcome = found("aws", more={file: asked + files("aws", config)[file]})["PRE003"][0].outcome
    assert (outcome.status, outcome.fix) == ("FAIL", command)


def test_encrypted_values_are_no_plain_secrets() -> None:
    """What Pulumi encrypted may be called a password."""
    config = configuration("aws")
    config["cluster"]["dbPassword"] = {"secure": "v1:Zm9vYmFyYmF6cXV4:q7Jm2ZxP0vRt9LcK4nWb8YsD1fHg6TaE3uXi5OpM"}
    assert [result.outcome.status for result in found("aws", config)["PRE006"]] == ["PASS"]


def test_only_slurm_needs_users() -> None:
    """With Kubernetes people come in by the cloud's own identities; a project of before the list has none to fill."""
    config = configuration("aws")
    config["cluster"]["users"] = []
    assert "PRE043" not in found("aws", config, more={"gpu_cluster/kubernetes/__init__.py": ""})
    plain = files("aws")["cluster/Pulumi.yaml"].replace("  users:\n", "  someone:\n")
    assert "PRE043" not in found("aws", more={"cluster/Pulumi.yaml": plain})
    (result,) = found("aws", only="PRE043")["PRE043"]
    assert (result.outcome.status, result.outcome.message) == ("PASS", "alice may log in and submit")


@pytest.mark.parametrize(
    ("cloud", "more"), [("aws", {}), ("aws", {"gpu_cluster/kubernetes/__init__.py": ""}), ("gcp", {})]
)
def test_more_nodes_than_any_network_holds_are_told_how_many_fit(cloud: str, more: dict[str, str]) -> None:
    """The number in the advice has room in the network that it names, and one more has none."""
    config = configuration(cloud)
    size = "16" if cloud == "aws" else "8"
    config["foundation"]["vpcCidr" if cloud == "aws" else "networkCidr"] = f"10.0.0.0/{size}"

    def said(nodes: int) -> Outcome:
        for layer in config.values():
            if "nodeCount" in layer:
                layer["nodeCount"] = nodes
        (result,) = found(cloud, config, more=more, only="PRE032")["PRE032"]
        return result.outcome

    advice = said(2_000_000)
    most = re.fullmatch(rf"run ([\d,]+) nodes or fewer, in a /{size} network", advice.fix or "")
    assert most is not None, advice
    room = int(most[1].replace(",", ""))
    assert (said(room).status, said(room + 1).status) == ("PASS", "FAIL")


def test_the_quota_to_ask_for() -> None:
    """48 × p5.48xlarge are 48 × 192 vCPUs of the P bucket; TCPXO nodes are GPUs of their family and nine networks."""
    config = configuration("aws")
    config["nodes"]["nodeCount"] = "48"
    outcome = found("aws", config)["PRE029"][0].outcome
    assert "9,216 vCPUs of “Running On-Demand P instances”" in outcome.message
    assert "--desired-value 9216" in outcome.fix
    config["nodes"]["capacity"] = "spot"
    assert "All P5 Spot Instance Requests" in found("aws", config)["PRE029"][0].outcome.message
    results = found("gcp")
    assert "64 GPUs" in results["PRE029"][0].outcome.message
    assert "9 VPC networks" in results["PRE030"][0].outcome.message


@pytest.mark.parametrize(("cloud", "missing"), [("aws", True), ("azure", False), ("gcp", False)])
def test_managed_kubernetes_chooses_its_images(*, cloud: str, missing: bool) -> None:
    """AKS and GKE have no setting for the nodes' image, so none is missing; EKS takes one."""
    config = configuration(cloud)
    for layer in config.values():
        layer.get("nodeType", {}).pop("image", None)
    results = found(cloud, config, more={"gpu_cluster/kubernetes/__init__.py": ""}).get("PRE019", ())
    assert any(result.outcome.status == "FAIL" for result in results) is missing


def test_an_image_is_looked_up_in_the_region_of_its_nodes() -> None:
    """An image's id is of one region, whatever region the command line has by default."""
    config = configuration("aws")
    config["nodes"]["nodeType"]["image"] = "/aws/service/some/latest/ami-id"
    assert "--region us-east-1 --name /aws/service" in found("aws", config)["PRE020"][0].outcome.fix


def test_ids_are_unique_and_described() -> None:
    """Every check has an id of its own, a title, what it needs and a fix."""
    assert len(BY_ID) == len(CHECKS)
    for check in CHECKS:
        assert check.id.startswith("PRE")
        assert check.title
        assert check.fix
        assert check.needs in ("nothing", "credentials")


def test_results_are_in_the_order_of_the_table() -> None:
    """The order is the table's, so that two runs can be compared."""
    ids = [result.check for result in offline(subject("gcp"))]
    assert ids == sorted(ids)
    assert set(ORDER) == {"PASS", "WARN", "FAIL", "UNKNOWN"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({f"{layer}/Pulumi.yaml": None for layer in ("foundation", "cluster", "nodes")}, "no generated project"),
        ({"nodes/Pulumi.prod.yaml": "config: {}\n"}, "several stacks"),
        ({f"nodes/Pulumi.{STACK}.yaml": "config: [\n"}, "problem"),
    ],
)
def test_what_is_no_project_is_refused(more: dict[str, str | None], words: str) -> None:
    """Folders that are no project, or several, are bad input, not a failed check."""
    with pytest.raises(ClusterwrightError, match=words) as raised:
        subject("aws", more=more)
    assert raised.value.exit_code == 2


_POD = """\
kind: Service
---
kind: Job
spec:
  template:
    spec:
      containers:
        - name: worker
          resources:
            limits:
              nvidia.com/gpu: {gpus}
              {device}
"""


@pytest.mark.parametrize(
    ("cloud", "gpus", "device", "words"),
    [
        ("aws", 8, "vpc.amazonaws.com/efa: 32", ""),
        ("aws", 8, "vpc.amazonaws.com/efa: 4", "without its 32 EFA devices"),
        ("aws", 8, "memory: 1Gi", "without its 32 EFA devices"),
        ("aws", 1, "memory: 1Gi", ""),
        ("aws", 16, "vpc.amazonaws.com/efa: 32", "16 accelerators are asked for, p5.48xlarge has 8"),
        ("azure", 8, "memory: 1Gi", "without an RDMA device"),
        ("azure", 8, "rdma/hca_shared_devices_a: 1", ""),
        ("gcp", 8, "memory: 1Gi", ""),
    ],
)
def test_pods_ask_for_the_fabric(cloud: str, gpus: int, device: str, words: str) -> None:
    """A whole node's accelerators come with the fabric's devices; found at the line of the limits."""
    more = {"gpu_cluster/kubernetes/__init__.py": "", "examples/job.yaml": _POD.format(gpus=gpus, device=device)}
    (result,) = found(cloud, more=more, only="PRE034")["PRE034"]
    assert result.outcome.status == ("FAIL" if words else "PASS")
    assert words in result.outcome.message
    if words:
        assert str(result.outcome.place) == "here/examples/job.yaml:10"
