"""Software and data of jobs: an image that can be named again, one environment, and paths that every node sees."""

import re
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError, Problem
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Jobs
from clusterwright.catalog.load import load as load_catalogue

#: Rules by what they say; the others are JOB004.
IDS = {
    "not on the shared file system": "JOB003",
    "not an absolute path": "JOB005",
    "not a plain path": "JOB005",
    "neither a path nor a name": "JOB006",
    "not the name of a module": "JOB006",
    "without the tokenizer": "JOB007",
    "belongs to environment: container": "JOB007",
    "belongs to environment: venv": "JOB007",
    "belongs to environment: modules": "JOB007",
}
DIGEST = "sha256:" + "0123456789abcdef" * 4
SLURM = "{instance: p5.48xlarge, region: us-east-1}"
KUBERNETES = "{instance: p5.48xlarge, region: us-east-1, scheduler: kubernetes}"


def blueprint(tmp_path: Path, jobs: str, target: str = SLURM) -> Path:
    """Return a blueprint's file with these settings of jobs."""
    path = tmp_path / "blueprint.yaml"
    path.write_text(
        "name: small\n"
        "workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}\n"
        f"targets:\n  aws: {target}\n"
        f"cluster:\n  jobs: {{{jobs}}}\n"
    )
    return path


def problems(tmp_path: Path, jobs: str, target: str = SLURM) -> list[Problem]:
    """Return what is wrong with these settings."""
    try:
        found = resolve(load(blueprint(tmp_path, jobs, target)).blueprint, load_catalogue())
    except BlueprintError as error:
        return list(error.problems)
    return [] if isinstance(found, Resolved) else list(found)


@pytest.mark.parametrize(
    "image",
    [
        "nvcr.io/nvidia/pytorch:26.04-py3",
        "registry.example.com:5000/team/megatron:1.0",
        "localhost:5000/megatron:1",
        "library/python:3.12",
        "ubuntu:24.04",
        f"nvcr.io/nvidia/pytorch@{DIGEST}",
        f"nvcr.io/nvidia/pytorch:26.04-py3@{DIGEST}",
        "/shared/images/megatron.sqsh",
    ],
)
def test_images_of_registries_and_squash_files(tmp_path: Path, image: str) -> None:
    """The forms of the distribution specification, and a file of Enroot's on shared storage."""
    assert problems(tmp_path, f'image: "{image}"') == []


@pytest.mark.parametrize(
    ("jobs", "field", "said"),
    [
        ("image: nvcr.io/nvidia/pytorch", "image", "names no version"),
        ("image: nvcr.io/nvidia/pytorch:latest", "image", "changes with every release"),
        ('image: "nvcr.io#nvidia/pytorch:26.04-py3"', "image", "not the name of an image as registries have it"),
        ("image: docker://nvcr.io/nvidia/pytorch:1", "image", "not the name of an image as registries have it"),
        ("image: Team/Megatron:1", "image", "not the name of an image"),
        ('image: "team/megatron:1; rm -rf /"', "image", "not the name of an image"),
        ('image: "$(id)/x:1"', "image", "not the name of an image"),
        ("image: images/../x:1", "image", "not the name of an image"),
        (f"image: team/megatron@{DIGEST[:-1]}", "image", "not the name of an image"),
        ("image: /home/me/megatron.sqsh", "image", "not on the shared file system"),
        ("image: /shared/images/megatron.tar", "image", "not a squash file"),
        ("image: ./megatron.sqsh", "image", "not an absolute path"),
        ("data: datasets/corpus", "data", "not an absolute path"),
        ("data: /data/corpus, tokenizer: gpt2", "data", "not on the shared file system"),
        ("data: /shared/../etc/passwd, tokenizer: gpt2", "data", "not a plain path"),
        ('data: "/shared/a b", tokenizer: gpt2', "data", "not a plain path"),
        ("data: /shared, tokenizer: gpt2", "data", "not on the shared file system"),
        ("data: /sharedx/corpus, tokenizer: gpt2", "data", "not on the shared file system"),
        ("data: /shared/corpus", "data", "without the tokenizer"),
        ("tokenizer: /opt/gpt2", "tokenizer", "not on the shared file system"),
        ('tokenizer: "a/b/c"', "tokenizer", "neither a path nor a name"),
        ("environment: venv, megatron: /opt/Megatron-LM", "megatron", "not on the shared file system"),
        ("megatron: Megatron-LM", "megatron", "not an absolute path"),
        ("checkpoints: s3://bucket/x", "checkpoints", "not an absolute path"),
        ("environment: venv, image: team/megatron:1", "image", "belongs to environment: container"),
        ("environment: modules, venv: /shared/venv", "venv", "belongs to environment: venv"),
        ("modules: [cuda/12.8]", "modules", "belongs to environment: modules"),
        ('environment: modules, modules: ["cuda;id"]', "modules", "not the name of a module"),
        ("environment: venv, venv: /home/me/venv", "venv", "not on the shared file system"),
    ],
)
def test_what_no_node_could_use_is_refused(tmp_path: Path, jobs: str, field: str, said: str) -> None:
    """At the key, with what to do; what could reach a shell as more than a name is no name."""
    found = problems(tmp_path, jobs)
    assert [problem.path[:3] for problem in found] == [("cluster", "jobs", field)]
    assert said in found[0].message
    assert found[0].help
    assert found[0].id == IDS.get(said, "JOB004")


