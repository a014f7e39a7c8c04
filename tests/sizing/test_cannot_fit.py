"""Jobs that no cluster of the stated size can hold are refused, and with enough nodes they are not."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import NodeType
from clusterwright.errors import RuleError
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.search import search
from clusterwright.workload.transformer import parameters

CASES = list(
    csv.DictReader(
        (Path(__file__).parents[1] / "published" / "cannot_fit.csv").read_text(encoding="utf-8").splitlines()
    )
)


def _asked(case: dict[str, str]) -> tuple[TrainingJob, NodeType]:
    catalogue = load()
    job = TrainingJob(
        model=lookup.model(catalogue, case["model"]),
        tokens=1e12,
        sequence_length=int(case["sequence_length"]),
        global_batch_sequences=int(case["global_batch"]),
        precision=case["precision"],
        finish_within_s=None,
        max_nodes=int(case["nodes"]),
    )
    return job, lookup.node_type_of_system(catalogue, case["system"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['model']}-{case['nodes']}x{case['system']}")
def test_what_cannot_fit_is_refused(case: dict[str, str]) -> None:
    """Each case is refused for memory, its states alone take three quarters of it, and the help says what would fit."""
    job, node = _asked(case)
    with pytest.raises(RuleError, match="MEM001") as caught:
        search(job=job, node=node, calibration=load_calibration())
    assert 18 * parameters(job.model) > 0.75 * int(case["nodes"]) * node.gpus * node.hbm_bytes_per_gpu
    told = re.search(r"at least (\d+) nodes", caught.value.findings[0].help)
    assert told is not None
    enough = search(job=replace(job, max_nodes=int(told[1])), node=node, calibration=load_calibration())
    assert enough.points[0].nodes == int(told[1])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['model']}-{case['nodes']}x{case['system']}")
def test_reasons_name_their_source_and_its_figures(case: dict[str, str]) -> None:
    """The reason counts 18 bytes a parameter against the memory there is, as the named source does."""
    job, node = _asked(case)
    assert case["source"] in load().sources
    needed, there = (float(word.replace(",", "")) for word in re.findall(r"([\d,]+) GB", case["reason"]))
    assert needed == pytest.approx(18 * parameters(job.model) / 1e9, rel=1e-3)
    assert there == pytest.approx(int(case["nodes"]) * node.gpus * node.hbm_bytes_per_gpu / 1e9, rel=1e-3)


def test_there_are_at_least_thirty() -> None:
    """The list is long enough to mean something."""
    assert len(CASES) >= 30


@pytest.mark.parametrize(("ranks", "split"), [(1, "(tp 8, pp 1, dp 1, ZeRO"), (2, "(tp 8, cp 2, pp 1, dp 1, ZeRO")])
def test_the_layout_that_came_closest_is_reported_with_every_way_it_is_split(ranks: int, split: str) -> None:
    """A sequence over two ranks is said so; one that is whole is not."""
    catalogue = load()
    job = TrainingJob(
        model=lookup.model(catalogue, "gpt3-175b"),
        tokens=1e12,
        sequence_length=2048,
        global_batch_sequences=8,
        precision="bf16",
        finish_within_s=None,
        max_nodes=ranks,
        tensor_parallel=8,
        pipeline_parallel=1,
        context_parallel=ranks,
    )
    with pytest.raises(RuleError, match="MEM001") as caught:
        search(
            job=job,
            node=lookup.node_type_of_system(catalogue, "dgx-h100"),
            calibration=load_calibration(),
        )
    assert split in caught.value.findings[0].message
