"""The folder `serving` of a target with Kubernetes: manifests, what fills them in and applies them, and its README."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright import assets
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kubernetes.jobs import documents_text
from clusterwright.outputs.serving.dashboard import dashboard
from clusterwright.outputs.serving.engine import Engine, engine_of, fields_of
from clusterwright.outputs.serving.gateway import gateway, routed
from clusterwright.outputs.serving.load_test import load_test_files
from clusterwright.outputs.serving.manifests import (
    CLIENT_LABEL,
    disruption_budget,
    fetch_rule,
    handing_rules,
    network_rules,
    scaling,
    scaling_rules,
    service,
)
from clusterwright.outputs.serving.monitoring import goals, pod_monitor, prometheus_rule, rules
from clusterwright.outputs.serving.places import PodPlace
from clusterwright.outputs.serving.pools import (
    PREFILL,
    Pool,
    first_token_after,
    pools_of,
    refusal,
    router_of,
)
from clusterwright.outputs.serving.replica import fabric_of, workload
from clusterwright.outputs.serving.router import router, router_labels, router_name
from clusterwright.outputs.templates import render
from clusterwright.plan.serving.pools import prefilling
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.plan.text.serving import replicas_text

FOLDER = "serving"
_TRIGGERS = {"requests": "requests", "cache": "keys and values", "queue": "waiting requests"}
#: Releases whose fields the manifests have.
RELEASES = {"lws": "0.7.0", "keda": "2.17.2", "gateway": "1.3.0", "extension": "1.0.0"}


def serving_files(plan: ServingPlan, option: ServingOption, place: PodPlace) -> dict[str, File]:
    """Return the files of a target's folder by name within it.

    Args:
        plan: for names and lengths.
        option: the target.
        place: of its pods.

    Raises:
        RuleError: the framework's version does not have what the plan needs.
    """
    apart = option.performance.prefill_pool is not None
    if apart and refusal(plan, option, place.gpus):
        return {**described_files(plan, option, place.gpus), **testing_files(plan, option)}
    pools = pools_of(plan, option, place.gpus, by_pod=True)
    # Goals, load and price are of the workers that decode, where two pools are apart.
    own, before = pools[-1], pools[0] if apart else None
    documents = {
        "replicas.yaml": [
            part
            for pool in pools
            for part in (_start(pool, place.namespace, serve_script(plan, pool)), workload(pool, place))
        ],
        "service.yaml": [
            *([] if before else [service(own, place)]),
            *(part for pool in pools for part in (disruption_budget(pool, place), *network_rules(pool, place))),
            *(handing_rules(before, own, place) if before else ()),
        ],
        "fetch.yaml": [fetch_rule(pool, place, target=option.target) for pool in pools],
    }
    if before:
        documents["router.yaml"] = router(before, own, place)
    if own.engine.metrics:
        documents["scaling.yaml"] = [
            scaling(pool, place, model=plan.workload.model, rules=scaling_rules(option)) for pool in pools
        ]
        documents["gateway.yaml"] = routed(plan.name, place) if before else gateway(own, place)
        groups = rules(plan, option, own.engine, unseen_s=first_token_after(plan, option), before=before)
        documents["monitoring/rules.yaml"] = [prometheus_rule(plan, place.namespace, groups)]
        documents["monitoring/pods.yaml"] = [
            *(pod_monitor(pool.name, place.namespace, pool.labels) for pool in pools),
            *(
                [pod_monitor(router_name(plan.name), place.namespace, router_labels(plan.name), port="metrics")]
                if before
                else []
            ),
        ]
    texts = {file: documents_text(parts) for file, parts in documents.items()}
    texts["deploy.env"] = _settings(plan, own, place, pools)
    texts["deploy.sh"] = _script("deploy.sh")
    texts["README.md"] = _readme(plan, option, own, place, before)
    files = {file: replace(text(body.rstrip("\n")), executable=file.endswith(".sh")) for file, body in texts.items()}
    return files | watching_files(plan, option, own.engine, before) | testing_files(plan, option)


def described_files(plan: ServingPlan, option: ServingOption, node_gpus: int) -> dict[str, File]:
    """Return what replicas take that no manifest is written for: pools that a framework cannot, slices of Slurm."""
    performance = option.performance
    own = performance.prefill_pool
    pools = [("", option)] if own is None else [(PREFILL, prefilling(option, own)), ("decode", option)]
    commands = []
    for role, one in pools:
        engine = engine_of(plan, one)
        command = shlex.join((*engine.command, *engine.arguments)) if engine.command else ""
        commands.append({"role": role, "command": command})
    page = render(
        FOLDER,
        "README_described.md.j2",
        title=plan.name,
        replicas=replicas_text(option),
        engine=plan.workload.framework,
        apart=own is not None,
        refusal=refusal(plan, option, node_gpus) if own else "",
        slice=performance.layout.slice,
        handing=f"{own.handing_s * 1e3:.3g} ms" if own else "",
        commands=commands,
    )
    return {"README.md": text(page)}


def watching_files(
    plan: ServingPlan, option: ServingOption, engine: Engine, before: Pool | None = None
) -> dict[str, File]:
    """Return the dashboard; nothing where the figures of the framework have no names."""
    if not engine.metrics:
        return {}
    drawn = dashboard(plan, option, engine, before)
    return {"monitoring/dashboard.json": text(json.dumps(drawn, indent=1, allow_nan=False))}


def testing_files(plan: ServingPlan, option: ServingOption) -> dict[str, File]:
    """Return the folder of the load test."""
    return {f"loadtest/{name}": file for name, file in load_test_files(plan, option).items()}


def _script(name: str) -> str:
    return (assets.root() / "templates" / FOLDER / name).read_text(encoding="utf-8")


def _start(pool: Pool, namespace: str, serve: str) -> dict[str, object]:
    """Return the scripts of a pod: what fetches the model, and what starts the engine."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{pool.name}-start", "namespace": namespace},
        "data": {
            "fetch_model.sh": LiteralScalarString(_script("fetch_model.sh")),
            "serve.sh": LiteralScalarString(serve),
        },
    }