@pytest.mark.parametrize(
    "image", ["nvcr.io#nvidia/pytorch:26.04-py3", "docker://nvcr.io#nvidia/pytorch:26.04-py3", "oci://a.b:5000#c/d:1"]
)
def test_the_name_that_registries_have_is_given(tmp_path: Path, image: str) -> None:
    """Whoever copies a name from Enroot's examples is told the same one as the blueprint takes it."""
    (found,) = problems(tmp_path, f'image: "{image}"')
    assert found.help.startswith("write ")
    assert problems(tmp_path, f'image: "{found.help.removeprefix("write ")}"') == []


def test_images_of_the_text_are_those_that_are_taken(tmp_path: Path) -> None:
    """The nodes' README names images as the blueprint takes them, and with # only what Slurm's own option is given."""
    text = (assets.root() / "templates" / "node" / "README.md").read_text()
    named = re.findall(r"`(nvcr\.io[^`]*)`", text)
    taken = [image for image in named if "#" not in image]
    assert taken
    for image in taken:
        assert problems(tmp_path, f'image: "{image}"') == []
    for image in set(named) - set(taken):
        assert image.replace("#", "/", 1) in taken
        assert re.search(rf"--container-image[^.]*`{re.escape(image)}`", text)


@pytest.mark.parametrize("environment", ["podman", "venvs", "1"])
def test_environments_are_three(tmp_path: Path, environment: str) -> None:
    """The other ways to find software have no support in the launch files."""
    assert [problem.path for problem in problems(tmp_path, f"environment: {environment}")] == [
        ("cluster", "jobs", "environment")
    ]


@pytest.mark.parametrize(
    ("jobs", "field"),
    [
        ("environment: venv", "environment"),
        ("environment: modules", "environment"),
        ("image: /shared/images/megatron.sqsh", "image"),
    ],
)
def test_kubernetes_runs_images_of_registries(tmp_path: Path, jobs: str, field: str) -> None:
    """A pod has no login shell to activate anything in, and its runtime reads no squash file."""
    assert problems(tmp_path, jobs) == []
    found = problems(tmp_path, jobs, KUBERNETES)
    assert [problem.path for problem in found] == [("cluster", "jobs", field)]
    assert (found[0].id, "Kubernetes" in found[0].message) == ("JOB008", True)


EVERYTHING = (
    "environment: venv, image: nvcr.io/nvidia/pytorch:1, modules: [cuda/12.8], megatron: /opt/Megatron-LM, "
    "data: /shared/corpus, internet: false"
)


def test_mistakes_of_several_keys_are_reported_at_once(tmp_path: Path) -> None:
    """Keys of other environments, Megatron-LM out of reach, data without tokenizer, an image out of reach: all six."""
    expected = [
        ("JOB007", "image"),
        ("JOB007", "modules"),
        ("JOB003", "megatron"),
        ("JOB008", "environment"),
        ("JOB007", "data"),
        ("JOB001", "image"),
    ]
    assert [(one.id, one.path[2]) for one in problems(tmp_path, EVERYTHING, KUBERNETES)] == expected
    also = problems(tmp_path, f"{EVERYTHING}, checkpoints: here, learning_rate: 8", KUBERNETES)
    assert {(one.id, one.path[2]) for one in also} == {
        *expected,
        ("JOB005", "checkpoints"),
        ("JOB011", "learning_rate"),
    }
    assert len(also) == len(expected) + 2
    assert all(one.help and one.position for one in also)


