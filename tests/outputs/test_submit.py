"""submit.sh with stand-ins for Slurm and ssh: what it refuses, what it hands to sbatch, and how it gets there."""

import os
import subprocess
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.folder import File
from clusterwright.outputs.training.job_settings import MEGATRON_COMMIT
from clusterwright.outputs.training.slurm import launch_files

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
IMAGE = "registry.example.com/team/megatron:1.0"
#: What a shell would do something with, were it to read it.
HOSTILE = "$(touch pwned) `touch pwned`; touch pwned | \" ' \\ * \n&& touch pwned"
STAND_INS = {
    "id": 'case $1 in -u) echo "${USER_ID:-1000}" ;; -un) echo alice ;; esac\n',
    "sbatch": 'printf "%s\\0" "$@" >"$SHOWN/sbatch"; env -0 >"$SHOWN/environment"\n'
    'case " $* " in *--test-only*) exit "${TEST_ONLY:-0}" ;; esac; echo "42;gpu"\n',
    # The command runs here as it would on a node, within the container that the options name.
    "srun": 'case $1 in --help) echo "${SRUN_HELP---container-image=}"; exit ;; esac\n'
    'printf "%s\\n" "$*" >>"$SHOWN/srun"\n'
    '[ -z "${NO_NODE:-}" ] || { echo "srun: error: Requested nodes are busy"; exit "$SLURM_EXIT_IMMEDIATE"; }\n'
    'for word; do case $word in --*) shift ;; *) break ;; esac; done; exec "$@"\n',
    "enroot": 'printf "%s\\0" "$@" >"$SHOWN/enroot"\n'
    '[ -z "${NO_INTERNET:-}" ] || { echo "curl: (28) timed out"; exit 1; }\n'
    'echo squash >"$3"\n',
    "torchrun": "exit 0\n",
    "python3": 'printf "%s\\n" "${PYTHON_SAYS:-}"\n',
    "ssh": 'printf "%s\\0" "$@" >"$SHOWN/ssh"; [ -z "${UNREACHABLE:-}" ] || exit 255\n'
    'cd / && exec bash -c "${@: -1}"\n',
    "git": 'printf "%s\\n" "$*" >>"$SHOWN/git"; [ -z "${NO_INTERNET:-}" ] || exit 128\n'
    'case "$*" in *checkout*) touch "$2/pretrain_gpt.py" ;; esac\n',
}


@pytest.fixture(scope="module")
def written() -> dict[str, File]:
    """Return the launch files of the shipped plan on AWS."""
    plan = plan_of(GPT3, None, "aws")
    return launch_files(plan, plan.options[0], load_catalogue())


