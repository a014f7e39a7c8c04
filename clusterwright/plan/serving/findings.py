"""What is wrong with a service on a target, and what would make it right."""

from collections.abc import Iterator, Sequence

from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint, serve_of
from clusterwright.catalog.records import Model, NodeType
from clusterwright.errors import Finding
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.serving.record import Outcome, ServingOption
from clusterwright.sizing.serving.calibration import Calibration
from clusterwright.sizing.serving.confidence import EVEN_ODDS, FAVOURABLE
from clusterwright.sizing.serving.configuration import framework_of
from clusterwright.sizing.serving.replica_times import least_accelerators
from clusterwright.sizing.serving.service import Service
from clusterwright.units import counted, latency_text, percent


def does_not_fit(service: Service, node: NodeType, calibration: Calibration) -> Finding:
    """Return `SRV010`: no layout holds the weights and one request, with the fewest accelerators that do."""
    least = least_accelerators(service, node, calibration)
    held = next((f"{name} {size}" for name, size in _held(service) if size is not None), "")
    if held and least is not None and least <= node.gpus:
        advice = f"remove workload.parallelism.{held.split()[0]}: {least} × {node.accelerator.name} hold it"
    elif least is None:
        advice = "choose an accelerator with more memory, or fewer bits for the weights"
    else:
        nodes = -(-least // node.gpus)
        advice = (
            f"{least} × {node.accelerator.name} hold it, but no bandwidth between several {node.id} is known: choose "
            "larger nodes, or nodes with a GPU fabric, or fewer bits for the weights"
            if not node.reaches_others
            else f"the smallest that holds it is {least} × {node.accelerator.name} ({nodes} × {node.id}): allow "
            f"{nodes} nodes for each replica, choose nodes with more memory, or fewer bits for the weights"
        )
    return Finding(
        id="SRV010",
        path=("workload", "model"),
        message=(
            f"{service.model.name} in {service.precision} and one request do not fit on any layout of {node.id}"
            f"{f' with {held}' if held else ''}"
        ),
        help=advice,
    )


def _held(service: Service) -> Iterator[tuple[str, int | None]]:
    yield "tensor", service.tensor
    yield "pipeline", service.pipeline
    yield "expert", service.expert


def too_few_nodes(needed: int, bounds: NodeBounds, target: str, *, replicas: int) -> Finding:
    """Return `SRV011`: the target may not have the nodes that the peak and the spare replicas need."""
    most = bounds.most or max(bounds.counts or (0,))
    beside = f", beside {bounds.divided:,} with divided or shared GPUs" if bounds.divided else ""
    return Finding(
        id="SRV011",
        path=("targets", target, "max_nodes"),
        message=f"{counted(replicas, 'replica')} for the peak and the spare ones need {counted(needed, 'node')}"
        f"{beside}; {most:,} can be had",
        help="allow more nodes, lower replicas.spare, loosen the goals, or choose nodes with more memory bandwidth",
    )


def missed(blueprint: Blueprint, option: ServingOption, target: ResolvedTarget) -> Iterator[Finding]:
    """Yield which goals are missed: `SRV012` to `SRV015`.

    A goal that nothing can meet is `SRV012`; one that even the favourable end of the nearest layout's band misses is
    `SRV013` or `SRV014`; goals that this end meets are `SRV015`.
    """
    performance = option.performance
    goals = blueprint.goals
    hardware = "system" if target.system else "instance"
    times = (
        (
            "time_per_token",
            goals.time_per_token,
            performance.time_per_token_bound_s,
            performance.time_per_token_s,
        ),
        ("first_token", goals.first_token, performance.first_token_bound_s, performance.first_token_s),
    )
    if performance.outcome is Outcome.UNCERTAIN:
        yield Finding(
            id="SRV015",
            path=("goals",),
            message=f"{option.target}: {performance.outlook}",
            help=f"load-test one replica and calibrate (clusterwright calibrate), choose a faster {hardware} or one "
            "that was measured, or loosen the goals",
        )
        return
    late = max(found.at(FAVOURABLE) / goal for _, goal, _, found in times if goal is not None)
    for name, goal, bound, found in times:
        if goal is None:
            continue
        spoken, what = name.replace("_", " "), _BOUND[name]
        if goal < bound:
            yield Finding(
                id="SRV012",
                path=("goals", name),
                message=(
                    f"{option.target}: a {spoken} of {latency_text(goal)} is below the bound of {latency_text(bound)}, "
                    f"in which {performance.layout.gpus} × {option.cluster.accelerator_name} {what}"
                ),
                help=f"set goals.{name} above {latency_text(bound)}, choose fewer bits for the weights, or a faster "
                f"{hardware}",
            )
        elif found.at(FAVOURABLE) / goal >= min(late, 1.0):
            yield Finding(
                id="SRV013" if name == "time_per_token" else "SRV014",
                path=("goals", name),
                message=(
                    f"{option.target}: not possible: the {spoken} of the nearest layout is {latency_text(found.value)} "
                    f"({latency_text(found.low)} to {latency_text(found.high)}), P{goals.percentile:g}; "
                    f"the goal is {latency_text(goal)}"
                ),
                help=(
                    f"set goals.{name} to {latency_text(found.value)} for even odds, to {latency_text(found.high)} "
                    f"for 90 %, or choose a faster {hardware}"
                ),
            )


_BOUND = {
    "time_per_token": "read what one token needs of the weights",
    "first_token": "compute an input of mean length at their peak",
}


def unknown_framework(blueprint: Blueprint, calibration: Calibration) -> tuple[Finding, ...]:
    """Return `SRV020` where no measurement is of the framework that is named."""
    workload, _ = serve_of(blueprint)
    if calibration.knows_framework(framework_of(workload.framework)):
        return ()
    return (
        Finding(
            id="SRV020",
            path=("workload", "framework"),
            message=f"no measurement is of {workload.framework}: its figures are those of all frameworks, with a wider "
            "band",
            help="vllm, sglang and tensorrt-llm have measurements of their own; clusterwright calibrate takes yours",
        ),
    )


def beyond_context(service: Service, model: Model) -> Iterator[Finding]:
    """Yield `SRV025`: some requests are longer than the model's context."""
    longest = service.inputs.p95 + service.outputs.mean
    if model.max_context is not None and longest > model.max_context:
        yield Finding(
            id="SRV025",
            path=("traffic", "input_tokens"),
            message=f"5 of 100 requests are longer than {longest:,.0f} tokens with their answers; the context of "
            f"{model.name} is {model.max_context:,}",
            help="cut such requests, or choose a model with a longer context; they are sized as if they were answered",
        )


def unmeasured(service: Service) -> Iterator[Finding]:
    """Yield `SRV024` for what the service does that no measurement is of."""
    if service.unmeasured:
        yield Finding(
            id="SRV024",
            path=("workload",),
            message=f"no measurement is of {', '.join(service.unmeasured)}: the bands are wider by an estimate",
            help="load-test one replica; clusterwright calibrate takes what you measure",
        )


def undivided(options: Sequence[ServingOption]) -> Iterator[Finding]:
    """Yield `MIG006` where replicas have slices of GPUs that the project of a cloud does not divide."""
    for option in options:
        profile = option.performance.layout.slice
        if profile and option.design.facility is None:
            yield Finding(
                id="MIG006",
                path=("workload", "options", "mig_slices"),
                message=f"{option.target}: replicas have slices of GPUs ({profile}), and the project divides none: its "
                "pods stay pending until nodes offer them",
                help="have NVIDIA's GPU operator divide the nodes: strategy mixed, label "
                f"nvidia.com/mig.config=all-{profile} (serving/README.md); or leave out mig_slices",
            )


def no_draft_heads(service: Service, model: Model) -> Iterator[Finding]:
    """Yield `SRV027`: no heads of the model are known that draft the tokens, as `mtp` has them."""
    if service.speculative == "mtp" and not model.further_token_layers:
        yield Finding(
            id="SRV027",
            path=("workload", "options", "speculative"),
            message=f"no heads that predict further tokens are known of {model.name}; a framework without them does "
            "not start",
            help="look for num_nextn_predict_layers or mtp layers in its config.json; without them use eagle, ngram or "
            "draft_model",
        )


def few_at_most(blueprint: Blueprint, options: Sequence[ServingOption]) -> Iterator[Finding]:
    """Yield `SRV026` where an autoscaler may not have the replicas that the peak needs."""
    asked = blueprint.replicas.autoscaling
    for option in options:
        if asked is not None and asked.most is not None and asked.most < option.performance.replicas:
            yield Finding(
                id="SRV026",
                path=("replicas", "autoscaling", "most"),
                message=f"{option.target}: the peak needs {counted(option.performance.replicas, 'replica')}, and at "
                f"most {asked.most:,} are allowed",
                help=f"raise most to {option.performance.replicas:,}, or loosen the goals",
            )


#: Nodes over those at even odds from which a confidence is costly.
COSTLY = 1.5


def costly_confidence(options: Sequence[ServingOption], *, asked: bool) -> list[Finding]:
    """Return `SRV022` for targets on which most nodes would be, or are, for the width of the band.

    More replicas shorten a queue; they do not make a prediction surer.

    Args:
        options: as they were sized.
        asked: whether the blueprint sets the confidence, which is obeyed; else such targets are sized at even odds.
    """
    targets: dict[tuple[str, str], list[str]] = {}
    for option in options:
        sure, even = option.performance.sure_nodes, option.performance.even_odds_nodes
        if option.performance.outcome is not Outcome.MET or even is None:
            continue
        confidence = percent(option.performance.goal_confidence)
        costly_nodes = COSTLY * (even - option.cluster.divided_nodes) + 1
        if asked and option.performance.confidence > EVEN_ODDS and option.cluster.work_nodes >= costly_nodes:
            text = (
                f"{confidence} confidence takes {option.cluster.nodes:,} nodes, even odds {even:,}: the "
                "difference is for the band of the prediction, not for the load"
            )
            advice = "remove goals.confidence, or set it to 0.5, and load-test one replica"
        elif not asked and option.performance.confidence < option.performance.goal_confidence:
            more = f"{confidence} would take {sure:,}" if sure else f"no layout reaches {confidence}"
            nodes = counted(option.cluster.nodes, "node")
            text = f"sized at even odds with {nodes}; {more}: the prediction is uncertain"
            advice = "load-test one replica; goals.confidence asks for more"
        else:
            continue
        targets.setdefault((text, advice), []).append(option.target)
    return [
        Finding(
            id="SRV022",
            path=("goals", "confidence"),
            message=f"{', '.join(alike)}: {text}",
            help=f"{advice}; clusterwright calibrate narrows the band with what you measure",
        )
        for (text, advice), alike in targets.items()
    ]


#: Goals that are looked at beside those that are set, as a multiple of them.
LOOSER = 1.25


def goals_at_the_edge(option: ServingOption, nodes: int) -> Finding:
    """Return `SRV023`: what goals that are a little looser would take."""
    return Finding(
        id="SRV023",
        path=("goals",),
        message=f"{option.target}: the goals leave a replica {option.performance.in_flight:.1f} requests at once: "
        f"{counted(option.cluster.work_nodes, 'node')}, and {nodes:,} were first token and time per token "
        f"{percent(LOOSER - 1.0)} longer",
        help="loosen the goals, raise traffic.prefix_cache_hit if more is shared, or choose faster hardware",
    )


def capped_power(blueprint: Blueprint) -> Iterator[Finding]:
    """Yield `SRV021` for power caps, which predictions of serving do not count."""
    for name in ("aws", "azure", "gcp", "onprem"):
        asked = getattr(blueprint.targets, name)
        if asked is not None and getattr(asked, "power_cap", None) is not None:
            yield Finding(
                id="SRV021",
                path=("targets", name, "power_cap"),
                message=f"targets.{name}.power_cap slows no prediction of a service",
                help="measure a replica with the cap, or remove it",
            )
