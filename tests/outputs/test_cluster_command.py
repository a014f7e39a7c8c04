"""`cluster.sh` of a project: order, what it never calls, what it refuses. A stand-in for `pulumi` notes its calls."""

import os
import re
import shutil
import stat
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright import assets

EVERY_CLOUD = assets.root() / "stacks" / "every_cloud"
LAYERS = ("foundation", "cluster", "nodes")
PULUMI = """#!/bin/sh
printf '%s\\n' "$*" >>"$CALLS"
case "$*" in
  *"$FAIL_ON"*) [ -z "$FAIL_ON" ] || exit 3 ;;
esac
case "$*" in
  *"stack output"*) printf '%s\\n' "$OUTPUTS" ;;
  *--secret*) printf 'by standard input: %s\\n' "$(cat)" >>"$CALLS" ;;
esac
"""
#: Stands in for the Python of a new environment: yes to pip, and to the questions of `cluster.sh` what a test says.
PYTHON = """#!/bin/sh
printf 'python %s\\n' "$*" >>"$CALLS"
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
if [ "$2" = gpu_cluster.unset_values ]; then exit "$UNSET"; fi
if [ "$2" = gpu_cluster.settings_check ]; then exit "${REFUSED:-0}"; fi
if [ "$2" = gpu_cluster.identity ]; then echo "${NEW:-}"; exit "${FOREIGN:-0}"; fi
"""
CLOUD = """require_credentials() { [ -z "${NO_CREDENTIALS:-}" ]; }
reimage_nodes() { pulumi reimage-stand-in "$stack"; }
allow_deleting_data() { pulumi allow-stand-in; }
show_leftovers() { pulumi leftovers-stand-in; }
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project with stand-ins for every program that `cluster.sh` starts."""

    folder: Path

    @property
    def calls(self) -> Path:
        """Where the stand-ins note how they were called."""
        return self.folder.parent / "calls"

    def run(self, *arguments: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `cluster.sh` and forget earlier calls."""
        self.calls.write_text("")
        return subprocess.run(
            ["bash", self.folder / "cluster.sh", *arguments],
            env={
                "PATH": f"{self.folder.parent / 'bin'}:/usr/bin:/bin",
                "CALLS": str(self.calls),
                "FAIL_ON": "",
                "OUTPUTS": '{"vpc_id": "vpc-1"}',
                "UNSET": "0",
            }
            | environment,
            input=typed,
            capture_output=True,
            text=True,
            check=False,
        )

    def changing(self) -> list[str]:
        """Return the calls of Pulumi that change something or would show what changes, without the stack's name."""
        calls = [line.replace(" --stack small", "") for line in self.calls.read_text().splitlines()]
        passing = ("python", "stack", "whoami")
        return [
            line.removeprefix("-C ")
            for line in calls
            if not line.startswith("python") and line.removeprefix("-C ").partition(" ")[2].split(" ")[0] not in passing
        ]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project whose layers hold nothing but what `cluster.sh` reads."""
    folder = tmp_path / "project"
    for layer in LAYERS:
        (folder / layer).mkdir(parents=True)
        (folder / layer / "Pulumi.yaml").write_text(f"name: aws-gpu-{layer}\nconfig:\n  clusterName: {{}}\n")
        (folder / layer / "Pulumi.small.yaml").write_text(
            f"config:\n  aws-gpu-{layer}:clusterName: gpt3\n"
            f"  aws-gpu-{layer}:foundationStack: organization/aws-gpu-foundation/small\n"
        )
    for name in ("cluster.sh", "requirements.txt", "pyproject.toml"):
        shutil.copy(EVERY_CLOUD / name, folder / name)
    (folder / "constraints.txt").write_text("pulumi==3.272.0\n")
    shutil.copytree(EVERY_CLOUD / "policy", folder / "policy", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "cloud.sh").write_text(CLOUD)
    for name, text in {"pulumi": PULUMI, "python3": PYTHON}.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return Project(folder=folder)


def test_up_goes_from_foundation_to_nodes(project: Project) -> None:
    """Every stack is made or selected before its layer, and options reach Pulumi."""
    done = project.run("up", "--", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stderr
    assert project.changing() == [f"{layer} up --yes --skip-preview" for layer in LAYERS]
    calls = project.calls.read_text().splitlines()
    for layer in LAYERS:
        selected = calls.index(f"-C {layer} stack select --create small")
        assert selected < calls.index(f"-C {layer} up --stack small --yes --skip-preview")


QUOTA = "# Quota: on-demand|L-417A185B|192|vCPUs|Running On-Demand P instances\n"


@pytest.mark.parametrize(
    ("nodes", "capacity", "limit", "refused"),
    [
        (4, "on-demand", "0", True),
        (4, "on-demand", "0.0", True),
        (4, "on-demand", "767", True),
        (4, "on-demand", "768.0", False),
        (40, "on-demand", "768", True),
        (0, "on-demand", "0", False),
        (4, "capacity-block", "0", False),
        (4, "on-demand", "None", False),
        (4, "on-demand", "", False),
    ],
)
def test_nodes_beyond_the_quota_are_refused_before_anything_is_made(
    project: Project, nodes: int, capacity: str, limit: str, refused: bool
) -> None:
    """A new account's 0, and growth beyond what was granted, stop `up` with id, place and fix."""
    configuration = project.folder / "nodes" / "Pulumi.small.yaml"
    lines = f"  aws-gpu-nodes:nodeCount: {nodes}\n  aws-gpu-nodes:capacity: {capacity}\n"
    configuration.write_text(configuration.read_text() + lines + QUOTA)
    with (project.folder / "cloud.sh").open("a") as cloud:
        cloud.write('quota_limit() { [ "$1" = L-417A185B ] && printf "%s\\n" "$LIMIT"; }\n')
    done = project.run("up", LIMIT=limit)
    assert (done.returncode != 0) == refused, done.stderr
    assert bool(project.changing()) != refused
    if refused:
        assert "PRE102: nodes/Pulumi.small.yaml, nodeCount" in done.stderr
        assert f"need {nodes * 192} vCPUs" in done.stderr
        assert "Nothing was done" in done.stderr
        assert project.run("up", LIMIT=limit, QUOTA_IS_GRANTED="yes").returncode == 0
    assert project.run("preview", LIMIT=limit).returncode == 0


@pytest.mark.parametrize(("nodes", "room", "refused"), [(41, "40.0", True), (40, "40", False), (41, "", False)])
def test_nodes_beyond_the_network_are_refused_before_a_layer_starts(
    project: Project, nodes: int, room: str, refused: bool
) -> None:
    """What the foundation says of its addresses counts; before the first `up` its program compares them."""
    configuration = project.folder / "nodes" / "Pulumi.small.yaml"
    configuration.write_text(f"{configuration.read_text()}  aws-gpu-nodes:nodeCount: {nodes}\n")
    done = project.run("up", OUTPUTS=room)
    assert (done.returncode != 0) == refused, done.stderr
    assert bool(project.changing()) != refused
    if refused:
        assert "PRE032: nodes/Pulumi.small.yaml, nodeCount: 41 nodes are more than the 40" in done.stderr
        assert "./cluster.sh set nodeCount 40" in done.stderr


def test_every_refusal_is_explained_in_the_readme() -> None:
    """Ids that the command or a layer's program gives stand in the project's README, and no other ones."""
    rule = r"\b(?:STA|PRE)\d{3}\b"
    stacks = assets.root() / "stacks"
    sources = [
        EVERY_CLOUD / "cluster.sh",
        *(EVERY_CLOUD / "gpu_cluster").rglob("*.py"),
        *stacks.glob("*/base/cloud.sh"),
    ]
    sources += stacks.glob("*/base/gpu_cluster/settings_*.py")
    sources += (stacks / "slurm" / "gpu_cluster").rglob("*.py")
    given = {found for source in sources for found in re.findall(rule, source.read_text())}
    readme = (assets.root() / "templates" / "project" / "README.md.j2").read_text()
    assert set(re.findall(rf"^\| `({rule})`", readme, re.M)) == given


#: Answers as Google's own command prints them for the projection that it is asked for.
_GCLOUD = """gcloud() {
  case "$*" in
    "compute regions describe r1 --project p1 --quiet --flatten quotas[] "\\
"--format csv[no-heading](quotas.metric,quotas.limit)")
      printf 'CPUS,24.0\\nNVIDIA_H100_GPUS,0.0\\nPREEMPTIBLE_NVIDIA_H100_GPUS,16.0\\n' ;;
    *) echo "unrecognized arguments" >&2; return 2 ;;
  esac
}
configured() { case $2 in gcp:region) echo r1 ;; gcp:project) echo p1 ;; esac; }
. "$0"
quota_limit "$1"
"""


@pytest.mark.parametrize(
    ("code", "limit"),
    [("NVIDIA_H100_GPUS", "0.0"), ("PREEMPTIBLE_NVIDIA_H100_GPUS", "16.0"), ("NVIDIA_B200_GPUS", "")],
)
def test_google_is_asked_for_quotas_as_its_command_takes_it(code: str, limit: str) -> None:
    """`describe` has no --filter: the one line is taken out of all quotas of the region; a quota elsewhere is none."""
    script = assets.root() / "stacks" / "gcp" / "base" / "cloud.sh"
    done = subprocess.run(["bash", "-c", _GCLOUD, script, code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == limit, done.stderr


#: A new account: what its login and its project are, and what the command says of them.
_NEW_ACCOUNT = """say() { printf '%s\\n' "$*"; }
gcloud() {
  case "$*" in
    "auth application-default"*) [ "$DEFAULT" = yes ] ;;
    "auth "*) [ "$OWN" = yes ] ;;
    "services list"*) printf '%s' "$SERVICES" ;;
    "compute networks list"*) echo "a network" ;;
  esac
}
configured() { echo p1; }
cd "$1" && stack=small
. "$0"
"$2"
"""


@pytest.mark.parametrize(
    ("own", "default", "configured", "said"),
    [
        ("no", "yes", "", "gcloud auth login"),
        ("yes", "no", "", "gcloud auth application-default login"),
        ("yes", "no", "  gcp:credentials:\n    secure: v1:AAAA", ""),
        ("yes", "yes", "", ""),
    ],
)
def test_google_is_logged_in_to_twice(tmp_path: Path, own: str, default: str, configured: str, said: str) -> None:
    """Pulumi does not use the login of gcloud: each that is missing is named with the command that makes it."""
    (tmp_path / "foundation").mkdir()
    (tmp_path / "foundation" / "Pulumi.small.yaml").write_text(f"config:\n{configured}\n")
    script = assets.root() / "stacks" / "gcp" / "base" / "cloud.sh"
    words = ["bash", "-c", _NEW_ACCOUNT, str(script), str(tmp_path), "require_credentials"]
    environment = {"PATH": "/usr/bin:/bin", "OWN": own, "DEFAULT": default}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(said), done.stderr
    assert said in done.stdout


@pytest.mark.parametrize(
    ("services", "found"),
    [("iam.googleapis.com\n", "p1 is new"), ("compute.googleapis.com\n", "a network"), ("", "a n")],
)
def test_a_new_project_of_google_has_no_network_of_that_name(tmp_path: Path, services: str, found: str) -> None:
    """Before the Compute API is on nothing can be asked of it, and nothing can have the cluster's name."""
    script = assets.root() / "stacks" / "gcp" / "base" / "cloud.sh"
    words = ["bash", "-c", _NEW_ACCOUNT, str(script), str(tmp_path), "resources_of_that_name"]
    environment = {"PATH": "/usr/bin:/bin", "SERVICES": services}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert found in done.stdout


def test_failure_in_the_middle_stops(project: Project) -> None:
    """Nodes are not brought up on a cluster that is not there."""
    done = project.run("up", FAIL_ON="-C cluster up")
    assert done.returncode != 0
    assert project.changing() == ["foundation up", "cluster up"]


def test_failure_of_nodes_keeps_the_rest(project: Project) -> None:
    """`destroy` removes nothing below nodes that could not be removed."""
    done = project.run("destroy", FAIL_ON="-C nodes destroy")
    assert done.returncode != 0
    assert project.changing() == ["nodes destroy"]


def test_down_touches_nodes_alone(project: Project) -> None:
    """GPU nodes go; foundation and cluster are not called for."""
    assert project.run("down", "--", "--yes").returncode == 0
    assert project.changing() == ["nodes destroy --yes"]


def test_destroy_keeps_data(project: Project) -> None:
    """Layers go in reverse; nothing is unprotected, and leftovers are looked for at the end."""
    assert project.run("destroy").returncode == 0
    assert project.changing() == [
        "nodes destroy",
        "cluster destroy",
        "foundation destroy --exclude-protected",
        "leftovers-stand-in",
    ]
    assert "unprotect" not in project.calls.read_text()


def test_destroy_with_data_asks_for_the_name(project: Project) -> None:
    """The data goes only after the cluster's name was typed, and last."""
    assert project.run("destroy", "--with-data", "--", "--yes", typed="gpt3\n").returncode == 0
    assert project.changing() == [
        "nodes destroy --yes",
        "cluster destroy --yes",
        "allow-stand-in",
        "foundation state unprotect --all --yes",
        "foundation destroy --yes",
        "leftovers-stand-in",
    ]


def test_protection_by_the_cloud_is_lifted_and_restored(project: Project) -> None:
    """What the cloud would refuse to delete is told so first; a layer that is not up is not brought up for it."""
    for layer, key in {"foundation": "protectData", "cluster": "deletionProtection"}.items():
        with (project.folder / layer / "Pulumi.yaml").open("a") as stream:
            stream.write(f"  {key}:\n    type: boolean\n")
    destroyed = ["nodes destroy --yes", "cluster destroy --yes", "foundation destroy --exclude-protected --yes"]
    project.run("destroy", "--", "--yes", OUTPUTS="{}")
    assert project.changing()[:-1] == destroyed
    project.run("destroy", "--", "--yes")
    lifted = ["cluster config set -- deletionProtection false", "cluster up --yes"]
    assert project.changing()[:-1] == [destroyed[0], *lifted, *destroyed[1:]]
    with (project.folder / "cluster" / "Pulumi.small.yaml").open("a") as stream:
        stream.write('  aws-gpu-cluster:deletionProtection: "false"\n')
    project.run("destroy", "--", "--yes")
    restored = "cluster config rm -- deletionProtection"
    assert project.changing()[:-1] == [*destroyed[:2], restored, destroyed[2]]
    project.run("destroy", "--with-data", typed="gpt3\n")
    assert project.changing()[3:-1] == [
        "allow-stand-in",
        "foundation config set -- protectData false",
        "foundation up",
        "foundation state unprotect --all --yes",
        "foundation destroy",
    ]


@pytest.mark.parametrize("typed", ["", "\n", "gpt\n", "yes\n", "small\n"])
def test_destroy_with_data_and_a_wrong_name_does_nothing(project: Project, typed: str) -> None:
    """Not even the nodes are removed; no input at all is a wrong answer too."""
    done = project.run("destroy", "--with-data", typed=typed)
    assert done.returncode == 1
    assert "nothing was removed" in done.stderr
    assert project.changing() == []


def test_preview_shows_every_layer_that_can_be(project: Project) -> None:
    """With the layers up, each is previewed; before that, only the foundation."""
    assert project.run("preview").returncode == 0
    assert project.changing() == [f"{layer} preview" for layer in LAYERS]
    done = project.run("preview", OUTPUTS="{}")
    assert done.returncode == 0
    assert project.changing() == ["foundation preview"]
    assert "cluster: can be previewed once foundation is up" in done.stderr


def test_policy_pack_has_its_own_environment(project: Project) -> None:
    """The pack reaches `preview` and `up` by its full path; without the option there is none."""
    assert project.run("preview", "--policy-pack", "policy").returncode == 0
    pack = project.folder / "policy"
    assert project.changing() == [f"{layer} preview --policy-pack {pack}" for layer in LAYERS]
    assert "python -m venv .venv-policy" in project.calls.read_text()
    project.run("up")
    assert "policy" not in " ".join(project.changing())


def test_environment_is_installed_once(project: Project) -> None:
    """Only files with a known hash are taken, and nothing besides; the second run installs nothing."""
    project.run("status")
    install = "pip install -q --disable-pip-version-check --no-deps"
    assert [call.partition("-m ")[2] for call in project.calls.read_text().splitlines() if "pip install" in call] == [
        f"{install} --require-hashes -r constraints.txt",
        f"{install} --no-build-isolation -e .",
    ]
    project.run("status")
    assert "pip install" not in project.calls.read_text()
    (project.folder / "constraints.txt").write_text("pulumi==3.273.0\n")
    project.run("status")
    assert "pip install" in project.calls.read_text()


def test_a_value_is_set_where_it_belongs(project: Project) -> None:
    """A key is set in the layers that declare it, a provider's in all; a stack exists before its first value."""
    with (project.folder / "nodes" / "Pulumi.yaml").open("a") as stream:
        stream.write("  nodeType:\n    description: instanceType, image\n  operators: {}\nbackend:\n  url: file://~\n")
    assert project.run("set", "nodeType.image", "ami-1", UNSET="1").returncode == 0
    assert [line for line in project.calls.read_text().splitlines()[1:] if " pip " not in line] == [
        "python -m venv .venv",
        "python -m gpu_cluster.settings_check small nodes -- nodeType.image ami-1",
        "-C nodes stack select --create small",
        "-C nodes config set --stack small --path -- nodeType.image ami-1",
    ]
    project.run("set", "operators[0]", "user:me@example.com")
    assert project.changing() == ["nodes config set --path -- operators[0] user:me@example.com"]
    project.run("set", "gcp:project", "training")
    assert project.changing() == [f"{layer} config set -- gcp:project training" for layer in LAYERS]
    shown = project.run("set", "operators", "--secret", "--stack", "small", typed="-x9\n")
    assert project.calls.read_text().splitlines()[-2:] == [
        "-C nodes config set --stack small --secret -- operators",
        "by standard input: -x9",
    ]
    assert "config set --stack small --secret -- operators < [secret]" in shown.stderr
    assert "-x9" not in shown.stderr + shown.stdout
    for arguments, typed, said in (((), "", "no value of operators came"), (("x9",), "", "by standard input")):
        refused = project.run("set", "operators", "--secret", *arguments, typed=typed)
        assert (refused.returncode, said in refused.stderr, "x9" in refused.stderr) == (1, True, False)
    for key in ("url", "nodeTyp", "nodeType.imag", "clusterName.x"):
        assert f"declares the key {key}" in project.run("set", key, "x").stderr
        assert project.changing() == []


def test_a_value_that_no_program_takes_is_not_set(project: Project) -> None:
    """What the layers' programs refuse stops the command before a stack is made; of a secret, nothing is handed on."""
    with (project.folder / "nodes" / "Pulumi.yaml").open("a") as stream:
        stream.write("  nodeCount: {}\n  tags: {}\n")
    refused = project.run("set", "nodeCount", "abc", REFUSED="1")
    assert refused.returncode == 1
    assert "nothing was set; nodes/Pulumi.yaml says what each key means" in refused.stderr
    assert [line for line in project.calls.read_text().splitlines() if "stack" in line or "config" in line] == []
    assert project.run("set", "nodeCount", "--secret", typed="4", REFUSED="1").returncode == 0
    assert "settings_check" not in project.calls.read_text()
    assert project.run("set", "tags.owner", "me").returncode == 0
    assert project.changing() == ["nodes config set --path -- tags.owner me"]


@pytest.mark.parametrize("command", ["preview", "up"])
def test_a_configuration_that_no_program_takes_starts_nothing(project: Project, command: str) -> None:
    """Every layer's settings are read before the first layer starts; what removes does not need them."""
    refused = project.run(command, REFUSED="1")
    assert refused.returncode == 1
    assert "the configuration is not one to bring up; nothing was done" in refused.stderr
    assert "settings_check small foundation cluster nodes\n" in project.calls.read_text()
    assert project.changing() == []
    assert project.run("down", REFUSED="1").returncode == 0


def test_nothing_is_removed_where_nothing_is_up(project: Project) -> None:
    """Before the first `up` there is nothing to remove, to confirm or to replace, and Pulumi is not asked."""
    for command in (["down"], ["destroy"], ["destroy", "--with-data"]):
        done = project.run(*command, NEW="new")
        assert done.returncode == 0
        assert done.stderr.endswith("Nothing is up: there is nothing to remove.\n")
        assert "quota" not in done.stderr
        assert project.changing() == []
    refused = project.run("reimage", NEW="new")
    assert refused.returncode == 1
    assert "./cluster.sh up brings them up" in refused.stderr
    assert project.changing() == []


def test_reimage_is_the_clouds_own(project: Project) -> None:
    """The replacement of nodes is a rolling operation of the cloud, not of Pulumi."""
    assert project.run("reimage").returncode == 0
    assert project.calls.read_text().splitlines()[-1] == "reimage-stand-in small"


@pytest.mark.parametrize("shown", ['["group-1","group-2"]', '[\n  "group-1",\n  "group-2"\n]'])
def test_a_list_of_outputs_is_one_entry_a_line(project: Project, shown: str) -> None:
    """Lists are shown as JSON, on one line or on several."""
    with (project.folder / "cloud.sh").open("a") as stream:
        stream.write('reimage_nodes() { outputs nodes node_groups | while read -r group; do echo "<$group>"; done; }\n')
    assert project.run("reimage", OUTPUTS=shown).stdout == "<group-1>\n<group-2>\n"


def test_secrets_provider_and_organization(project: Project) -> None:
    """Stacks are made with the key of their file, and within the organization that the references name."""
    for layer in LAYERS:
        path = project.folder / layer / "Pulumi.small.yaml"
        text = path.read_text().replace("organization/aws", "my-company/aws")
        path.write_text(f"secretsprovider: awskms://alias/state\n{text}")
    assert project.run("up").returncode == 0
    calls = project.calls.read_text()
    assert "-C nodes stack select --create my-company/small --secrets-provider awskms://alias/state\n" in calls
    assert "-C nodes up --stack my-company/small\n" in calls


@pytest.mark.parametrize(
    ("change", "environment", "message"),
    [
        ("pulumi", {}, "pulumi is not on PATH"),
        ("stack", {}, "nodes/Pulumi.small.yaml is missing"),
        ("stacks", {}, "foundation/ holds no Pulumi.NAME.yaml"),
        ("second", {}, "choose one with --stack NAME"),
        ("", {"FAIL_ON": "whoami"}, "cannot reach the place of its state"),
        ("", {"NO_CREDENTIALS": "1"}, "no valid credentials"),
        ("", {"UNSET": "1"}, ""),
    ],
)
@pytest.mark.parametrize("command", ["up", "destroy"])
def test_what_is_missing_is_reported_before_anything_starts(
    project: Project, command: str, change: str, environment: dict[str, str], message: str
) -> None:
    """No layer is touched while a program, a stack's file, a value or a login is missing."""
    match change:
        case "pulumi":
            (project.folder.parent / "bin" / "pulumi").unlink()
        case "stack":
            (project.folder / "nodes" / "Pulumi.small.yaml").unlink()
        case "stacks":
            (project.folder / "foundation" / "Pulumi.small.yaml").unlink()
        case "second":
            shutil.copy(project.folder / "foundation/Pulumi.small.yaml", project.folder / "foundation/Pulumi.big.yaml")
    done = project.run(command, **environment)
    assert done.returncode == 1
    assert message in done.stderr
    assert project.changing() == []


@pytest.mark.parametrize(
    ("url", "provider", "environment", "message"),
    [
        (
            "https://api.pulumi.com",
            "",
            {"FAIL_ON": "whoami"},
            "log in to it with 'pulumi login https://api.pulumi.com'",
        ),
        ("s3://our-state", "", {"FAIL_ON": "whoami"}, "make the bucket once, log in to the cloud"),
        ("file://~/state", "", {"FAIL_ON": "whoami"}, "make that folder"),
        ("file://~", "", {}, "no passphrase for the secrets in the state: choose one"),
        ("s3://our-state", "passphrase", {}, "no passphrase for the secrets in the state: choose one"),
        ("file://~", "", {"PULUMI_CONFIG_PASSPHRASE": ""}, ""),
        ("file://~", "", {"PULUMI_CONFIG_PASSPHRASE_FILE": "/run/passphrase"}, ""),
        ("s3://our-state", "awskms://alias/state", {}, ""),
        ("https://api.pulumi.com", "", {}, ""),
        ("https://api.pulumi.com", "", {"PULUMI_BACKEND_URL": "file://~"}, "no passphrase"),
    ],
)
def test_a_new_account_is_told_what_to_do_first(
    project: Project, url: str, provider: str, environment: dict[str, str], message: str
) -> None:
    """Without a place for the state or a passphrase for its secrets nothing starts, and the fix is named."""
    with (project.folder / "foundation" / "Pulumi.yaml").open("a") as stream:
        stream.write(f"backend:\n  url: {url}\n")
    if provider:
        path = project.folder / "foundation" / "Pulumi.small.yaml"
        path.write_text(f"secretsprovider: {provider}\n{path.read_text()}")
    done = project.run("up", **environment)
    assert done.returncode == (1 if message else 0)
    assert message in done.stderr
    rule = "STA002" if "passphrase" in message else "STA001"
    place = "PULUMI_BACKEND_URL" if "PULUMI_BACKEND_URL" in environment else "foundation/Pulumi.yaml, backend.url"
    where = "foundation/Pulumi.small.yaml, secretsprovider" if rule == "STA002" else place
    assert (f"{rule}: {where}: " in done.stderr) == bool(message)
    assert bool(project.changing()) == (not message)


def test_the_state_s_owner_is_looked_at_before_every_command_but_status(project: Project) -> None:
    """Whatever changes or shows a cluster first asks whose the state is; `status` and `set` change nothing there."""
    for command in ("preview", "up", "down", "destroy", "reimage", "adopt"):
        project.run(command)
        asked = [line for line in project.calls.read_text().splitlines() if "gpu_cluster.identity" in line]
        assert asked == [f"python -m gpu_cluster.identity {command} small small "]
    for arguments in (("status",), ("set", "clusterName", "b")):
        project.run(*arguments)
        assert "gpu_cluster.identity" not in project.calls.read_text()


def test_a_foreign_state_stops_everything(project: Project) -> None:
    """No layer is touched where the state is another cluster's, or the cloud has one of that name."""
    done = project.run("up", FOREIGN="1")
    assert done.returncode == 1
    assert project.changing() == []
    with (project.folder / "cloud.sh").open("a") as stream:
        stream.write('resources_of_that_name() { printf "%s" "$NAMESAKES"; }\n')
    done = project.run("up", NEW="new", NAMESAKES="vpc-0a")
    assert done.returncode == 1
    assert "there is a cluster of this name in this place already" in done.stderr
    assert "vpc-0a" in done.stderr
    assert project.changing() == []
    assert project.run("up", NEW="new", NAMESAKES="").returncode == 0
    assert project.run("up", NEW="new", NAMESAKES="vpc-0a", CLUSTER_NAME_IS_FREE="yes").returncode == 0
    assert project.run("up", NAMESAKES="vpc-0a").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["up", "down"], "one command at a time"),
        (["down", "--with-data"], "--with-data belongs to destroy"),
        (["set", "nodeCount"], "set needs a key and a value"),
        (["ups"], "ups is not a command"),
        (["up", "--stack"], "--stack needs a value"),
    ],
)
def test_wrong_usage_is_refused(project: Project, arguments: list[str], message: str) -> None:
    """A slip of the keyboard calls nothing."""
    done = project.run(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert project.calls.read_text() == ""


#: Shows its options, and keeps the configuration of ssh that it was given.
SUBMIT = """printf '%s\\n' "$@"
while [ $# -gt 0 ]; do
  if [ "$1" = --ssh-config ]; then cp "$2" "$CALLS.ssh"; fi
  shift
done
"""
#: Listens where it is asked to, as Bastion's tunnel does.
TUNNEL = """#!/usr/bin/env python3
import socket, sys, time
if sys.argv[1:4] == ["network", "bastion", "tunnel"]:
    here = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
    open(__import__("os").environ["CALLS"] + ".tunnel", "w").write(str(__import__("os").getpid()))
    time.sleep(600)
"""
OUTPUTS = """#!/bin/sh
case "$*" in
  *connect*) echo "aws ssm start-session --region us-east-1 --target i-0123456789abcdef0" ;;
  *login_name*) echo gpt3-login ;;
  *bastion_name*) echo gpt3-bastion ;;
  *"stack output"*) echo some-output ;;
esac
"""
WAYS = {
    "aws": [
        "hostname i-0123456789abcdef0",
        (
            "proxycommand aws --region us-east-1 --profile team ssm start-session --target %h "
            "--document-name AWS-StartSSHSession --parameters portNumber=%p"
        ),
    ],
    "gcp": [
        "hostname gpt3-login",
        (
            "proxycommand gcloud compute start-iap-tunnel gpt3-login %p --listen-on-stdin --project p "
            "--zone us-central1-a --verbosity warning"
        ),
    ],
    "azure": ["hostname 127.0.0.1"],
}


def with_launch(project: Project, cloud: str) -> None:
    """Give a project a job, and its cloud's own way to the login machine."""
    (project.folder / "launch").mkdir()
    (project.folder / "launch" / "submit.sh").write_text(SUBMIT)
    for path in ("base/cloud.sh", "slurm/login.sh"):
        shutil.copy(assets.root() / "stacks" / cloud / path, project.folder)
    programs = {"pulumi": OUTPUTS, "az": TUNNEL, "aws": "#!/bin/sh\n", "gcloud": "#!/bin/sh\n"}
    (project.folder.parent / "bin" / "python3").unlink()
    for name, text in programs.items():
        program = project.folder.parent / "bin" / name
        program.write_text(text)
        program.chmod(0o755)
    values = {"aws": "aws:region: us-east-1\n  aws:profile: team", "gcp": "gcp:project: p", "azure": "x: y"}[cloud]
    (project.folder / "foundation" / "Pulumi.small.yaml").write_text(f"config:\n  {values}\n")
    with (project.folder / "cluster" / "Pulumi.small.yaml").open("a") as file:
        file.write("  gcp-gpu-cluster:zone: us-central1-a\n")


def ended(process: int) -> bool:
    """Return whether a process is gone, or only waits for somebody to ask for its status."""
    path = Path(f"/proc/{process}/stat")
    return not path.exists() or path.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("cloud", WAYS)
def test_submit_goes_through_the_clouds_own_way(project: Project, cloud: str) -> None:
    """As a user of the cluster, over ssh that no open port is needed for; options arrive word by word."""
    with_launch(project, cloud)
    done = project.run("submit", "--user", "alice", "--image", "a b", "--", "--seed", "$(id)")
    assert done.returncode == 0, done.stderr
    words = done.stdout.splitlines()
    assert (words[0:3], words[4:]) == (["--host", "login", "--ssh-config"], ["--image", "a b", "--", "--seed", "$(id)"])
    # ssh itself reads the configuration.
    read = subprocess.run(
        ["ssh", "-G", "-F", f"{project.calls}.ssh", "login"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"user alice", "hostkeyalias small-login", "stricthostkeychecking accept-new", *WAYS[cloud]} <= set(read)
    if cloud == "azure":
        assert any(re.fullmatch(r"port [23]\d{4}", line) for line in read)
        tunnel = int(Path(f"{project.calls}.tunnel").read_text())
        for _ in range(50):
            if ended(tunnel):
                break
            time.sleep(0.1)
        assert ended(tunnel)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--user", "root"], "root submits no jobs"),
        (["--user", "a b"], "is not the name of a user"),
        (["--user", "-oProxyCommand=id"], "is not the name of a user"),
    ],
)
def test_submit_refuses_users_that_are_none(project: Project, words: list[str], message: str) -> None:
    """What stands in a configuration of ssh is a name and nothing else."""
    with_launch(project, "aws")
    done = project.run("submit", *words)
    assert (done.returncode, message in done.stderr) == (1, True)


