"""The service on a Slurm cluster: an array of jobs, one replica each, with the arguments that pods would have."""

import shlex
from dataclasses import replace

from clusterwright import assets
from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kubernetes.jobs import documents_text
from clusterwright.outputs.serving.engine import PORT, Engine, engine_of, fields_of
from clusterwright.outputs.serving.files import (
    described_files,
    most_replicas,
    testing_files,
    watching_files,
    watching_words,
)
from clusterwright.outputs.serving.monitoring import rules
from clusterwright.outputs.serving.places import ReplicaShape, shape_of
from clusterwright.outputs.templates import render
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.plan.text.serving import replicas_text

SHARED = "/shared"
#: Share of a node's processors and memory that replicas may take; the rest is for daemons. An assumption.
_SHARE = 0.85
_GIB = 2**30


def slurm_files(plan: ServingPlan, option: ServingOption, catalogue: Catalogue) -> dict[str, File]:
    """Return the files of a target's folder by name within it.

    Args:
        plan: for names and lengths.
        option: the target.
        catalogue: for Slurm's name of the accelerator and what a node has.

    Raises:
        RuleError: the framework's version does not have what the plan needs.
    """
    if option.performance.prefill_pool is not None or option.performance.layout.slice:
        return {**described_files(plan, option), **testing_files(plan, option)}
    engine, shape = engine_of(plan, option), shape_of(option, option.cluster.gpus_per_node)
    chip = catalogue.accelerators[option.cluster.accelerator]
    threads, memory_bytes = _node(option, catalogue)
    folder = f"{SHARED}/serving/{plan.name}"
    script = render(
        "serving",
        "serve.sbatch.j2",
        job_name=plan.name,
        partition=plan.cluster.partition,
        last=most_replicas(option) - 1,
        pods=shape.pods,
        gres=f"gpu:{chip.gres_type}:{shape.gpus}",
        cpus=max(int(threads / 2 * _SHARE / option.cluster.gpus_per_node * shape.gpus), 1) if threads else 0,
        memory_gib=int(memory_bytes * _SHARE / option.cluster.gpus_per_node * shape.gpus / _GIB) if memory_bytes else 0,
        endpoints=folder,
        shared=SHARED,
        port=PORT,
        model=shlex.quote(plan.workload.model),
        known=bool(engine.framework),
        valid=engine.valid if engine.framework else "",
        command=shlex.join(engine.command).replace("/model", '"$MODEL_PATH"'),
        # The port is that of the array's element.
        arguments=shlex.join(_without_port(engine.arguments)),
        framework=engine.framework,
        groups=fields_of(plan, option)["attention_groups"],
    )
    page = _readme(plan, option, engine, shape, folder)
    endpoints = (assets.root() / "templates" / "serving" / "endpoints.sh").read_text(encoding="utf-8")
    watched = {"monitoring/rules.yaml": text(documents_text([rules(plan, option, engine)]))} if engine.metrics else {}
    return {
        "serve.sbatch": replace(text(script.rstrip("\n")), executable=True),
        "endpoints.sh": replace(text(endpoints.rstrip("\n")), executable=True),
        "README.md": text(page),
        **watched,
        **watching_files(plan, option, engine),
        **testing_files(plan, option),
    }


def _without_port(arguments: tuple[str, ...]) -> tuple[str, ...]:
    if "--port" not in arguments:
        return arguments
    at = arguments.index("--port")
    return arguments[:at] + arguments[at + 2 :]


def _node(option: ServingOption, catalogue: Catalogue) -> tuple[int, float]:
    """Return threads and memory of a node, 0 for what is not known."""
    if option.target != "onprem":
        instance = catalogue.instances[option.cluster.instance]
        return instance.vcpus or 0, instance.memory_bytes or 0.0
    system = catalogue.systems[option.cluster.instance]
    threads = (system.cpu_sockets or 0) * (system.cpu_cores_per_socket or 0) * (system.cpu_threads_per_core or 1)
    return threads, system.memory_bytes or 0.0


def _readme(plan: ServingPlan, option: ServingOption, engine: Engine, shape: ReplicaShape, folder: str) -> str:
    return render(
        "serving",
        "README_slurm.md.j2",
        title=plan.name,
        replicas=replicas_text(option),
        most=most_replicas(option),
        valid=engine.valid,
        known=bool(engine.framework),
        **watching_words(plan, engine),
        shape=shape,
        endpoints=folder,
        shared=SHARED,
        precision=plan.workload.precision,
        weights=f"{shape.weights_bytes / 1e9:,.0f} GB",
        start=f"{shape.start_s:,.0f} s",
    )
