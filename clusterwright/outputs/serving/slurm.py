"""The service on a Slurm cluster: an array of jobs for each pool, with the arguments that pods would have; a router."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from clusterwright import assets
from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kubernetes.jobs import documents_text
from clusterwright.outputs.serving.engine import PORT, fields_of
from clusterwright.outputs.serving.files import described_files, testing_files, watching_files, watching_words
from clusterwright.outputs.serving.monitoring import rules
from clusterwright.outputs.serving.places import gpus_per_host
from clusterwright.outputs.serving.pools import WHOLE, Pool, first_token_after, pools_of, refusal, router_of
from clusterwright.outputs.templates import render
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.plan.text.serving import replicas_text

SHARED = "/shared"
#: Share of a node's processors and memory that replicas may take; the rest is for daemons. An assumption.
_SHARE = 0.85
_GIB = 2**30
#: First port of the handshakes of workers on one node, below those that systems give out; and room for a pool of them.
_HANDSHAKE, _MOST_PORTS = 22_000, 5_000
#: Of the router, below those of the workers.
_ROUTER_PORT = PORT - 1


def slurm_files(plan: ServingPlan, option: ServingOption, catalogue: Catalogue) -> dict[str, File]:
    """Return the files of a target's folder by name within it.

    Args:
        plan: for names and lengths.
        option: the target.
        catalogue: for Slurm's name of the accelerator and what a node has.

    Raises:
        RuleError: the framework's version does not have what the plan needs.
    """
    node_gpus = gpus_per_host(option)
    own = option.performance.prefill_pool
    if option.performance.layout.slice or (own is not None and refusal(plan, option, node_gpus)):
        return {**described_files(plan, option, node_gpus), **testing_files(plan, option)}
    pools = pools_of(plan, option, node_gpus, by_pod=False)
    folder = f"{SHARED}/serving/{plan.name}"
    before = pools[0] if own is not None else None
    last = pools[-1]
    if before is None:
        endpoints = (assets.root() / "templates" / "serving" / "endpoints.sh").read_text(encoding="utf-8")
        scripts = {"serve.sbatch": _array(plan, last, catalogue, folder, first=0), "endpoints.sh": endpoints}
    else:
        scripts = {
            "prefill.sbatch": _array(plan, before, catalogue, f"{folder}/prefill", first=0),
            "decode.sbatch": _array(plan, last, catalogue, f"{folder}/decode", first=before.most),
            "router.sbatch": _router(plan, before, last, folder),
            "serve.sh": render("serving", "serve_pools.sh.j2", endpoints=folder),
        }
    engine, unseen_s = last.engine, first_token_after(plan, option)
    groups = rules(plan, option, engine, unseen_s=unseen_s, before=before) if engine.metrics else {}
    return {
        **{name: replace(text(script.rstrip("\n")), executable=True) for name, script in scripts.items()},
        "README.md": text(_readme(plan, option, pools, folder)),
        **({"monitoring/rules.yaml": text(documents_text([groups]))} if groups else {}),
        **watching_files(plan, option, engine, before),
        **testing_files(plan, option),
    }


def _array(plan: ServingPlan, pool: Pool, catalogue: Catalogue, folder: str, *, first: int) -> str:
    """Return the array of a pool, whose workers have the ports after the first ones."""
    option, engine, shape = pool.option, pool.engine, pool.shape
    chip = catalogue.accelerators[option.cluster.accelerator]
    threads, memory_bytes = _node(option, catalogue)
    handshake = str(next(iter(engine.ports.values()), ""))
    flags = _flags_with(engine.arguments, handshake)
    stride = option.performance.layout.gpus
    return render(
        "serving",
        "serve.sbatch.j2",
        job_name=pool.name,
        file="serve.sbatch" if pool.role == WHOLE else f"{pool.role}.sbatch",
        role="" if pool.role == WHOLE else pool.role,
        partition=plan.cluster.partition,
        last=pool.most - 1,
        pods=shape.pods,
        gres=f"gpu:{chip.gres_type}:{shape.gpus}",
        cpus=max(int(threads / 2 * _SHARE / option.cluster.gpus_per_node * shape.gpus), 1) if threads else 0,
        memory_gib=int(memory_bytes * _SHARE / option.cluster.gpus_per_node * shape.gpus / _GIB) if memory_bytes else 0,
        endpoints=folder,
        shared=SHARED,
        port=PORT,
        first=first,
        # Those that decode begin beyond those that prefill, whatever the two take each.
        handshake=_HANDSHAKE if not first else _HANDSHAKE + _MOST_PORTS,
        stride=stride,
        port_settings=[name for name, value in engine.settings.items() if value == handshake],
        address_settings=[name for name, value in engine.settings.items() if value == "ADDRESS"],
        port_flags=flags,
        listening="".join(f' {flag} "$HANDSHAKE"' for flag in flags),
        model=shlex.quote(plan.workload.model),
        known=bool(engine.framework),
        valid=engine.valid if engine.framework else "",
        command=shlex.join(engine.command).replace("/model", '"$MODEL_PATH"'),
        # The port is that of the array's element.
        arguments=shlex.join(_without(engine.arguments, ("--port", *flags))),
        framework=engine.framework,
        groups=fields_of(plan, option)["attention_groups"],
    )


def _router(plan: ServingPlan, before: Pool, last: Pool, folder: str) -> str:
    started = router_of(before, last, "")
    return render(
        "serving",
        "router.sbatch.j2",
        job_name=plan.name,
        partition=plan.cluster.partition,
        endpoints=folder,
        shared=SHARED,
        port=_ROUTER_PORT,
        # A worker on the same node may have the port of the pods.
        command=shlex.join((*_without(started.command, ("--port",)), "--port", str(_ROUTER_PORT))),
        listed=started.listed,
        read=started.read,
    )


def _flags_with(arguments: tuple[str, ...], value: str) -> list[str]:
    """Return the flags that have a value."""
    return [flag for flag, given in pairwise(arguments) if flag.startswith("--") and given == value]


def _without(arguments: tuple[str, ...], flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return arguments without some flags and their values."""
    dropped = {at + step for at, word in enumerate(arguments) if word in flags for step in (0, 1)}
    return tuple(word for at, word in enumerate(arguments) if at not in dropped)


