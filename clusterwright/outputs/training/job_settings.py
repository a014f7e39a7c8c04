"""Software, data and place of a job: the values that its script starts from, and `job.env`, which `submit.sh` reads."""

import shlex
from typing import Final

from clusterwright.blueprint.sections.jobs import PUBLIC_REGISTRIES, SHARED_PATH
from clusterwright.plan.record import Plan

#: Where the shared file system is mounted, as the stacks and the node scripts do it.
SHARED = SHARED_PATH
#: The release of Megatron-LM whose `megatron/training` has every argument that is written, by its commit: github.com/
#: NVIDIA/Megatron-LM, tag core_v0.18.2 of 2026-07-20. Its own tests run on the image, as `docker/.ngc_version.dev` says
#: at that commit; the image has no Megatron-LM, which is a folder of its own.
MEGATRON_RELEASE: Final = "core_v0.18.2"
MEGATRON_COMMIT: Final = "571370c829ca768fe37244f4e2e7f28d8accc4ab"
MEGATRON_SOURCE: Final = "https://github.com/NVIDIA/Megatron-LM.git"
MEGATRON_IMAGE: Final = "nvcr.io/nvidia/pytorch:26.04-py3"
#: What every environment of a job has to hold: `pyproject.toml` at that commit, and `megatron/core/datasets/utils.py`,
#: which compiles its helpers with make.
HOLDS: Final = (
    "PyTorch 2.6 or newer with torchrun, Transformer Engine, numpy, packaging, pybind11, make and a C++ compiler"
)
#: Python packages of these that are looked for before a job is submitted.
_PACKAGES: Final = ("torch", "transformer_engine", "numpy", "packaging", "pybind11")


def launch_folder(plan: Plan) -> str:
    """Return where a job's launch files lie, so that every node sees script, log and retention."""
    return f"{SHARED}/launch/{plan.name}"


def job_defaults(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return the variables of the job script with the blueprint's values; empty for what it leaves to the user."""
    jobs = plan.cluster.jobs
    return (
        ("JOB_ENVIRONMENT", jobs.environment),
        ("CONTAINER_IMAGE", jobs.image),
        ("VENV_PATH", jobs.venv),
        ("MODULES", ",".join(jobs.modules)),
        ("MEGATRON_PATH", jobs.megatron),
        ("CHECKPOINT_PATH", jobs.checkpoints),
        ("DATA_PATH", jobs.data),
        ("TOKENIZER_TYPE", "HuggingFaceTokenizer"),
        ("TOKENIZER_MODEL", jobs.tokenizer),
        ("LEARNING_RATE", "" if jobs.learning_rate is None else f"{jobs.learning_rate:g}"),
        ("LAUNCH_PATH", launch_folder(plan)),
    )


def job_env(plan: Plan) -> str:
    """Return `job.env`: assignments that a shell reads."""
    values: tuple[tuple[str, str], ...] = (
        *job_defaults(plan),
        ("SHARED_PATH", SHARED),
        ("JOB_NAME", plan.name),
        ("JOB_PARTITION", plan.cluster.partition),
        ("JOB_HOLDS", HOLDS),
        ("JOB_PACKAGES", " ".join(_PACKAGES)),
        ("MEGATRON_RELEASE", MEGATRON_RELEASE),
        ("MEGATRON_COMMIT", MEGATRON_COMMIT),
        ("MEGATRON_SOURCE", MEGATRON_SOURCE),
        ("MEGATRON_IMAGE", MEGATRON_IMAGE),
    )
    if not plan.cluster.jobs.internet:
        values += (("JOB_INTERNET", "no"), ("PUBLIC_REGISTRIES", PUBLIC_REGISTRIES))
    head = "# shellcheck shell=bash disable=SC2034\n# What submit.sh starts from, as the plan has it; its options win."
    return "\n".join((head, *(f"{name}={shlex.quote(value)}" for name, value in values)))
