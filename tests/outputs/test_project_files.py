"""Overlays of a project: what is laid over what, what is refused, what stays behind."""

import re
import sys
from pathlib import Path

import pytest

from clusterwright import assets, directory_settings, user_list
from clusterwright.errors import ClusterwrightError
from clusterwright.outputs.project import example as example_project
from clusterwright.outputs.project.files import SCHEDULERS, project_files


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of small overlays that stands in for the shipped ones."""
    for path, content in {
        "every_cloud/requirements.txt": "-e .\n",
        "every_cloud/cluster.sh": "every cloud",
        "aws/base/requirements.txt": "pulumi-aws\n",
        "aws/base/foundation/Pulumi.example.yaml": "config: {}",
        "aws/base/gpu_cluster/__pycache__/network.pyc": "",
        "aws/base/.venv/bin/python": "",
        "aws/base/README.md": "# A\n",
        "aws/slurm/README.md": "# B\n",
        "aws/slurm/gpu_cluster/slurm/__init__.py": "",
        "aws/kubernetes/requirements.txt": "pulumi-kubernetes\n",
    }.items():
        (target := tmp_path / "stacks" / path).parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    (tmp_path / "stacks" / "every_cloud" / "cluster.sh").chmod(0o755)
    for name in ("bootstrap.sh", "secret_aws.sh", "secret_gcp.sh", "secret_azure.sh", "secret_local.sh"):
        (target := tmp_path / "templates" / "node" / name).parent.mkdir(parents=True, exist_ok=True)
        target.write_text("")
    monkeypatch.setattr(assets, "root", lambda: tmp_path)
    return tmp_path / "stacks"


@pytest.mark.usefixtures("stacks")
def test_overlays_are_laid_over_each_other() -> None:
    """Slurm gets its own overlay and the boot scripts with the own cloud's secret store; caches stay behind."""
    files = project_files("aws", "slurm")
    assert set(files) == {
        "README.md",
        "cluster.sh",
        "foundation/Pulumi.example.yaml",
        "gpu_cluster/slurm/__init__.py",
        "gpu_cluster/directory_settings.py",
        "gpu_cluster/user_list.py",
        "node/bootstrap.sh",
        "node/secret_aws.sh",
        "requirements.txt",
    }
    # Users and directory are checked by the same rules in the blueprint and in the stacks.
    assert files["gpu_cluster/user_list.py"].content == Path(user_list.__file__).read_bytes()
    assert files["gpu_cluster/directory_settings.py"].content == Path(directory_settings.__file__).read_bytes()
    assert files["cluster.sh"].executable
    assert files["requirements.txt"].content == b"-e .\npulumi-aws\n"
    assert files["README.md"].content == b"# A\n\n# B\n"


@pytest.mark.usefixtures("stacks")
def test_kubernetes_has_no_boot_scripts() -> None:
    """Kubernetes gets its own overlay instead, and adds its requirements at the end."""
    files = project_files("aws", "kubernetes")
    assert not [path for path in files if path.startswith("node/")]
    assert files["requirements.txt"].content == b"-e .\npulumi-aws\npulumi-kubernetes\n"


def test_a_path_belongs_to_one_overlay(stacks: Path) -> None:
    """Two overlays with one path would hide one of the files."""
    (stacks / "aws" / "slurm" / "cluster.sh").write_text("Slurm")
    with pytest.raises(ClusterwrightError, match=r"stacks/aws/slurm holds cluster\.sh"):
        project_files("aws", "slurm")