class Cluster:
    """A machine with the launch folder, a shared file system, and stand-ins for the commands."""

    def __init__(self, root: Path, files: dict[str, File]) -> None:
        self.root, self.shared, self.shown = root, root / "shared", root / "shown"
        self.folder = root / "project" / "launch"
        for folder in (self.shared / "Megatron-LM", self.shown, self.folder, root / "bin"):
            folder.mkdir(parents=True)
        (self.shared / "Megatron-LM" / "pretrain_gpt.py").touch()
        for name, file in files.items():
            text = file.content.decode().replace("/shared", str(self.shared))
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755 if file.executable else 0o644)
        for name, body in STAND_INS.items():
            (root / "bin" / name).write_text(f"#!/bin/bash\n{body}")
            (root / "bin" / name).chmod(0o755)

    @property
    def launch(self) -> Path:
        """Where the launch files are for the nodes."""
        return self.shared / "launch" / "train-gpt3-175b"

    def submit(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run submit.sh without a terminal."""
        known = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "SHOWN": str(self.shown), "HOME": str(self.root)}
        return subprocess.run(
            [str(self.folder / "submit.sh"), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.root,
            env=known | environment,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    def words(self, command: str) -> list[str]:
        """Return the words that a command was last given; none if it never ran."""
        path = self.shown / command
        return path.read_text().split("\0")[:-1] if path.exists() else []

    def environment(self) -> dict[str, str]:
        """Return what the job's script would find in its environment."""
        return dict(entry.split("=", 1) for entry in self.words("environment"))


@pytest.fixture
def cluster(tmp_path: Path, written: dict[str, File]) -> Cluster:
    """Return a cluster that has everything but image and data."""
    return Cluster(tmp_path, written)


def test_a_job_is_checked_and_submitted_from_the_shared_folder(cluster: Cluster) -> None:
    """The folder goes to shared storage, one node looks and fetches the image, sbatch gets paths of every node."""
    result = cluster.submit("--image", IMAGE, "--", "--lr", "6e-5")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[:2] == ["job 42", f"log {cluster.launch}/train-gpt3-175b-42.log"]
    assert {path.name for path in cluster.launch.iterdir()} == {path.name for path in cluster.folder.iterdir()}
    assert cluster.words("sbatch") == [
        "--parsable",
        "--export=ALL",
        f"--chdir={cluster.launch}",
        f"--output={cluster.launch}/%x-%j.log",
        f"{cluster.launch}/train.sbatch",
        "--lr",
        "6e-5",
    ]
    file = f"{cluster.shared}/images/alice/registry.example.com+team+megatron+1.0.sqsh"
    assert cluster.words("enroot")[0] == "import"
    assert cluster.words("enroot")[-1] == "docker://registry.example.com#team/megatron:1.0"
    assert Path(file).read_text() == "squash\n"
    found = cluster.environment()
    assert (found["CONTAINER_IMAGE"], found["JOB_ENVIRONMENT"]) == (file, "container")
    assert found["LAUNCH_PATH"] == str(cluster.launch)
    # The second time the file is there already.
    (cluster.shown / "enroot").unlink()
    assert cluster.submit("--image", IMAGE).returncode == 0
    assert not cluster.words("enroot")


@pytest.mark.parametrize("folder", ["launch", "images", "checkpoints"])
def test_folders_of_all_users_are_as_tmp_is(cluster: Cluster, folder: str) -> None:
    """Who comes second has to get in too, and to remove nothing of the first."""
    assert cluster.submit("--image", IMAGE).returncode == 0
    assert (cluster.shared / folder).stat().st_mode & 0o7777 == 0o1777


def test_nothing_set_is_answered_with_what_to_set(cluster: Cluster) -> None:
    """Without an image there is a sentence with what it has to hold, which is known to hold it, and no sbatch."""
    result = cluster.submit()
    assert result.returncode == 1
    assert "no container image: --image REGISTRY/NAME:TAG, with PyTorch 2.6 or newer" in result.stderr
    assert "nvcr.io/nvidia/pytorch:" in result.stderr
    assert not cluster.words("sbatch")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--image", "team/megatron"], ["team/megatron names no version"]),
        (["--image", "team/megatron:latest"], ["names no version"]),
        (["--image", "docker://team/megatron:1"], ["is not the name of an image"]),
        (["--image", HOSTILE], ["is not the name of an image"]),
        (["--image", "/home/alice/a.sqsh"], ["--image /home/alice/a.sqsh is not on the shared file system"]),
        (["--image", "./a.sqsh"], ["is not an absolute path"]),
        (["--venv", "venv"], ["--venv venv is not an absolute path"]),
        (
            ["--image", IMAGE, "--data", "corpus"],
            ["--data corpus is not an absolute path", "without --tokenizer", "--lr"],
        ),
        (["--image", IMAGE, "--lr", "fast"], ["--lr fast is not a number"]),
        (["--image", IMAGE, "--checkpoints", "/tmp/x"], ["--checkpoints /tmp/x is not on the shared"]),  # noqa: S108
        (
            ["--venv", "/opt/venv", "--megatron", "/opt/megatron"],
            ["--venv /opt/venv is not", "--megatron /opt/megatron is not"],
        ),
    ],
)
def test_what_no_node_could_use_is_refused_at_once(cluster: Cluster, words: list[str], said: list[str]) -> None:
    """Every reason together, before anything is copied."""
    result = cluster.submit(*words)
    assert result.returncode == 1
    for sentence in said:
        assert sentence in result.stderr, result.stderr
    assert not cluster.launch.exists()
    assert not cluster.words("sbatch")