def _node(option: ServingOption, catalogue: Catalogue) -> tuple[int, float]:
    """Return threads and memory of a node, 0 for what is not known."""
    if option.target != "onprem":
        instance = catalogue.instances[option.cluster.instance]
        return instance.vcpus or 0, instance.memory_bytes or 0.0
    system = catalogue.systems[option.cluster.instance]
    threads = (system.cpu_sockets or 0) * (system.cpu_cores_per_socket or 0) * (system.cpu_threads_per_core or 1)
    return threads, system.memory_bytes or 0.0


def _readme(plan: ServingPlan, option: ServingOption, pools: Sequence[Pool], folder: str) -> str:
    last = pools[-1]
    engine, shape, own = last.engine, last.shape, option.performance.prefill_pool
    unseen_s = first_token_after(plan, option)
    apart = (
        {}
        if own is None
        else {
            "pools": [
                {
                    "role": pool.role,
                    "most": pool.most,
                    "spare": pool.option.performance.spare_replicas,
                    "gpus": pool.option.performance.layout.gpus,
                    "arguments": shlex.join((*pool.engine.command, *pool.engine.arguments)),
                }
                for pool in pools
            ],
            "handing": f"{own.handing_s * 1e3:.3g} ms",
            "unseen": unseen_s > 0,
            "read": router_of(pools[0], last, "").read,
        }
    )
    return render(
        "serving",
        "README_slurm.md.j2",
        title=plan.name,
        replicas=replicas_text(option),
        apart=apart,
        most=last.most,
        valid=engine.valid,
        known=bool(engine.framework),
        **watching_words(plan, engine, unseen_s),
        shape=shape,
        endpoints=folder,
        shared=SHARED,
        precision=plan.workload.precision,
        weights=f"{shape.weights_bytes / 1e9:,.0f} GB",
        start=f"{shape.start_s:,.0f} s",
    )