@pytest.mark.usefixtures("stacks")
def test_example_project_has_a_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each layer's example is the configuration of the stack `small`, and programs stay programs."""
    monkeypatch.setattr(sys, "argv", ["example_project", "aws", "slurm", str(tmp_path / "out")])
    example_project.main()
    assert (tmp_path / "out" / "foundation" / "Pulumi.small.yaml").read_text() == "config: {}"
    assert not (tmp_path / "out" / "foundation" / "Pulumi.example.yaml").exists()
    assert (tmp_path / "out" / "cluster.sh").stat().st_mode & 0o111


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_versions_are_those_that_the_stacks_are_tested_with(cloud: str) -> None:
    """A project's exact versions do not drift from the stacks' environment, and everything it asks for has one."""
    root = assets.root()
    tested = exact_versions((root / "constraints-stacks.txt").read_text()).keys()
    for scheduler in SCHEDULERS:
        files = project_files(cloud, scheduler)
        asked: set[str] = set()
        for name in ("requirements", "requirements-dev"):
            asked |= {*re.findall(r"^([a-z][\w-]*)[<>=]", files[f"{name}.txt"].content.decode(), re.MULTILINE)}
            exact = exact_versions(files[f"{name.replace('requirements', 'constraints')}.txt"].content.decode())
            assert exact.keys() <= tested
            assert {line.partition("==")[0] for line in exact} >= asked


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-dev.txt", "policy/constraints.txt"])
@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_every_version_has_the_hashes_of_its_files(cloud: str, name: str) -> None:
    """Nothing is installed whose hash is not in the file, and no file names where packages come from."""
    text = project_files(cloud, "slurm")[name].content.decode()
    assert "://" not in text
    assert all(exact_versions(text).values())


def exact_versions(text: str) -> dict[str, list[str]]:
    """Return the lines with a version, without what continues them, and the SHA-256 hashes of each."""
    entries = text.replace("\\\n", " ").splitlines()
    return {
        line.partition(" --hash")[0].strip(): re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
        for line in entries
        if "==" in line
    }


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_boot_scripts_of_a_directory_come_with_one_alone(cloud: str) -> None:
    """Without a directory machines boot with the scripts that they had; with one, a step after the users is new."""
    plain, joined = (project_files(cloud, "slurm", with_directory=one) for one in (False, True))
    assert not [path for path in plain if path.startswith("node/users_directory")]
    assert {path.removeprefix("node/users_directory") for path in set(joined) - set(plain)} == {
        ".md",
        ".sh",
        "_logins.sh",
        "_password.sh",
    }
    assert {path for path in plain if plain[path] != joined[path]} == {"node/bootstrap.sh"}
    before, after = (files["node/bootstrap.sh"].content.decode().splitlines() for files in (plain, joined))
    step = 'bash "$here/users_directory.sh"'
    assert [line for line in after if line != step] == before
    assert after[after.index(step) - 1] == 'bash "$here/users.sh"'
    assert not [path for path in project_files(cloud, "kubernetes", with_directory=True) if "directory" in path]


@pytest.mark.parametrize("cloud", ["aws", "azure"])
def test_scripts_of_nvlink_domains_come_with_them_alone(cloud: str) -> None:
    """Nodes tell Slurm their domain, and jobs have whole nodes; other projects keep the scripts that they had."""
    plain, joined = (project_files(cloud, "slurm", with_domains=one) for one in (False, True))
    assert set(joined) - set(plain) == {
        "node/imex.sh",
        "node/nvlink_domains.md",
        f"node/transport_{cloud}.sh",
    }
    changed = {
        path: [
            line
            for line in joined[path].content.decode().splitlines()
            if line not in plain[path].content.decode().splitlines()
        ]
        for path in plain
        if plain[path] != joined[path]
    }
    limits = "Default=YES MaxTime=INFINITE"
    assert changed == {
        "node/compute.sh": ['description="Feature=$CLUSTER_PARTITION,$(bash "$transport" domain)"'],
        "node/slurm_conf.sh": [
            f'{" " * 8}"PartitionName=$partition Nodes=$partition {limits} OverSubscribe=EXCLUSIVE State=UP"'
        ],
    }
    # compute.sh knows the script by then.
    written = joined["node/compute.sh"].content.decode()
    assert written.index("transport=") < written.index('"$transport" domain')
    assert project_files(cloud, "kubernetes", with_domains=True) == project_files(cloud, "kubernetes")


def test_google_cloud_has_its_own_transport() -> None:
    """Its stack refuses nodes in NVLink domains of several nodes; the script of its fabrics stays."""
    assert project_files("gcp", "slurm", with_domains=True) == project_files("gcp", "slurm")