def test_submit_without_a_job_says_where_the_reason_is(project: Project) -> None:
    """A plan that Megatron-LM cannot run has no script, and its README says why."""
    done = project.run("submit", "--image", "a:1")
    assert (done.returncode, "launch/README.md says why" in done.stderr) == (1, True)


def test_help_of_submit_and_a_named_login_machine_need_no_state(project: Project) -> None:
    """Before the state has a place or a passphrase, the options of the job are shown; with --host nothing is asked."""
    with_launch(project, "aws")
    (project.folder.parent / "bin" / "pulumi").unlink()
    for words in (["--help"], ["--host", "ada@login", "--image", "a:1"]):
        done = project.run("submit", "--user", "ada", *words)
        assert (done.returncode, done.stdout.splitlines()) == (0, words), done.stderr
    assert "pulumi is not on PATH" in project.run("submit", "--image", "a:1").stderr


def test_kubectl_is_refused_where_slurm_is(project: Project) -> None:
    """There is no API server, and this computer's own Kubernetes is not asked instead."""
    with_launch(project, "azure")
    done = project.run("kubectl", "get", "nodes")
    assert done.returncode == 1
    assert "kubectl: this cluster runs Slurm" in done.stderr
    assert project.calls.read_text() == ""


def test_usage_needs_nothing(project: Project) -> None:
    """Help is shown without Pulumi; no command at all is a usage error."""
    usage = project.run("--help").stdout
    assert "destroy --with-data" in usage
    assert [line for line in usage.splitlines() if len(line) > 80] == []
    assert project.run().returncode == 2
    assert os.access(EVERY_CLOUD / "cluster.sh", os.X_OK)