def test_nodes_without_internet_are_asked_for_nothing_of_it(cluster: Cluster) -> None:
    """Where the blueprint says so, public registries and names of Hugging Face are refused, the own registry is not."""
    plan = plan_of(GPT3, ["cluster.jobs.internet=false"], "aws")
    known = launch_files(plan, plan.options[0], load_catalogue())["job.env"].content.decode()
    (cluster.folder / "job.env").write_text(known.replace("/shared", str(cluster.shared)))
    for image, registry in (("nvcr.io/nvidia/pytorch:26.04-py3", "nvcr.io"), ("team/megatron:1", "docker.io")):
        result = cluster.submit("--image", image, "--tokenizer", "gpt2")
        assert result.returncode == 1
        assert f"--image {image} is in the public registry {registry}, and the nodes reach no internet" in result.stderr
        assert "--tokenizer gpt2 is a name of Hugging Face" in result.stderr
    assert not cluster.words("sbatch")
    assert cluster.submit("--image", IMAGE).returncode == 0
    assert cluster.submit("--image", "10.0.0.5:5000/team/megatron:1").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--image"], "--image needs a value"),
        (["--image", IMAGE, "--venv", "/x"], "one of --image, --venv and --modules"),
        (["--imagee", IMAGE], "--imagee is not an option"),
        (["--folder", "/tmp/launch"], "is not on the shared file system"),  # noqa: S108
        (["--folder", "/shared/a b"], "a path of letters, digits"),
        (["--folder", "/shared/../etc"], "a path of letters, digits"),
        (["--image", IMAGE, "--host", "-oProxyCommand=touch pwned"], "is not a host"),
    ],
)
def test_wrong_usage_has_a_status_of_its_own(cluster: Cluster, words: list[str], said: str) -> None:
    """2, with what is wrong."""
    words = [word.replace("/shared", str(cluster.shared)) for word in words]
    result = cluster.submit(*words)
    assert (result.returncode, said in result.stderr) == (2, True), result.stderr
    assert not cluster.words("sbatch")


def test_what_is_missing_on_the_cluster_is_listed_whole(cluster: Cluster) -> None:
    """Megatron-LM, both files of the data, tokenizer, image and Pyxis: one list, each with what to do."""
    (cluster.shared / "Megatron-LM" / "pretrain_gpt.py").unlink()
    at = cluster.shared
    result = cluster.submit(
        "--image",
        f"{at}/images/none.sqsh",
        "--data",
        f"{at}/corpus",
        "--tokenizer",
        f"{at}/tokenizer",
        "--lr",
        "6e-5",
        SRUN_HELP="",
    )
    assert result.returncode == 1
    for said in (
        f"there is no {at}/Megatron-LM/pretrain_gpt.py: --get-megatron",
        f"there is no {at}/corpus.bin",
        f"there is no {at}/corpus.idx",
        f"there is no tokenizer {at}/tokenizer",
        f"there is no image {at}/images/none.sqsh",
        "Pyxis is not installed",
    ):
        assert said in result.stderr, said
    assert not cluster.words("sbatch")


