"""Layouts that software runs and people use: what a search proposes, and what a blueprint may hold nevertheless."""

import csv
from dataclasses import replace

import numpy as np

from clusterwright import assets
from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import FULL, SELECTIVE
from clusterwright.sizing.hardware.software_layouts import EVERY, runs_of
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.layouts import enumerate_space
from clusterwright.sizing.training.parallel_sizes import (
    context_parallel_sizes,
    expert_parallel_sizes,
    pipelines,
    recompute_modes,
    tensor_parallel_sizes,
)

#: Pipeline stages of published runs: Megatron-LM, MT-NLG, BLOOM, Llama 3, Nemotron-4, DeepSeek-V3, NeMo's recipes.
PUBLISHED_STAGES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 24, 30, 32, 35, 48, 64)


def stages(job: TrainingJob) -> set[int]:
    """Return the numbers of stages that are looked at."""
    return {one for one, _ in pipelines(job)}


def test_every_published_number_of_stages_is_looked_at(job: TrainingJob) -> None:
    """A model whose layers they divide may have 2 to 64 stages; 41 or 49, which divide layers too, nobody runs."""
    for count in PUBLISHED_STAGES:
        assert count in stages(replace(job, model=replace(job.model, layers=2 * count))), count
    for odd in (11, 41, 49, 96, 128):
        assert odd not in stages(replace(job, model=replace(job.model, layers=2 * odd))), odd


def test_a_blueprint_holds_what_nobody_runs(job: TrainingJob, h100: NodeType) -> None:
    """49 stages and tensor parallelism over 6 are looked at where they are asked for, and not otherwise."""
    deep = replace(job, model=replace(job.model, layers=98))
    assert 49 not in stages(deep)
    assert stages(replace(deep, pipeline_parallel=49)) == {49}
    three = replace(h100, gpus=6, accelerator=replace(h100.accelerator, scale_up_domain_gpus=6))
    assert tensor_parallel_sizes(job, three) == [1, 2]
    assert tensor_parallel_sizes(replace(job, tensor_parallel=6), three) == [6]


def test_sizes_that_nobody_runs_are_better_than_none(job: TrainingJob, h100: NodeType) -> None:
    """34 nodes for 32 layers and a batch of 1,024 leave only 17 stages; with 32 nodes allowed nobody has them."""
    model = replace(job.model, layers=32, heads=32, kv_heads=32)
    held = replace(job, model=model, global_batch_sequences=1024, min_nodes=33, max_nodes=40)
    space = enumerate_space(held, h100, max_nodes=40)
    assert space is not None
    assert set(np.unique(space.rows.pp)) == {17.0}
    wider = enumerate_space(replace(held, min_nodes=32), h100, max_nodes=40)
    assert wider is not None
    assert 17.0 not in np.unique(wider.rows.pp)


def test_a_torus_splits_a_layer_as_its_axes_do(job: TrainingJob, h100: NodeType) -> None:
    """Slices of a TPU have other sizes than powers of two, which a switch of eight is not run with."""
    torus = replace(
        h100, gpus=12, accelerator=replace(h100.accelerator, scale_up_topology="torus", scale_up_domain_gpus=12)
    )
    assert {3, 6, 12} <= set(tensor_parallel_sizes(job, torus))


def test_software_that_only_shards(job: TrainingJob, h100: NodeType) -> None:
    """Under PyTorch FSDP nothing is split but data; a search proposes neither tensor parallelism nor stages."""
    sharded = replace(job, framework="PyTorch FSDP", sequence_length=65536)
    assert runs_of("PyTorch FSDP").tensor is False
    assert tensor_parallel_sizes(sharded, h100) == [1]
    assert stages(sharded) == {1}
    assert context_parallel_sizes(sharded) == [1]
    assert context_parallel_sizes(replace(sharded, framework="Megatron-LM")) != [1]


def test_chunks_experts_and_recomputation_of_older_software(job: TrainingJob, h100: NodeType) -> None:
    """DeepSpeed's pipeline has one chunk; Megatron-LM of 2021 recomputes whole layers, all of them."""
    deepspeed = replace(job, framework="Megatron-DeepSpeed 2022")
    assert {chunks for _, chunks in pipelines(deepspeed)} == {1}
    assert {chunks for _, chunks in pipelines(replace(job, framework="Megatron-LM"))} > {1}
    old = replace(job, framework="Megatron-LM 2021", max_nodes=8)
    assert SELECTIVE not in recompute_modes(old)
    assert FULL in recompute_modes(old)
    space = enumerate_space(old, h100, max_nodes=8)
    assert space is not None
    assert not space.as_few_as_fit
    mixtral = replace(job, model=lookup.model(load(), "mixtral-8x7b"), framework="nanotron")
    assert expert_parallel_sizes(mixtral) == [1]
    assert expert_parallel_sizes(replace(mixtral, framework="")) == [1, 2, 4, 8]


def test_unnamed_software_runs_everything() -> None:
    """Nothing is left out where a blueprint names no software, or one that no table has."""
    assert runs_of("") == runs_of("of next year") == EVERY


def test_table_says_where_its_rules_are_from() -> None:
    """Every row has a known source, and says `no` or nothing."""
    known = load().sources
    with (assets.root() / "catalog" / "software_layouts.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            assert row["source"] in known, row
            kinds = {value for key, value in row.items() if key not in ("software", "source", "note")}
            assert kinds <= {"", "no"}, row
