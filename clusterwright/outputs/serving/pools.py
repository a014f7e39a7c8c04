"""The pools of a service: replicas that do all, or workers that prefill and workers that decode, each pool of its own.

`catalog/engine_pools.csv` has what a framework calls the two roles, what they open and set, and what the router in
front of them is called with. In its values words in capitals stand for what a plan or a place knows.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from clusterwright.outputs.serving.engine import (
    Engine,
    Version,
    engine_of,
    framework_named,
    knows,
    metrics,
    rows_of,
    version_of,
    version_text,
)
from clusterwright.outputs.serving.places import ReplicaShape, shape_of
from clusterwright.plan.serving.pools import fewest_replicas, most_replicas, prefilling
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.sizing.serving.sizes import ReplicaLayout

#: Role of replicas that compute inputs and decode.
WHOLE = "engine"
PREFILL, DECODE, ROUTER = "prefill", "decode", "router"
NAME_LABEL, ROLE_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/component"
LEADER = "leaderworkerset.sigs.k8s.io/worker-index"
#: Fields of the metrics that the workers which prefill count; those that decode count the rest.
_OF_INPUTS = ("input_tokens",)
_WORD = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolFact:
    """One row of `engine_pools.csv`.

    Attributes:
        framework: its name; role: of a worker, or the router.
        form: `flag`, `switch` for one that is alone, `setting` of the environment, `port`, `command`, `measures` for a
            field that this role measures whole, and of the router `found` for flags by which it finds pods, `listed`
            for one with the address of each worker.
        name: as it is typed; value: what it is given.
        unless: two words with `=` between; what is equal is not written.
        since: the oldest version in which it was read; before: the first without it, empty for none.
    """

    framework: str
    role: str
    form: str
    name: str
    value: str
    unless: str
    since: Version
    before: Version
    source: str
    read_on: str


@cache
def pool_facts() -> tuple[PoolFact, ...]:
    """Return every row of the table, in its order."""
    return tuple(
        PoolFact(**row | {"since": version_of(row["since"]), "before": version_of(row["before"])})  # type: ignore[arg-type]
        for row in rows_of("engine_pools.csv")
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Pool:
    """Replicas that are kept and scaled together.

    Attributes:
        service: its name; role: `engine` where replicas do all, else `prefill` or `decode`.
        option: the target, with layout, memory, counts and load of this pool.
        engine: how a replica is started; shape: how it lies on nodes.
    """

    service: str
    role: str
    option: ServingOption
    engine: Engine
    shape: ReplicaShape

    @property
    def name(self) -> str:
        """Name of what keeps the replicas."""
        return self.service if self.role == WHOLE else f"{self.service}-{self.role}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels that every pod of the pool has."""
        return {NAME_LABEL: self.service, ROLE_LABEL: self.role}

    @property
    def answering(self) -> dict[str, str]:
        """Labels of the pods that answer requests: the leaders where a replica has several pods."""
        return self.labels | ({LEADER: "0"} if self.shape.pods > 1 else {})

    @property
    def fewest(self) -> int:
        """Replicas that are always kept."""
        return fewest_replicas(self.option)

    @property
    def most(self) -> int:
        """Replicas of the peak with the spare ones."""
        return most_replicas(self.option)


def refusal(plan: ServingPlan, option: ServingOption, node_gpus: int) -> str:
    """Return why no workers of two pools can be written for a target, as a sentence; empty where they can be."""
    own = option.performance.prefill_pool
    framework, version = framework_named(plan.workload.framework)
    facts = _facts(framework)
    if own is None or not framework or not facts:
        return f"No table has how {plan.workload.framework} keeps prefill and decode apart."
    oldest = min(row.since for row in facts)
    if version and version < oldest:
        return f"How it keeps prefill and decode apart was read in {version_text(oldest)} and newer."
    unfit = _sizes_refused(framework, own.layout, option.performance.layout, node_gpus)
    words = _sizes(own.layout, option.performance.layout)
    unknown = [row for row in _written(facts, words) if version and not knows(row, version)]
    if unknown and not unfit:
        since = version_text(max(row.since for row in unknown))
        return f"Pools of these sizes need {unknown[0].name}, which was read in {since} and newer."
    return unfit


def _sizes_refused(framework: str, before: ReplicaLayout, after: ReplicaLayout, node_gpus: int) -> str:
    """Return why a framework hands nothing from workers of one layout to those of another; empty where it does."""
    sizes = f"{_attention(before, framework)} and {_attention(after, framework)} accelerators"
    if framework != "vllm":
        apart = max(before.gpus, after.gpus) % min(before.gpus, after.gpus)
        return f"It hands keys and values between sizes of which one divides the other: {sizes}." if apart else ""
    if after.tensor % before.tensor:
        return f"Its NixlConnector hands no keys and values to a narrower split of attention: {sizes}."
    if max(before.tensor, after.tensor) > node_gpus:
        return "Its NixlConnector asks one address for all parts of a split, which here lies on several nodes."
    return ""


def _attention(layout: ReplicaLayout, framework: str) -> int:
    return layout.tensor if framework == "vllm" else layout.gpus


def _facts(framework: str) -> tuple[PoolFact, ...]:
    return tuple(row for row in pool_facts() if row.framework == framework)


