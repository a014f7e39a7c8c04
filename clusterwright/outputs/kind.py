"""What a kind of workload adds to the deliverables. Everything else in them is the same for all kinds.

A kind without parts of its own gets what is common: answer, money, bill, cluster, method. `outputs.kinds` lists them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from clusterwright.catalog.records import Catalogue
from clusterwright.facility.design import OnPremDesign
from clusterwright.outputs.folder import File
from clusterwright.outputs.kubernetes.cluster import KubernetesCluster
from clusterwright.outputs.page_parts import Cell, Chart, Table
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_TARGET, capital
from clusterwright.units import duration_text, percent


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One line of the acceptance test: what to do, and the value of the plan that must come out."""

    do: str
    expect: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """How the work is started on a cluster that is up, as the README of a project says.

    Attributes:
        title: of its section; who: starts it, and by what right; command: of the shell; more: what else to read.
    """

    title: str
    who: str
    command: str
    more: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterJob:
    """The work as a job of a Kubernetes cluster on premises.

    Attributes:
        files: texts by name within `jobs/`.
        row: of the README's table; image: what the image has to hold besides PyTorch.
        source: a line on where the program comes from; to_set: what only the user knows.
    """

    files: Mapping[str, str]
    row: str
    image: str
    source: str
    to_set: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """The work as the command of other deployment tools.

    Attributes:
        command: shell that every node runs; environment: variables that it reads; holds: what an image needs for it.
        sources, to_set: what only the user knows, before and after the image.
    """

    command: str = 'echo "no command is written for this kind of work" >&2\nexit 2\n'
    environment: Mapping[str, str] = field(default_factory=dict)
    holds: str = "what the work needs"
    sources: Sequence[str] = ()
    to_set: Sequence[str] = ("run (the command of the work)",)


def limits(option: Option) -> str:
    """Return what limits the work on a cluster, in a line; empty where nobody knows."""
    performance = option.performance
    return f"limited by {', '.join(performance.limited_by)}" if performance.limited_by else ""


def reason(_: Plan, option: Option) -> str:
    """Return why a cluster is the answer for its target, in a line."""
    figures = [f"{name} {value}" for name, value in option.key_figures]
    useful = f"useful share of time {percent(option.performance.goodput)}"
    return f"{'; '.join((*figures, useful, *filter(None, (limits(option),))))}."


def goal(plan: Plan) -> str:
    """Return what the chosen sizes meet, as part of a sentence."""
    days = plan.goals.finish_within_days
    if days is None:
        return "no goal for time"
    return f"the goal of {duration_text(days)} at {percent(plan.goals.confidence)} confidence"


def cluster_table(plan: Plan, _: MoneyFormat) -> Table:
    """Return how each target does the work: the figures of its kind, and what limits it."""
    names = list(dict.fromkeys(name for option in plan.options for name, _ in option.key_figures))
    return Table(
        columns=("Where", *names, "Useful share of time", "Limited by"),
        rows=tuple(
            (
                Cell(text=capital(NAME_OF_TARGET[option.target])),
                *(Cell(text=dict(option.key_figures).get(name, "–")) for name in names),
                Cell(text=percent(option.performance.goodput)),
                Cell(text="; ".join(option.performance.limited_by) or "–"),
            )
            for option in plan.options
        ),
        numeric=frozenset(range(1, len(names) + 2)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class KindOutputs:
    """The parts of a kind of workload in deliverables; the defaults are those of a kind without any.

    Attributes:
        arrangement: how a cluster does the work, in a line; arrangement_title: of its column.
        reason: why a cluster is the answer for its target, in a line; goal: what sizes had to meet, in a sentence.
        assumed: what is assumed of the software where the blueprint does not name it, in a sentence; empty for nothing.
        band_source: where the band of days comes from, as a sentence; empty where no page says so.
        useful_hour: what a useful GPU-hour is; terms: words of the kind's own sections with what they mean.
        cluster_table, cluster_charts: of the report's section on the cluster.
        elsewhere: the work done by services of others, beside own clusters, and what is said of it; empty for none.
        launch: files that start the work in a target's folder, by path within it; they may read those written before.
        start: how the work is started on a cloud; None where nothing is written for that.
        cluster_job: the job for Kubernetes on premises; None for none.
        cluster_files: further files for Kubernetes on premises, by path within their folder.
        task: the work as a command of SkyPilot.
        contents: the line of the output folder's README on the files that start the work; empty for none.
        job_row: of the README on premises with Slurm: what jobs need on the machines, and what starts the work.
        working_nodes: nodes that work at a time, without spares and divided ones.
        acceptance: the last steps of the acceptance test, with the work itself.
    """

    arrangement: Callable[[Option], str] = limits
    arrangement_title: str = "limits"
    reason: Callable[[Plan, Option], str] = reason
    goal: Callable[[Plan], str] = goal
    assumed: Callable[[Plan], str] = lambda _: ""
    band_source: str = ""
    useful_hour: str = "one whose work is kept"
    terms: Sequence[tuple[str, str]] = (
        ("Goodput", "share of the calendar time whose work is kept, without what failures take."),
    )
    cluster_table: Callable[[Plan, MoneyFormat], Table] = cluster_table
    cluster_charts: Callable[[Plan], Sequence[Chart]] = lambda _: ()
    elsewhere: Callable[[Plan, MoneyFormat], tuple[Table, Sequence[str]]] = lambda *_: (Table(columns=(), rows=()), ())
    launch: Callable[[Plan, Option, Catalogue, Mapping[str, File]], dict[str, File]] = lambda *_: {}
    start: Callable[[Plan, Option, Catalogue], Start | None] = lambda *_: None
    cluster_job: Callable[[Plan, Option, KubernetesCluster], ClusterJob | None] = lambda *_: None
    cluster_files: Callable[[Plan, Option, KubernetesCluster], Mapping[str, File]] = lambda *_: {}
    task: Callable[[Plan, Option, Catalogue], Task] = lambda *_: Task()
    contents: Callable[[Option], str] = lambda _: ""
    job_row: str = "| `jobs.md` | what jobs need on the machines |"
    working_nodes: Callable[[Option], int] = lambda option: option.cluster.work_nodes
    acceptance: Callable[[Plan, Option, OnPremDesign, Catalogue], Sequence[Step]] = lambda *_: ()