def serve_script(plan: ServingPlan, pool: Pool) -> str:
    """Return what starts the engine in each pod of a replica, with the arguments that it is given."""
    engine = pool.engine
    return render(
        FOLDER,
        "serve.sh.j2",
        # A comment and a message: a framework that no table has is named by its owner.
        engine=engine.name if engine.framework else "the framework",
        valid=engine.valid if engine.framework else "",
        command=shlex.join(engine.command),
        framework=engine.framework,
        pods=pool.shape.pods,
        groups=fields_of(plan, pool.option)["attention_groups"],
    )


def _settings(plan: ServingPlan, own: Pool, place: PodPlace, pools: Sequence[Pool]) -> str:
    engine = own.engine
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
        "WORKLOAD_KIND": "Deployment" if all(pool.shape.pods == 1 for pool in pools) else "LeaderWorkerSet",
        "ENGINE_NAME": f"image of {engine.name}",
        "UNKNOWN_ENGINE": "" if engine.framework else unknown,
        "MODEL_FORMS": " or ".join(forms),
        "FEWEST": own.fewest,
        "MOST": own.most,
    }
    if len(pools) > 1:
        before = pools[0]
        command = " ".join(router_of(before, own, place.namespace).command[:3]).partition(" --")[0]
        values = {
            **values,
            "ROUTER_NAME": f"image of the router of {engine.name}, with {command} in it",
            "PREFILL_FEWEST": before.fewest,
            "PREFILL_MOST": before.most,
        }
    return "\n".join(f"{name}={shlex.quote(str(value))}" for name, value in values.items())


def _readme(plan: ServingPlan, option: ServingOption, own: Pool, place: PodPlace, before: Pool | None) -> str:
    engine, shape = own.engine, own.shape
    apart = {} if before is None else _pools_words(plan, option, before, own, place)
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
        apart=apart,
        fewest=own.fewest,
        most=own.most,
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
        fabric=shape.pods > 1 or (before is not None and before.shape.pods > 1),
        **watching_words(plan, engine, first_token_after(plan, option)),
    )


def _pools_words(
    plan: ServingPlan, option: ServingOption, before: Pool, own: Pool, place: PodPlace
) -> dict[str, object]:
    """Return what a README says of two pools: both as a table has them, the router, and how keys and values go."""
    pool, started = option.performance.prefill_pool, router_of(before, own, place.namespace)
    return {
        "pools": [
            {
                "role": one.role,
                "name": one.name,
                "kind": "Deployment" if one.shape.pods == 1 else f"LeaderWorkerSet of {one.shape.pods} pods",
                "gpus": one.shape.gpus,
                "fewest": one.fewest,
                "most": one.most,
                "spare": one.option.performance.spare_replicas,
                "each": f"{max(one.option.performance.in_flight, 1.0):.3g}",
                "arguments": shlex.join(one.engine.arguments),
                "fabric": ", ".join(f"{value} × `{name}`" for name, value in fabric_of(one, place)[0].items()),
            }
            for one in (before, own)
        ],
        "fixed": all(one.fewest == one.most for one in (before, own)),
        "router": router_name(plan.name),
        "command": shlex.join((*started.command, *started.found)),
        "read": started.read,
        "handing": f"{pool.handing_s * 1e3:.3g} ms" if pool else "",
        "handshake": " or ".join(str(port) for port in before.engine.ports.values()),
        "unseen": first_token_after(plan, option) > 0,
    }


def watching_words(plan: ServingPlan, engine: Engine, unseen_s: float = 0.0) -> dict[str, object]:
    """Return what a README says of the goals as Prometheus measures them."""
    ends = [f"{goal.bound_s:g} s for the {goal.words} ({goal.goal_s:g} s)" for goal in goals(plan, engine, unseen_s)]
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
