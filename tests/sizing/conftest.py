"""A model and machines that the sizing tests share."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from clusterwright.catalog.records import Accelerator, Model, NodeType
from clusterwright.sizing.records.job import TrainingJob


@pytest.fixture(scope="session")
def gpt3() -> Model:
    """GPT-3 175B."""
    return Model(
        id="gpt3-175b",
        name="GPT-3 175B",
        parameters=174_604_259_328,
        active_parameters=174_604_259_328,
        published_parameters=None,
        layers=96,
        hidden=12288,
        heads=96,
        kv_heads=96,
        head_dim=128,
        ffn_hidden=49152,
        gated=False,
        vocab=50257,
        tied_embeddings=True,
        max_context=2048,
        attention_kind="mha",
        learned_positions=2048,
        linear_biases=True,
        norm_biases=True,
    )


@pytest.fixture(scope="session")
def h100() -> NodeType:
    """A DGX H100."""
    accelerator = Accelerator(
        id="h100-sxm-80gb",
        name="NVIDIA H100 SXM 80 GB",
        vendor="NVIDIA",
        generation="hopper",
        form="sxm",
        gres_type="h100",
        hbm_bytes=80 * 2.0**30,
        hbm_bytes_per_s=3.35e12,
        dense_bf16_flop_per_s=989.4e12,
        dense_fp16_flop_per_s=989.4e12,
        dense_fp8_flop_per_s=1978.9e12,
        scale_up_kind="nvlink",
        scale_up_bytes_per_s_per_gpu_one_way=450e9,
        scale_up_domain_gpus=8,
    )
    return NodeType(
        id="dgx-h100",
        accelerator=accelerator,
        gpus=8,
        hbm_bytes_per_gpu=79.6 * 2.0**30,
        network_kind="infiniband",
        network_bytes_per_s_per_gpu_one_way=50e9,
    )


@pytest.fixture(scope="session")
def a100() -> NodeType:
    """A DGX A100 with 80 GB."""
    accelerator = Accelerator(
        id="a100-sxm-80gb",
        name="NVIDIA A100 SXM 80 GB",
        vendor="NVIDIA",
        generation="ampere",
        form="sxm",
        gres_type="a100",
        hbm_bytes=80 * 2.0**30,
        hbm_bytes_per_s=2.039e12,
        dense_bf16_flop_per_s=312e12,
        dense_fp16_flop_per_s=312e12,
        scale_up_kind="nvlink",
        scale_up_bytes_per_s_per_gpu_one_way=300e9,
        scale_up_domain_gpus=8,
    )
    return NodeType(
        id="dgx-a100",
        accelerator=accelerator,
        gpus=8,
        hbm_bytes_per_gpu=80 * 2.0**30,
        network_kind="infiniband",
        network_bytes_per_s_per_gpu_one_way=25e9,
    )


@pytest.fixture(scope="session")
def job(gpt3: Model) -> TrainingJob:
    """The shipped case: GPT-3 175B on 300e9 tokens within 30 days."""
    return TrainingJob(
        model=gpt3,
        tokens=300e9,
        sequence_length=2048,
        global_batch_sequences=1536,
        precision="bf16",
        finish_within_s=30 * 86400.0,
    )


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """The scalar model of `oracle.py`; tests are not a package, so that it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("oracle", Path(__file__).with_name("oracle.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
