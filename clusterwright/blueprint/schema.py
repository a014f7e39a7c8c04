"""The blueprint: what the user writes, and the JSON Schema that editors use.

Every field's description is what an editor shows on hover. Values are SI floats after loading.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from clusterwright.blueprint import names
from clusterwright.blueprint.fields import (
    Allowed,
    ClusterName,
    Day,
    HostPrefix,
    Identifier,
    PartitionName,
    Section,
    Tags,
)
from clusterwright.blueprint.quantities import Duration, Fraction, Money
from clusterwright.blueprint.sections.clouds import AwsTarget, AzureTarget, GcpTarget
from clusterwright.blueprint.sections.data import DataLoading, Storage
from clusterwright.blueprint.sections.directory import DirectorySection
from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.blueprint.sections.jobs import Jobs
from clusterwright.blueprint.sections.networks import OnPremNetwork, PowerCap
from clusterwright.blueprint.sections.onprem_fabric import OnPremFabric, OnPremNode
from clusterwright.blueprint.sections.owned_storage import OwnedStorage
from clusterwright.blueprint.sections.schedule import LEAST_SHARED, MOST_SHARED, Schedule
from clusterwright.blueprint.sections.site import Site
from clusterwright.blueprint.sections.software import SoftwareSection
from clusterwright.blueprint.sections.tenants import MOST_TENANTS, TenantSection
from clusterwright.blueprint.sections.users import GroupSection, Identity, UserSection
from clusterwright.blueprint.sizes import Sizes, name_once
from clusterwright.blueprint.workloads.finetuning import Finetune
from clusterwright.blueprint.workloads.serving import ApiTarget, Replicas, Serve
from clusterwright.blueprint.workloads.traffic import Traffic
from clusterwright.blueprint.workloads.training import Train, beside_blueprint
from clusterwright.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

_Share = Annotated[Fraction, Field(ge=0, le=1)]
_Lead = Annotated[Duration, Field(ge=0, le=5 * 366 * 86400)]


class Spares(Section):
    """Shares of the parts, rounded up to whole ones. No reference architecture states any: they are the buyer's."""

    nodes: _Share = Field(0.0, description="of the nodes, kept cold; spare nodes that run are reliability.spare_nodes")
    switches: _Share = Field(0.0, description="of the switches, by type")
    transceivers: _Share = Field(0.02, description="of the transceivers, by type; 2 % is an assumption")
    cables: _Share = Field(0.02, description="of the cables, by type; 2 % is an assumption")
    pdus: _Share = Field(0.0, description="of the power distribution units")
    storage: _Share = Field(0.0, description="of the storage boxes")
    management: _Share = Field(0.0, description="of the management servers and fabric managers")


class LeadTimes(Section):
    """From order to delivery as the vendor said; what is not given is unknown."""

    nodes: _Lead | None = Field(None, description="lead time of nodes, for example 26 weeks")
    switches: _Lead | None = Field(None, description="lead time of switches, for example 20 weeks")
    transceivers: _Lead | None = Field(None, description="lead time of transceivers, for example 12 weeks")
    cables: _Lead | None = Field(None, description="lead time of cables, for example 6 weeks")
    pdus: _Lead | None = Field(None, description="lead time of power strips, for example 10 weeks")
    racks: _Lead | None = Field(None, description="lead time of racks, for example 8 weeks")
    storage: _Lead | None = Field(None, description="lead time of storage, for example 16 weeks")
    management: _Lead | None = Field(None, description="lead time of management servers, for example 8 weeks")


class Goals(Section):
    """What must be met."""

    finish_within: Annotated[Duration, Field(gt=0)] | None = Field(
        None, description="calendar time the run may take, for example 30 days"
    )
    confidence: Fraction = Field(
        0.9, ge=0.5, le=0.99, description="the goal is met when this quantile of calendar time meets it"
    )
    first_token: Annotated[Duration, Field(gt=0, le=86400)] | None = Field(
        None, description="serve: longest time from a request to its first token, for example 1 s"
    )
    time_per_token: Annotated[Duration, Field(gt=0, le=86400)] | None = Field(
        None, description="serve: longest time between two tokens of an answer, its mean, for example 50 ms"
    )
    percentile: Annotated[float, Field(gt=0, lt=100)] = Field(
        95.0, description="serve: percentile of requests that meets the two goals at the peak, for example 95"
    )
    memory_confidence: Annotated[Fraction, Field(ge=0.5, le=0.999)] = Field(
        0.95, description="train, finetune: a layout has to fit into memory with this probability, for example 95 %"
    )


