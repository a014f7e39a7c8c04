"""The folder `serving` of a target with Kubernetes: manifests, what fills them in and applies them, and its README."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace

from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright import assets
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kubernetes.jobs import documents_text
from clusterwright.outputs.serving.dashboard import dashboard
from clusterwright.outputs.serving.engine import Engine, engine_of, fields_of, role_arguments
from clusterwright.outputs.serving.gateway import gateway
from clusterwright.outputs.serving.load_test import load_test_files
from clusterwright.outputs.serving.manifests import (
    CLIENT_LABEL,
    disruption_budget,
    fetch_rule,
    network_rules,
    scaling,
    scaling_rules,
    service,
)
from clusterwright.outputs.serving.monitoring import goals, pod_monitor, prometheus_rule
from clusterwright.outputs.serving.places import PodPlace, ReplicaShape, shape_of
from clusterwright.outputs.serving.replica import labels, workload
from clusterwright.outputs.templates import render
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.plan.text.serving import replicas_text

FOLDER = "serving"
_TRIGGERS = {"requests": "requests", "cache": "keys and values", "queue": "waiting requests"}
#: Releases whose fields the manifests have.
RELEASES = {"lws": "0.7.0", "keda": "2.17.2", "gateway": "1.3.0", "extension": "1.0.0"}


def fewest_replicas(option: ServingOption) -> int:
    """Return the replicas that are always kept, with the spare ones; one at least, which counts the requests."""
    return max(min(option.performance.day.least_replicas + option.performance.spare_replicas, most_replicas(option)), 1)


def most_replicas(option: ServingOption) -> int:
    """Return the replicas of the peak, or those that an autoscaler may have, with the spare ones."""
    return min(option.performance.replicas, option.performance.day.most_replicas) + option.performance.spare_replicas


def serving_files(plan: ServingPlan, option: ServingOption, place: PodPlace) -> dict[str, File]:
    """Return the files of a target's folder by name within it.

    Args:
        plan: for names and lengths.
        option: the target.
        place: of its pods.

    Raises:
        RuleError: the framework's version does not have what the plan needs.
    """
    if option.performance.prefill_pool is not None:
        return {**described_files(plan, option), **testing_files(plan, option)}
    engine, shape = engine_of(plan, option), shape_of(option, place.gpus)
    name, most, fewest = plan.name, most_replicas(option), fewest_replicas(option)
    documents = {
        "replicas.yaml": [
            _start(name, place.namespace, serve_script(plan, option, engine, shape)),
            workload(name, engine, place, shape, replicas=most),
        ],
        "service.yaml": [
            service(name, place, shape),
            disruption_budget(name, place, shape, spare=option.performance.spare_replicas),
            *network_rules(name, place, shape),
        ],
        "fetch.yaml": [fetch_rule(name, place, target=option.target)],
    }
    if engine.metrics:
        documents["scaling.yaml"] = [
            scaling(
                name,
                engine,
                place,
                shape,
                model=plan.workload.model,
                fewest=fewest,
                most=most,
                each=option.performance.in_flight,
                rules=scaling_rules(option),
            )
        ]
        documents["gateway.yaml"] = gateway(name, engine, place, shape)
        documents["monitoring/rules.yaml"] = [prometheus_rule(plan, option, engine, place.namespace)]
        documents["monitoring/pods.yaml"] = [pod_monitor(plan, place.namespace, labels(name))]
    texts = {file: documents_text(parts) for file, parts in documents.items()}
    texts["deploy.env"] = _settings(plan, engine, place, shape, fewest=fewest, most=most)
    texts["deploy.sh"] = _script("deploy.sh")
    texts["README.md"] = _readme(plan, option, engine, place, shape, fewest=fewest, most=most)
    files = {file: replace(text(body.rstrip("\n")), executable=file.endswith(".sh")) for file, body in texts.items()}
    return files | watching_files(plan, option, engine) | testing_files(plan, option)


def described_files(plan: ServingPlan, option: ServingOption) -> dict[str, File]:
    """Return what replicas take that no manifest is written for: pools apart, and slices of a Slurm node."""
    performance = option.performance
    own = performance.prefill_pool
    pools = [("decode" if own else "", option)]
    if own is not None:
        before = replace(performance, layout=own.layout, replica_memory=own.memory)
        pools.insert(0, ("prefill", replace(option, performance=before)))
    commands = []
    for role, one in pools:
        engine = engine_of(plan, one)
        words = (*engine.command, *engine.arguments, *role_arguments(engine.framework, role))
        commands.append({"role": role, "command": shlex.join(words) if engine.command else ""})
    page = render(
        FOLDER,
        "README_described.md.j2",
        title=plan.name,
        replicas=replicas_text(option),
        engine=plan.workload.framework,
        apart=own is not None,
        slice=performance.layout.slice,
        handing=f"{own.handing_s * 1e3:.3g} ms" if own else "",
        commands=commands,
    )
    return {"README.md": text(page)}


def watching_files(plan: ServingPlan, option: ServingOption, engine: Engine) -> dict[str, File]:
    """Return the dashboard; nothing where the figures of the framework have no names."""
    if not engine.metrics:
        return {}
    return {"monitoring/dashboard.json": text(json.dumps(dashboard(plan, option, engine), indent=1, allow_nan=False))}


def testing_files(plan: ServingPlan, option: ServingOption) -> dict[str, File]:
    """Return the folder of the load test."""
    return {f"loadtest/{name}": file for name, file in load_test_files(plan, option).items()}


def _script(name: str) -> str:
    return (assets.root() / "templates" / FOLDER / name).read_text(encoding="utf-8")


def _start(name: str, namespace: str, serve: str) -> dict[str, object]:
    """Return the scripts of a pod: what fetches the model, and what starts the engine."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-start", "namespace": namespace},
        "data": {
            "fetch_model.sh": LiteralScalarString(_script("fetch_model.sh")),
            "serve.sh": LiteralScalarString(serve),
        },
    }