def _sizes(before: ReplicaLayout, after: ReplicaLayout) -> dict[str, str]:
    def groups(layout: ReplicaLayout) -> str:
        return str(layout.gpus // (layout.tensor * layout.pipeline))

    return {
        "PREFILL_GPUS": str(before.gpus // before.pipeline),
        "DECODE_GPUS": str(after.gpus // after.pipeline),
        "PREFILL_GROUPS": groups(before),
        "DECODE_GROUPS": groups(after),
    }


def _written(facts: tuple[PoolFact, ...], words: Mapping[str, str]) -> Iterator[PoolFact]:
    """Yield the rows that are not left out, with their values filled in."""
    for row in facts:
        left, _, right = _filled(row.unless, words).partition("=")
        if not row.unless or left != right:
            yield replace(row, value=_filled(row.value, words))


def _filled(text: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: words.get(match[0], match[0]), text)


def pools_of(plan: ServingPlan, option: ServingOption, node_gpus: int, *, by_pod: bool) -> tuple[Pool, ...]:
    """Return the pools of a target: one, or that which prefills and then that which decodes.

    Args:
        plan: for names and lengths.
        option: the target.
        node_gpus: accelerators of a node.
        by_pod: figures have the label `pod`, as Kubernetes gives it; else a label `pool` that their reader sets.

    Raises:
        RuleError: the framework's version does not have what the plan needs.
    """
    own = option.performance.prefill_pool
    if own is None:
        engine = engine_of(plan, option)
        return (Pool(service=plan.name, role=WHOLE, option=option, engine=engine, shape=shape_of(option, node_gpus)),)
    words = _sizes(own.layout, option.performance.layout)
    found = []
    for role, of_role in ((PREFILL, prefilling(option, own)), (DECODE, option)):
        engine = engine_of(plan, of_role)
        rows = [row for row in _written(_facts(engine.framework), words) if row.role == role]
        engine = replace(
            engine,
            arguments=(*engine.arguments, *(word for row in rows for word in _typed(row))),
            settings={row.name: row.value for row in rows if row.form == "setting"},
            ports={row.name: int(row.value) for row in rows if row.form == "port"},
            watched=watched(plan.name, engine.framework, role, by_pod=by_pod),
        )
        found.append(
            Pool(service=plan.name, role=role, option=of_role, engine=engine, shape=shape_of(of_role, node_gpus))
        )
    return tuple(found)


def _typed(row: PoolFact) -> tuple[str, ...]:
    """Return a flag with its value as words; labels are words each, JSON is one."""
    if row.form not in ("flag", "switch", "found"):
        return ()
    return (row.name, *([row.value] if row.value.startswith("{") else row.value.split()))


def role_label(service: str, role: str, *, by_pod: bool) -> str:
    """Return the label that tells the figures of a pool from those of the other, as PromQL."""
    return f'pod=~"{service}-{role}-.*"' if by_pod else f'pool="{role}"'


def watched(service: str, framework: str, role: str, *, by_pod: bool) -> dict[str, str]:
    """Return the label of the workers that each field of the metrics is read from.

    Tokens of inputs and first tokens are counted where the table says; of what both pools have, each its own.
    """
    measured = {row.name: row.role for row in _facts(framework) if row.form == "measures"}
    measured |= dict.fromkeys(_OF_INPUTS, PREFILL)
    shared = ("requests_running", "requests_waiting", "cache_share")
    return {
        row.field: role_label(service, role if row.field in shared else measured.get(row.field, DECODE), by_pod=by_pod)
        for row in metrics()
        if row.framework == framework
    }


def first_token_after(plan: ServingPlan, option: ServingOption) -> float:
    """Return the seconds of a first token that the workers who measure it do not see: handing over and a step."""
    own = option.performance.prefill_pool
    framework, _ = framework_named(plan.workload.framework)
    of_prefill = any(row.form == "measures" and row.role == PREFILL for row in _facts(framework))
    return own.handing_s + option.performance.mean_time_per_token_s if own is not None and of_prefill else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Router:
    """What sends each request to a worker of either pool.

    Attributes:
        command: with its flags; found: flags by which it finds the pods of a namespace; listed: by role, the flag that
            the address of a worker follows; metrics_port: of its figures; read: package and day, as a sentence.
    """

    command: tuple[str, ...]
    found: tuple[str, ...]
    listed: Mapping[str, str]
    metrics_port: int
    read: str


def router_of(before: Pool, after: Pool, namespace: str) -> Router:
    """Return the router of two pools; requests beyond those that the workers which decode take at once are refused.

    Args:
        before: that prefills.
        after: that decodes.
        namespace: of the pods.
    """

    def selector(pool: Pool) -> str:
        return " ".join(f"{key}={value}" for key, value in pool.answering.items())

    words = {
        "NAMESPACE": namespace,
        "PREFILL_LABELS": selector(before),
        "DECODE_LABELS": selector(after),
        "REQUESTS": str(after.engine.sequences * after.most),
    }
    rows = [row for row in _written(_facts(after.engine.framework), words) if row.role == ROUTER]
    (command,) = (row for row in rows if row.form == "command")
    flags = [row for row in rows if row.form == "flag"]
    return Router(
        command=(*shlex.split(command.value or command.name), *(word for row in flags for word in _typed(row))),
        found=tuple(word for row in rows if row.form == "found" for word in _typed(row)),
        listed={row.name.removeprefix("--"): row.name for row in rows if row.form == "listed"},
        metrics_port=next(int(row.value) for row in rows if row.form == "port"),
        read=f"{flags[0].source.partition(':')[0]}, read on {flags[0].read_on}",
    )