def test_megatron_is_fetched_by_its_commit(cluster: Cluster) -> None:
    """A tag could be moved; where there is no internet, the sentence names commit and folder."""
    (cluster.shared / "Megatron-LM" / "pretrain_gpt.py").unlink()
    refused = cluster.submit("--image", IMAGE, "--get-megatron", NO_INTERNET="yes")
    assert refused.returncode == 1
    assert f"copy commit {MEGATRON_COMMIT} to {cluster.shared}/Megatron-LM yourself" in refused.stderr
    fetched = cluster.submit("--image", IMAGE, "--get-megatron")
    assert fetched.returncode == 0, fetched.stderr
    assert (cluster.shared / "Megatron-LM" / "pretrain_gpt.py").exists()
    assert f"fetch --quiet --depth 1 https://github.com/NVIDIA/Megatron-LM.git {MEGATRON_COMMIT}" in (
        (cluster.shown / "git").read_text()
    )


def test_an_image_that_nodes_cannot_fetch_is_refused(cluster: Cluster) -> None:
    """A cluster without internet is told of the file on shared storage, with Enroot's own last words."""
    result = cluster.submit("--image", IMAGE, NO_INTERNET="yes")
    assert result.returncode == 1
    assert "a node could not fetch registry.example.com/team/megatron:1.0: curl: (28) timed out" in result.stderr
    assert "Nodes without internet reach no public registry: import the image elsewhere" in result.stderr
    assert not list((cluster.shared / "images").rglob("*.sqsh"))
    assert not cluster.words("sbatch")


def test_a_folder_that_only_this_machine_sees_is_refused(cluster: Cluster) -> None:
    """The node looks for a file that was just written; one that is not there is another file system."""
    (cluster.root / "bin" / "cat").write_text(
        f'#!/bin/bash\ncase $1 in {cluster.launch}/.seen-by-*) exit 1 ;; esac\nexec /bin/cat "$@"\n'
    )
    (cluster.root / "bin" / "cat").chmod(0o755)
    result = cluster.submit("--image", IMAGE)
    assert result.returncode == 1
    assert f"a node does not see {cluster.launch} as this machine does" in result.stderr
    assert not cluster.words("sbatch")


def test_what_the_environment_lacks_is_named(cluster: Cluster) -> None:
    """A package that no node finds, and a module that does not load."""
    lacking = cluster.submit("--image", IMAGE, PYTHON_SAYS="missing: Python package transformer_engine")
    assert lacking.returncode == 1
    assert "Python package transformer_engine is not in the job's environment (container)" in lacking.stderr
    modules = cluster.submit("--modules", "cuda/12.8,none")
    assert modules.returncode == 1
    assert "module load cuda/12.8 failed" in modules.stderr
    assert not cluster.words("sbatch")


def test_a_full_cluster_is_no_reason_to_refuse(cluster: Cluster) -> None:
    """What could not be looked at is called unchecked; the job is submitted with the name of the image."""
    result = cluster.submit("--image", IMAGE, NO_NODE="yes")
    assert result.returncode == 0, result.stderr
    assert "Not checked: no node became free" in result.stderr
    assert cluster.environment()["CONTAINER_IMAGE"] == IMAGE


def test_check_submits_nothing(cluster: Cluster) -> None:
    """Everything but the last step, and Slurm's opinion of the directives."""
    result = cluster.submit("--image", IMAGE, "--check")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert "--test-only" in cluster.words("sbatch")
    refused = cluster.submit("--image", IMAGE, "--check", TEST_ONLY="1")
    assert (refused.returncode, "Slurm would not start the job" in refused.stderr) == (1, True)


def test_root_submits_nothing(cluster: Cluster) -> None:
    """Nodes know the users; a job of root's would own the folders that users need."""
    result = cluster.submit("--image", IMAGE, USER_ID="0")
    assert (result.returncode, "root submits no jobs" in result.stderr) == (1, True)
    assert not cluster.launch.exists()


