"""Jobs that start in a trial: as they are written nothing is wrong, and each thing that a job leaves out is named."""

import tempfile
from functools import cache
from pathlib import Path

import pytest

from clusterwright.catalog.load import load
from clusterwright.checks.preflight.files.reading import read_project
from clusterwright.checks.preflight.subject import Subject
from clusterwright.checks.preflight.trials import launched, launching
from clusterwright.pricing.book import PriceBook

from .planting import write

BATCH, PODS = "launch/train.sbatch", "launch/train.yaml"
PROJECTS = [(cloud, scheduler) for cloud in ("aws", "azure", "gcp") for scheduler in ("slurm", "kubernetes")]
Changes = tuple[tuple[str, str], ...]


@cache
def said(cloud: str, scheduler: str, changes: Changes = ()) -> tuple[tuple[str, str], ...]:
    """Return status and message of what the check says of a project whose job has words changed."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        write(cloud, scheduler, project)
        job = project / (BATCH if scheduler == "slurm" else PODS)
        text = job.read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{old}: {text.count(old)} times"
            text = text.replace(old, new)
        job.write_text(text)
        subject = Subject(project=read_project(project, manifest="none"), catalogue=load(), book=PriceBook.open())
        return tuple((one.status, one.message) for one in launched.starts_as_planned(subject))


@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_nothing_is_wrong_with_jobs_as_they_are_written(cloud: str, scheduler: str) -> None:
    """Every batch script and every pod's command starts its program, and nothing of it is unknown."""
    assert [status for status, _ in said(cloud, scheduler)] == ["PASS"]


@pytest.mark.parametrize(
    ("scheduler", "old", "new", "message"),
    [
        ("slurm", "#SBATCH --requeue\n", "", "it is not queued again"),
        ("slurm", "#SBATCH --requeue\n", "#SBATCH --requeue\n#SBATCH --hold\n", "does not start: --hold"),
        ("slurm", '"${hosts[0]}:29400"', '"127.0.0.1:29400"', "its own"),
        ("slurm", "--save-interval 234", "--save-interval 9000", "saves every 9000 steps"),
        ("slurm", ' --load "$CHECKPOINT_PATH"', "", "begins anew after each restart"),
        ("slurm", "CONTAINER_MOUNTS:=/shared:/shared", "CONTAINER_MOUNTS:=/scratch:/scratch", "does not show /shared/"),
        ("slurm", "srun --kill-on-bad-exit=0", ": --kill-on-bad-exit=0", "starts no program"),
        ("slurm", "#SBATCH --requeue\n", "#SBATCH --requeue\nif [ 1 = 1 ; then\n", "syntax error"),
        ("kubernetes", "--rdzv-endpoint=small-0.small:29400", "--rdzv-endpoint=small-0:29400", "is not the first one"),
        ("kubernetes", "--nproc-per-node=8", "--nproc-per-node=4", "4"),
    ],
)
def test_what_a_job_leaves_out_is_named(scheduler: str, old: str, new: str, message: str) -> None:
    """Of a job with one mistake, what goes wrong at its start is said, and no check passes."""
    found = said("aws", scheduler, ((old, new),))
    assert any(message in text for _, text in found), found
    assert "PASS" not in {status for status, _ in found}


@pytest.mark.parametrize(
    ("scheduler", "old", "new"),
    [
        ("slurm", "export NCCL_DEBUG=WARN", "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"),
        ("slurm", "--save-interval 234", "--save-interval 100"),
        ("slurm", "#SBATCH --requeue\n", "#SBATCH --requeue\n#SBATCH --mail-type=END\n"),
        ("kubernetes", "image: IMAGE-IS-NOT-SET", "image: registry.example.org/train@sha256:" + "0" * 64),
    ],
)
def test_what_people_change_for_good_reasons_passes(scheduler: str, old: str, new: str) -> None:
    """More words in the log, checkpoints more often, mail and an image of one's own are nobody's mistake."""
    assert [status for status, _ in said("aws", scheduler, ((old, new),))] == ["PASS"]


def test_without_confinement_nothing_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing keeps scripts to a folder they are not started, and the check does not know."""
    monkeypatch.setattr(launching.Machine, "run", lambda *_, **__: None)
    launching.started.cache_clear()
    launching.started_pod.cache_clear()
    try:
        found = said.__wrapped__("aws", "slurm")
    finally:
        launching.started.cache_clear()
    assert {status for status, _ in found} == {"UNKNOWN"}