@pytest.mark.parametrize(
    ("existing", "refused"),
    [
        ("    virtualNetworkId: /subscriptions/s/n", True),
        ('    virtualNetworkId: "/subscriptions/s/n"', True),
        ("    keyVaultId: /subscriptions/s/v", False),
        ('    virtualNetworkId: ""', False),
    ],
)
def test_bastion_of_an_existing_network_is_refused_before_anything_is_made(
    tmp_path: Path, existing: str, refused: bool
) -> None:
    """Nothing of the foundation leads into it, so that charts could not be installed from outside."""
    (tmp_path / "foundation").mkdir()
    file = tmp_path / "foundation" / "Pulumi.small.yaml"
    file.write_text(f"config:\n  azure-gpu-foundation:existingNetwork:\n{existing}\n")
    script = assets.root() / "stacks" / "azure" / "kubernetes" / "api_tunnel.sh"
    frame = 'fail() { echo "$1" >&2; exit 1; }; configured() { :; }; stack=small; . "$0"; require_api_tunnel'
    done = subprocess.run(["bash", "-c", frame, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 1, "apiFromOutside false" in done.stderr) == (refused, refused)


def test_the_scripts_run_with_bash_3() -> None:
    """Bash 3.2 is what macOS has: no `mapfile`, no associative arrays, and an empty array counts as unset."""
    stacks = assets.root() / "stacks"
    scripts = [
        *stacks.glob("*/cluster.sh"),
        *stacks.glob("*/*/cloud.sh"),
        *stacks.glob("*/*/reimage.sh"),
        *stacks.glob("*/*/login.sh"),
        *stacks.glob("*/*/api_tunnel.sh"),
    ]
    assert len(scripts) >= 6
    for script in scripts:
        text = script.read_text()
        assert not re.findall(r"\b(mapfile|readarray|declare -A|local -n)\b", text), script
        for name in re.findall(r"\b(\w+)=\(\)", text):
            if f'"${{{name}[@]}}"' in text.replace(f'+"${{{name}[@]}}"', ""):
                assert f"${{#{name}[@]}}" in text, f"{script}: {name} may be empty where it is expanded"