def test_a_folder_of_another_user_is_refused_with_a_name_of_its_own(cluster: Cluster) -> None:
    """Two users of one plan do not share a folder; the sentence has the option that helps."""
    cluster.launch.parent.mkdir()
    cluster.launch.touch()
    result = cluster.submit("--image", IMAGE)
    assert result.returncode == 1
    assert f"--folder {cluster.launch}-alice" in result.stderr
    own = cluster.submit("--image", IMAGE, "--folder", f"{cluster.launch}-alice")
    assert own.returncode == 0, own.stderr
    assert f"--chdir={cluster.launch}-alice" in cluster.words("sbatch")


def test_nobody_else_exchanges_script_or_image(cluster: Cluster) -> None:
    """A folder that others may write to holds neither: one is refused, the image goes beside the script."""
    (cluster.shared / "images" / "alice").mkdir(parents=True)
    (cluster.shared / "images" / "alice").chmod(0o777)
    planted = cluster.shared / "images" / "alice" / "registry.example.com+team+megatron+1.0.sqsh"
    planted.write_text("of somebody else")
    assert cluster.submit("--image", IMAGE).returncode == 0
    assert cluster.environment()["CONTAINER_IMAGE"] == str(cluster.launch / planted.name)
    cluster.launch.chmod(0o777)
    refused = cluster.submit("--image", IMAGE)
    assert (refused.returncode, "is not a folder that only alice writes to" in refused.stderr) == (1, True)
    linked = cluster.launch.with_name("linked")
    linked.symlink_to(cluster.shared / "Megatron-LM")
    assert cluster.submit("--image", IMAGE, "--folder", str(linked)).returncode == 1


def test_another_machine_reaches_the_cluster_by_ssh_alone(cluster: Cluster) -> None:
    """Files and options travel as one archive: no shell in between reads a value, whatever is in it."""
    tokenizer = f"{cluster.shared}/{HOSTILE.replace('/', '')}"
    (cluster.shared / HOSTILE.replace("/", "")).touch()
    for part in ("bin", "idx"):
        Path(f"{tokenizer}.{part}").touch()
    result = cluster.submit(
        "--host",
        "alice@login",
        "--ssh-config",
        "my config",
        "--image",
        IMAGE,
        "--data",
        tokenizer,
        "--tokenizer",
        tokenizer,
        "--",
        "--lr",
        "6e-5",
        "--seed",
        HOSTILE,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("job 42\n")
    assert cluster.words("ssh")[:3] == ["-F", "my config", "alice@login"]
    assert cluster.words("sbatch")[-4:] == ["--lr", "6e-5", "--seed", HOSTILE]
    found = cluster.environment()
    assert found["DATA_PATH"] == found["TOKENIZER_MODEL"] == tokenizer
    assert not list(cluster.root.rglob("pwned"))
    assert not (cluster.launch / "submit-words").exists()


def test_a_host_that_ssh_does_not_reach_says_so(cluster: Cluster) -> None:
    """Status 255 is ssh's own; the sentence names what is mostly missing."""
    result = cluster.submit("--host", "login", "--image", IMAGE, UNREACHABLE="yes")
    assert (result.returncode, "ssh did not reach login; is your public key" in result.stderr) == (255, True)


def test_without_slurm_the_login_machine_is_asked_for(cluster: Cluster) -> None:
    """On a workstation the script says which option it needs."""
    (cluster.root / "bin" / "sbatch").unlink()
    path = f"{cluster.root / 'bin'}:/usr/bin:/bin"
    if any((Path(folder) / "sbatch").exists() for folder in path.split(":")):
        for name in ("bash", "dirname", "mktemp", "cp", "tar", "cat", "rm", "mkdir", "tr"):
            (cluster.root / "bin" / name).symlink_to(f"/usr/bin/{name}")
        path = str(cluster.root / "bin")
    result = subprocess.run(
        ["/bin/bash", str(cluster.folder / "submit.sh"), "--image", IMAGE],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": path, "SHOWN": str(cluster.shown)},
        stdin=subprocess.DEVNULL,
    )
    assert (result.returncode, "--host [USER@]HOST" in result.stderr) == (1, True), result.stderr