class OnPremTarget(Sizes):
    """Hardware to buy."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["system"]}, {"required": ["allowed_systems"]}]}
    )

    hardware: ClassVar[tuple[str, str, str]] = ("system", "allowed_systems", "dgx-h100")

    system: Identifier | None = Field(None, description="a system of the catalogue, for example dgx-h100")
    allowed_systems: Allowed | None = Field(
        None, description="systems to choose the cheapest from, or any for every one of the catalogue"
    )
    power_cap: PowerCap = None
    network: OnPremNetwork = Field(default_factory=OnPremNetwork, description="the compute fabric and its use")
    fabric: OnPremFabric = Field(default_factory=OnPremFabric, description="what the compute fabric is built of")
    scheduler: Literal["slurm", "kubernetes"] = Field("slurm", description="what places jobs on the nodes")
    node: OnPremNode | None = Field(None, description="power, height and weight of one node, where you know better")
    storage: OwnedStorage | None = Field(
        None, description="shared storage to buy; without it a default system by capacity, its throughput unchecked"
    )
    spares: Spares = Field(default_factory=Spares, description="shares of the parts that are bought to lie in stock")
    lead_times: LeadTimes = Field(default_factory=LeadTimes, description="from order to delivery, by kind of part")
    parts: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(beside_blueprint)] | None = Field(
        None,
        description="CSV file beside the blueprint: watts, height, weight, price of own or known parts",
        examples=["parts.csv"],
    )

    @model_validator(mode="after")
    def _system_named(self) -> "OnPremTarget":
        name_once(self)
        if self.node is not None and self.system is None:
            raise PydanticCustomError(
                "node", "node says nothing of several systems", {"help": "name one system, or remove node"}
            )
        return self


#: Sections of the targets that have hardware, by name.
TARGET_SECTIONS: Mapping[str, type[Sizes]] = MappingProxyType(
    {"aws": AwsTarget, "azure": AzureTarget, "gcp": GcpTarget, "onprem": OnPremTarget}
)
TARGETS = tuple(TARGET_SECTIONS)


class Targets(Section):
    """Where the workload may run; one plan each."""

    aws: AwsTarget | None = None
    azure: AzureTarget | None = None
    gcp: GcpTarget | None = None
    onprem: OnPremTarget | None = None
    api: ApiTarget | None = Field(None, description="serve: hosted models to compare the clusters with")

    @model_validator(mode="after")
    def _at_least_one(self) -> "Targets":
        if all(getattr(self, name) is None for name in TARGETS):
            raise PydanticCustomError("targets", "no target is given", {"help": f"add one of {', '.join(TARGETS)}"})
        return self


class EconomicsSection(Section):
    """What money is counted with."""

    as_of: Day | None = Field(None, description="day whose prices hold; the newest shipped price's day by default")
    horizon: Duration = Field(
        36 * 730 * 3600.0, ge=86400, le=20 * 8760 * 3600.0, description="view of owning or renting"
    )
    runs: Annotated[float, Field(ge=0.001, le=1_000_000)] | None = Field(
        None, description="runs of this workload in the horizon, growth included, for example 36; not with utilisation"
    )
    runs_per_month: Annotated[float, Field(ge=1e-6, le=1_000_000)] | None = Field(
        None, description="runs in a month of 730 hours, another way to write runs, for example 4"
    )
    utilisation: Annotated[Fraction, Field(ge=0.001, le=1)] | None = Field(
        None, description="share of the horizon that the cluster works; 80 % by default, or what runs take"
    )
    hours_per_month: float = Field(
        730.0, ge=672, le=744, description="hours that a month is counted with: 730 (8,760 a year), or 720"
    )
    discount_rate: Fraction = Field(0.08, ge=0, le=1, description="per year, for net present value")
    budget: Money | None = Field(None, gt=0, description="most that one run may cost")
    max_price_age: Duration = Field(
        180 * 86400.0,
        gt=0,
        le=20 * 8760 * 3600.0,
        description="prices last seen longer than this before as_of are warned of, for example 90 days",
    )

    @model_validator(mode="after")
    def _work_given_once(self) -> "EconomicsSection":
        given = [name for name in ("runs", "runs_per_month", "utilisation") if getattr(self, name) is not None]
        if len(given) > 1:
            raise PydanticCustomError(
                "choice",
                "{first} and {second} both give the work of the horizon",
                {
                    "first": given[0],
                    "second": given[1],
                    "at": given[1],
                    "help": f"keep one of the {'two' if len(given) == 2 else 'three'}; null takes the other away",  # noqa: PLR2004
                },
            )
        return self

    @property
    def work_runs(self) -> float | None:
        """Runs of the horizon, as `runs` or `runs_per_month` gives them; None where the utilisation does."""
        if self.runs_per_month is None:
            return self.runs
        return self.runs_per_month * self.horizon / (HOURS_PER_MONTH * SECONDS_PER_HOUR)


class Checkpointing(Section):
    """How checkpoints are taken and which of them stay."""

    strategy: Literal["full", "distributed", "async", "memory", "incremental"] = Field(
        "async",
        description="full: one writer, training waits; distributed: all ranks write, training waits; async: written "
        "behind training; memory: kept in peers' host memory and flushed to storage; incremental: only what changed",
    )
    keep: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, description="latest checkpoints kept; 5 by default")
    milestone_every: Annotated[Duration, Field(ge=3600)] | None = Field(
        None, description="run time between checkpoints that are kept for good, for example 2 days; none by default"
    )
    write_within: Annotated[Duration, Field(ge=1, le=86400)] | None = Field(
        None, description="time in which storage takes a whole checkpoint; 60 s by default"
    )
    flush_every: Annotated[Duration, Field(ge=60, le=86400)] | None = Field(
        None, description="strategy memory: time between two copies to storage; 30 min by default"
    )
    changed: Fraction = Field(
        1.0, gt=0, le=1, description="strategy incremental: share of the bytes that changes; Adam changes all"
    )


class ReliabilitySection(Section):
    """Failures, and what is done about them."""

    checkpoint: Checkpointing = Field(default_factory=Checkpointing, description="checkpoints")
    spare_nodes: Annotated[int, Field(ge=0, le=10_000)] = Field(
        0, description="nodes in working order beside those that train, bought or rented too"
    )
    elastic: bool = Field(False, description="go on with fewer replicas while a node is missing and no spare is left")
    repair: Annotated[Duration, Field(gt=0, le=90 * 86400)] | None = Field(
        None, description="until a broken node is back, for example 24 h; part of restart by default"
    )
    detection: Annotated[Duration, Field(ge=0, le=86400)] | None = Field(
        None, description="from a failure to knowing it; 10 min by default"
    )
    restart: Annotated[Duration, Field(ge=0, le=86400)] | None = Field(
        None, description="from there to training again, with loading; 5 min by default"
    )
    interruptions_per_1000_node_days: Annotated[float, Field(ge=0, le=100_000)] | None = Field(
        None, description="failures that stop the job; 3.3 by default, and one a day whatever its size"
    )
    spot_interruptions_per_1000_node_days: Annotated[float, Field(ge=0, le=100_000)] | None = Field(
        None, description="nodes that a cloud takes back where capacity is spot; 7.3 by default, an assumption"
    )


class Cluster(Section):
    """Names that reach Slurm, hosts and cloud resources, and when the GPU nodes of a cloud are stopped."""

    name: ClusterName | None = Field(None, description="Slurm cluster name; the blueprint's name by default")
    partition: PartitionName = Field("gpu", description="Slurm partition")
    host_prefix: HostPrefix = Field("node", description="host names on premises, followed by a number")
    tags: Tags = Field(default_factory=dict, description="put on every cloud resource, for example {owner: research}")
    time_to_live: Annotated[Duration, Field(ge=3600, le=366 * 86400)] | None = Field(
        None, description="cloud: after this time the GPU nodes are stopped, for example 7 days; never by default"
    )
    stop_when_idle: Annotated[Duration, Field(ge=900, le=7 * 86400)] | None = Field(
        None, description="cloud: the GPU nodes are stopped when no GPU worked for so long, for example 2 h"
    )
    jobs: Jobs = Field(default_factory=Jobs, description="software, data and tokenizer of the training job")
    users: list[UserSection] = Field(default_factory=list, description="who works on a cluster with Slurm")
    groups: list[GroupSection] = Field(default_factory=list, description="groups of users, for shared files")
    identity: Identity = Field(
        "local",
        description="local: users and groups are made on every machine; directory: beside them, machines ask directory",
    )
    directory: DirectorySection | None = Field(
        None, description="LDAP server or Active Directory whose users work on a cluster with Slurm; none by default"
    )


class Blueprint(Section):
    """One AI workload, what it must achieve, and where it may run."""

    name: ClusterName = Field(description="short name, used for files and resources")
    description: Annotated[str, AfterValidator(names.plain)] = Field(
        "", max_length=500, description="one line for people"
    )
    workload: Annotated[Train | Finetune | Serve, Field(discriminator="kind")]
    traffic: Traffic | None = Field(None, description="serve: who asks, how often, how long")
    replicas: Replicas = Field(default_factory=Replicas, description="serve: copies of the model")
    goals: Goals = Field(default_factory=Goals)
    targets: Targets
    economics: EconomicsSection = Field(default_factory=EconomicsSection)
    tco: TcoSection = Field(default_factory=TcoSection)
    site: Site = Field(default_factory=Site)
    storage: Storage = Field(default_factory=Storage)
    data: DataLoading = Field(default_factory=DataLoading)
    reliability: ReliabilitySection = Field(default_factory=ReliabilitySection)
    cluster: Cluster = Field(default_factory=Cluster)
    software: SoftwareSection = Field(default_factory=SoftwareSection)
    tenants: Annotated[list[TenantSection], Field(max_length=MOST_TENANTS)] = Field(
        default_factory=list, description="who shares an own cluster, and with how much of it"
    )


class SharedWorkload(Schedule):
    """One of several workloads; its sections are those of a blueprint with one."""

    workload: Annotated[Train | Finetune | Serve, Field(discriminator="kind")]
    traffic: Traffic | None = Field(None, description="serve: who asks, how often, how long")
    replicas: Replicas = Field(default_factory=Replicas, description="serve: copies of the model")
    goals: Goals = Field(default_factory=Goals)
    storage: Storage = Field(default_factory=Storage)
    data: DataLoading = Field(default_factory=DataLoading)
    reliability: ReliabilitySection = Field(default_factory=ReliabilitySection)


def serve_of(blueprint: Blueprint) -> tuple[Serve, Traffic]:
    """Return the workload of a blueprint whose kind is `serve`, and its traffic, without which none is resolved."""
    assert isinstance(blueprint.workload, Serve)  # noqa: S101 - chosen by kind
    assert blueprint.traffic is not None  # noqa: S101 - `blueprint.rules.kinds` refuses it
    return blueprint.workload, blueprint.traffic


def finetune_of(blueprint: Blueprint) -> Finetune:
    """Return the workload of a blueprint whose kind is `finetune`."""
    assert isinstance(blueprint.workload, Finetune)  # noqa: S101 - chosen by kind
    return blueprint.workload


def train_of(blueprint: Blueprint) -> Train:
    """Return the workload of a blueprint whose kind is `train`."""
    assert isinstance(blueprint.workload, Train)  # noqa: S101 - chosen by kind
    return blueprint.workload


def json_schema() -> dict[str, Any]:
    """Return the blueprint's JSON Schema (draft 7, which editors read)."""
    schema = Blueprint.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs")
    entry = SharedWorkload.model_json_schema(ref_template="#/definitions/{model}")
    definitions |= {**entry.pop("$defs"), "SharedWorkload": entry}
    schema["properties"]["workloads"] = {
        "type": "array",
        "minItems": LEAST_SHARED,
        "maxItems": MOST_SHARED,
        "items": {"$ref": "#/definitions/SharedWorkload"},
        "description": "in the place of workload: several that share the targets",
    }
    schema["required"].remove("workload")
    schema["oneOf"] = [{"required": ["workload"]}, {"required": ["workloads"]}]
    for definition in (schema, *definitions.values()):
        _plain(definition)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Clusterwright blueprint",
        **{key: value for key, value in schema.items() if key != "title"},
        "definitions": definitions,
    }


def _plain(node: Any) -> None:  # noqa: ANN401 - JSON
    """Drop what pydantic adds that editors show as noise: titles, SI defaults of quantities, OpenAPI discriminators."""
    if isinstance(node, list):
        for item in node:
            _plain(item)
        return
    if not isinstance(node, dict):
        return
    if isinstance(node.get("title"), str) and "properties" not in node.get("title", ""):
        node.pop("title")
    node.pop("discriminator", None)
    if "pattern" in node or "anyOf" in node:
        for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default"):
            node.pop(key, None)
    for key, value in node.items():
        if key == "properties":
            for child in value.values():
                _plain(child)
        else:
            _plain(value)
