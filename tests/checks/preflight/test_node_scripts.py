"""What node scripts have to do where NVLink joins the GPUs of several nodes."""

import pytest

from clusterwright.catalog.load import load
from clusterwright.checks.preflight.files.project import project_of
from clusterwright.checks.preflight.results import Outcome
from clusterwright.checks.preflight.scripts.node_scripts import nodes_do_their_part
from clusterwright.checks.preflight.subject import Subject
from clusterwright.outputs.project.example import example_files
from clusterwright.outputs.project.files import project_files
from clusterwright.pricing.book import PriceBook

RACKS = {"aws": "p6e-gb200.36xlarge", "azure": "Standard_ND128isr_NDR_GB200_v6"}


def said(cloud: str, *change: str, with_domains: bool = True) -> list[Outcome]:
    """Return what the check says of a project of GB200 nodes, with a change (file, old, new) of its scripts."""
    written = project_files(cloud, "slurm", with_domains=with_domains)
    written = example_files(cloud, "slurm") | {path: file for path, file in written.items() if path.startswith("node/")}
    files = {name: file.content.decode(errors="replace") for name, file in written.items()}
    settings = "nodes/Pulumi.small.yaml"
    lines = files[settings].splitlines()
    at = next(number for number, line in enumerate(lines) if "instanceType:" in line)
    lines[at] = f"{lines[at].partition(':')[0]}: {RACKS[cloud]}"
    files[settings] = "\n".join(lines) + "\n"
    if change:
        file, old, new = change
        assert old in files[file]
        files[file] = files[file].replace(old, new)
    subject = Subject(project=project_of("here", files, stack="small"), catalogue=load(), book=PriceBook.open())
    assert subject.instance_type == RACKS[cloud]
    return list(nodes_do_their_part(subject))


@pytest.mark.parametrize("cloud", RACKS)
def test_nodes_of_a_rack_share_memory(cloud: str) -> None:
    """The shipped scripts pass; a project without them fails in each part."""
    (outcome,) = said(cloud)
    assert outcome.status == "PASS"
    missing = said(cloud, with_domains=False)
    assert [(one.status, one.message) for one in missing] == [
        ("FAIL", "node/imex.sh starts no IMEX: nodes share no memory over NVLink"),
        ("FAIL", "node/imex.sh gives IMEX nodes of other NVLink domains"),
        ("FAIL", "node/compute.sh tells Slurm no NVLink domain of the node"),
        ("FAIL", "node/slurm_conf.sh lets two jobs onto a node, whose IMEX knows the nodes of one"),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("node/imex.sh", ' || fail "nvidia-imex does not start"', " || true"), "goes on where this fails"),
        (("node/imex.sh", '!= "$domain"', '= ""'), "gives IMEX nodes of other NVLink domains"),
        (("node/slurm_conf.sh", "OverSubscribe=EXCLUSIVE ", ""), "lets two jobs onto a node"),
    ],
)
def test_a_changed_script_is_seen(change: tuple[str, str, str], message: str) -> None:
    """Each fault would show only in a job of several nodes."""
    (outcome,) = said("azure", *change)
    assert outcome.status == "FAIL"
    assert message in outcome.message