def serve_script(plan: ServingPlan, option: ServingOption, engine: Engine, shape: ReplicaShape) -> str:
    """Return what starts the engine in each pod of a replica, with the arguments that it is given."""
    return render(
        FOLDER,
        "serve.sh.j2",
        # A comment and a message: a framework that no table has is named by its owner.
        engine=engine.name if engine.framework else "the framework",
        valid=engine.valid if engine.framework else "",
        command=shlex.join(engine.command),
        framework=engine.framework,
        pods=shape.pods,
        groups=fields_of(plan, option)["attention_groups"],
    )


def _settings(
    plan: ServingPlan, engine: Engine, place: PodPlace, shape: ReplicaShape, *, fewest: int, most: int
) -> str:
    forms = (
        *((f"{place.mount}/models/NAME",) if place.claim else ()),
        "hf://ORG/NAME@COMMIT",
        "s3://BUCKET/FOLDER",
        "gs://BUCKET/FOLDER",
        "az://CONTAINER/FOLDER",
    )
    unknown = (
        f"no table has the flags of {engine.name}: write its command into serve.sh within replicas.yaml, then empty "
        "UNKNOWN_ENGINE in deploy.env"
    )
    values: Mapping[str, object] = {
        "SERVICE": plan.name,
        "NAMESPACE": place.namespace,
        "CLAIM": place.claim,
        "SHARED_PATH": place.mount,
        "WORKLOAD_KIND": "Deployment" if shape.pods == 1 else "LeaderWorkerSet",
        "ENGINE_NAME": f"image of {engine.name}",
        "UNKNOWN_ENGINE": "" if engine.framework else unknown,
        "MODEL_FORMS": " or ".join(forms),
        "FEWEST": fewest,
        "MOST": most,
    }
    return "\n".join(f"{name}={shlex.quote(str(value))}" for name, value in values.items())


def _readme(
    plan: ServingPlan,
    option: ServingOption,
    engine: Engine,
    place: PodPlace,
    shape: ReplicaShape,
    *,
    fewest: int,
    most: int,
) -> str:
    return render(
        FOLDER,
        "README.md.j2",
        title=plan.name,
        replicas=replicas_text(option),
        engine=engine,
        known=bool(engine.framework),
        model=plan.workload.model,
        precision=plan.workload.precision,
        place=place,
        shape=shape,
        fewest=fewest,
        most=most,
        each=f"{max(option.performance.in_flight, 1.0):.0f}",
        arguments=shlex.join(engine.arguments),
        adapters=fields_of(plan, option)["adapters"],
        drafted=fields_of(plan, option)["draft_model"],
        slice=shape.slice,
        to_zero=scaling_rules(option).to_zero,
        triggers=" and by ".join(_TRIGGERS[metric] for metric in scaling_rules(option).metrics),
        weights=f"{shape.weights_bytes / 1e9:,.0f} GB",
        start=f"{shape.start_s:,.0f} s",
        copies=f"{shape.start_s * shape.per_node:,.0f} s",
        longest=f"{shape.longest_start_s:,.0f} s",
        client=CLIENT_LABEL,
        releases=RELEASES,
        spare=option.performance.spare_replicas,
        fabric=shape.pods > 1,
        **watching_words(plan, engine),
    )


def watching_words(plan: ServingPlan, engine: Engine) -> dict[str, object]:
    """Return what a README says of the goals as Prometheus measures them."""
    ends = [f"{goal.bound_s:g} s for the {goal.words} ({goal.goal_s:g} s)" for goal in goals(plan, engine)]
    metric = engine.metrics.get("time_per_token_s")
    between = metric is not None and "request_" not in metric.metric
    return {
        "percentile": f"{plan.goals.percentile:g}",
        "bounds": " and ".join(ends) or "no goal",
        # The goal is of the mean of an answer, which this release does not count.
        "gap": "The engine counts the gap between two tokens, the goal the mean of an answer: gaps vary more."
        if between
        else "",
    }
