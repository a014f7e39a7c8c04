"""What has no version is a warning: packages and snaps of boot scripts, add-ons, what is fetched elsewhere."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.catalog.load import load
from clusterwright.checks.preflight.files.reading import read_project
from clusterwright.checks.preflight.results import Outcome
from clusterwright.checks.preflight.scripts.versions import versions_named
from clusterwright.checks.preflight.subject import Subject
from clusterwright.pricing.book import PriceBook
from tests.stacks.projects import stacks_python

from .planting import Edit, preflight, write

SCRIPT = "node/login.sh"


@pytest.fixture
def versions(tmp_path: Path) -> Callable[..., list[tuple[str, str]]]:
    """Return a function that gives status and message of what the check says of a Slurm project with an edit."""

    def said(changed: Edit | None = None, *, cloud: str = "aws") -> list[tuple[str, str]]:
        write(cloud, "slurm", tmp_path)
        if changed is not None:
            changed.apply(tmp_path)
        subject = Subject(project=read_project(tmp_path, manifest="none"), catalogue=load(), book=PriceBook.open())
        return [(one.status, one.message) for one in versions_named(subject)]

    return said


def edit(cloud: str = "aws", scheduler: str = "slurm", **changes: object) -> Edit:
    """Return an edit for a test."""
    return Edit(name="versions", cloud=cloud, scheduler=scheduler, **changes)  # type: ignore[arg-type]


#: The archive of the day, as where machines reach no snapshot.
_OF_THE_DAY = {"file": "node/software.csv", "regex": r"(?m)^ubuntu-archive,[^,]*,(.*)$"}


@pytest.mark.parametrize(
    ("cloud", "named", "other"), [("aws", "aws-cli (snap)", "lustre-client-utils"), ("gcp", "lustre-client", "snap")]
)
def test_packages_of_this_cloud_are_counted(
    versions: Callable[..., list[tuple[str, str]]], cloud: str, named: str, other: str
) -> None:
    """A row of the table takes a package from the list; what another cloud's machines install is none of this one's."""
    ((status, found),) = versions(edit(cloud, **_OF_THE_DAY, new=r"ubuntu-archive,,\1"), cloud=cloud)
    assert status == "WARN"
    names = ("curl", "ca-certificates", "gpg", "python3", "munge", "slurm-client", "mdadm", "xfsprogs")
    rows = "".join(f"\n{name},1.0,apt,,2026-11-22,ours" for name in names)
    ((_, fewer),) = versions(edit(cloud, **_OF_THE_DAY, new=rf"ubuntu-archive,,\1{rows}"), cloud=cloud)
    assert int(found.split()[0]) - int(fewer.split()[0]) == len(names)
    assert named in fewer
    assert other not in fewer


@pytest.mark.parametrize(
    ("cloud", "left"), [("aws", ["aws-cli (snap)"]), ("azure", []), ("gcp", ["lustre-client-utils (apt)"])]
)
def test_packages_of_a_moment_are_named(
    versions: Callable[..., list[tuple[str, str]]], cloud: str, left: list[str]
) -> None:
    """As delivered the archive's moment names what comes from Ubuntu, and no package of a vendor's archive or snap."""
    ((status, found),) = versions(cloud=cloud)
    assert status == ("WARN" if left else "PASS")
    if left:
        assert found.split(" ")[0] == str(len(left))
        assert found.endswith(": " + ", ".join(left))
    else:
        assert "Ubuntu's archive of 20" in found
    # A command past the scripts' own way reads the archive of the day.
    ((_, more),) = versions(edit(cloud, file=SCRIPT, append="apt-get install --yes htop\n"), cloud=cloud)
    assert "htop (apt)" in more


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("apt-get install --yes htop", None),
        ("pip install torch", "pip install torch"),
        ("python3 -m pip install 'numpy>=2'", "pip install 'numpy>=2'"),
        ("git clone https://github.com/NVIDIA/nccl-tests", "clone https://github.com/NVIDIA/nccl-tests"),
        ("docker run --rm nvidia/cuda nvidia-smi", "docker run --rm nvidia/cuda nvidia-smi"),
        ("podman pull docker.io/library/alpine:latest", "podman pull docker.io/library/alpine:latest"),
        ("npm install -g yarn", "npm install -g yarn"),
        ("go install example.com/tool@latest", "go install example.com/tool@latest"),
    ],
)
def test_what_is_fetched_without_a_version_is_found(
    versions: Callable[..., list[tuple[str, str]]], line: str, said: str | None
) -> None:
    """One command without a version is a line to look at; a package joins the list."""
    plain = versions()
    found = versions(edit(file=SCRIPT, append=f"{line}\n"))
    if said is None:
        assert int(found[0][1].split()[0]) == int(plain[0][1].split()[0]) + 1
    else:
        assert [status for status, message in found if said in message] == ["WARN"]


@pytest.mark.parametrize(
    "line",
    [
        "apt-get install --yes htop=3.3.0-4build1",
        "snap install aws-cli --classic --revision=1411",
        "pip install --require-hashes -r requirements.txt",
        "pip install torch==2.9.0",
        "git clone --branch v2.13.9 https://github.com/NVIDIA/nccl-tests",
        "docker run --rm nvidia/cuda:13.0.1-base-ubuntu24.04 nvidia-smi",
        "podman pull docker.io/library/alpine@sha256:0123",
        "go install example.com/tool@v1.2.3",
        "# pip install torch",
    ],
)
def test_what_names_its_version_is_not(versions: Callable[..., list[tuple[str, str]]], line: str) -> None:
    """A version, a hash or a file with them is enough."""
    assert versions(edit(file=SCRIPT, append=f"{line}\n")) == versions()


@pytest.mark.skipif(stacks_python() is None, reason="not installed: make .venv-stacks/installed")
def test_add_ons_without_a_version_are_named() -> None:
    """EKS's own add-ons are pinned by the setting; the check reads what the program asks for."""

    def add_ons(*changed: Edit) -> Outcome:
        (found,) = [one.outcome for one in preflight(changed, "aws", "kubernetes") if one.check == "PRE044"]
        return found

    assert add_ons().status == "WARN"
    assert add_ons().message.startswith("7 of 7 add-ons")
    config = {"addOnVersions.vpc-cni": "v1.20.4-eksbuild.2", "addOnVersions.coredns": "v1.12.4-eksbuild.1"}
    fewer = add_ons(edit(scheduler="kubernetes", config=config)).message
    assert fewer.startswith("5 of 7 add-ons")
    assert "vpc-cni" not in fewer