@pytest.mark.parametrize(
    ("jobs", "rule"),
    [
        ("environment: podman, venv: /shared/venv", "JOB011"),
        ("environment: [venv], image: team/megatron:1", "JOB011"),
        ("data: /shared/corpus, tokenizer: /opt/gpt2", "JOB003"),
    ],
)
def test_of_a_value_that_cannot_be_read_nothing_is_concluded(tmp_path: Path, jobs: str, rule: str) -> None:
    """A word that is no environment is one mistake, not another for each key of the environment that was meant."""
    assert [one.id for one in problems(tmp_path, jobs)] == [rule]


@pytest.mark.parametrize(
    ("rule", "wrong", "right"),
    [
        ("JOB009", "image: 5", 'image: "5:1"'),
        ("JOB009", "tokenizer: [gpt2]", "tokenizer: gpt2"),
        ("JOB009", "internet: 7", "internet: true"),
        ("JOB009", "data: null, checkpoints: {a: 1}", "data: null, checkpoints: /shared/a"),
        ("JOB010", "images: team/megatron:1", "image: team/megatron:1"),
        ("JOB011", "environment: podman", "environment: container"),
        ("JOB011", "learning_rate: 8", "learning_rate: 1"),
        ("JOB011", "learning_rate: 0", "learning_rate: 6e-5"),
        ("JOB011", "environment: modules, modules: []", "environment: modules, modules: [cuda/12.8]"),
    ],
)
def test_mistakes_of_form_have_an_id(tmp_path: Path, rule: str, wrong: str, right: str) -> None:
    """A value of another type, an unknown key, a value out of its bounds: each with id, place and what to do."""
    (found,) = problems(tmp_path, wrong)
    assert (found.id, found.path[:2]) == (rule, ("cluster", "jobs"))
    assert found.help
    assert found.position
    assert problems(tmp_path, right) == []


def test_an_image_may_hold_megatron_itself(tmp_path: Path) -> None:
    """Vendors' images have it in a folder of their own, which no shared file system needs to hold."""
    assert problems(tmp_path, "image: team/megatron:1, megatron: /opt/megatron-lm") == []


@pytest.mark.parametrize(
    ("jobs", "rule", "said"),
    [
        ("image: nvcr.io/nvidia/pytorch:26.04-py3", "JOB001", "the public registry nvcr.io"),
        ("image: ghcr.io/team/megatron:1", "JOB001", "the public registry ghcr.io"),
        ("image: us-docker.pkg.dev/team/r/megatron:1", "JOB001", "the public registry us-docker.pkg.dev"),
        ("image: team/megatron:1", "JOB001", "the public registry docker.io"),
        ("image: ubuntu:24.04", "JOB001", "the public registry docker.io"),
        ("tokenizer: openai-community/gpt2", "JOB002", "a name of Hugging Face"),
        ("image: registry.example.com/team/megatron:1", "", ""),
        ('image: "10.0.0.5:5000/team/megatron:1"', "", ""),
        ("image: /shared/images/megatron.sqsh, tokenizer: /shared/tokenizers/gpt2", "", ""),
    ],
)
def test_nodes_without_internet_fetch_nothing_from_it(tmp_path: Path, jobs: str, rule: str, said: str) -> None:
    """Public registries and Hugging Face are out of reach; files and registries of the own network are not."""
    assert problems(tmp_path, jobs) == []
    found = problems(tmp_path, f"internet: false, {jobs}")
    assert [problem.id for problem in found] == ([rule] if rule else [])
    assert all(said in problem.message and problem.help for problem in found)


def test_settings_are_optional() -> None:
    """Without any, jobs use a container whose image is asked for on submission."""
    jobs = Jobs()
    assert (jobs.environment, jobs.image, jobs.data) == ("container", None, None)
    assert jobs.megatron == "/shared/Megatron-LM"
