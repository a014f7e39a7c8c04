"""The parts of deliverables that only training has, in one record."""

from clusterwright.outputs.kind import KindOutputs
from clusterwright.outputs.training.jobs import acceptance, cluster_job, contents, launch, start
from clusterwright.outputs.training.report import TERMS, cluster_charts, cluster_table
from clusterwright.outputs.training.skypilot import task
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.training import choice_text, data_text, fit_text, layout_text, offload_text, software_text
from clusterwright.plan.training.record import training_option
from clusterwright.units import percent


def _layout(option: Option) -> str:
    return layout_text(training_option(option).performance.layout)


def _reason(_: Plan, option: Option) -> str:
    chosen = training_option(option)
    performance = chosen.performance
    memory = performance.memory_bytes_per_gpu.total / 1e9
    away = offload_text(chosen)
    return (
        f"{layout_text(performance.layout)}; "
        f"{memory:.1f} of {option.cluster.hbm_bytes_per_gpu / 1e9:.1f} GB per GPU; "
        f"{f'{chosen_over}; ' if (chosen_over := choice_text(chosen)) else ''}"
        f"{f'{fits}; ' if (fits := fit_text(chosen)) else ''}"
        f"{percent(performance.mfu)} of peak, goodput {percent(performance.goodput)}; "
        f"limited by compute{''.join(f', {part}' for part in performance.limited_by)}; "
        f"{f'{away}; ' if away else ''}"
        f"training data at {data_text(performance.data)}."
    )


TRAINING = KindOutputs(
    arrangement=_layout,
    arrangement_title="layout",
    reason=_reason,
    assumed=software_text,
    band_source="Day bands come from the residuals of published runs; the median is P50, the low end P10",
    useful_hour="one that trains",
    terms=TERMS,
    cluster_table=cluster_table,
    cluster_charts=cluster_charts,
    launch=launch,
    start=start,
    cluster_job=cluster_job,
    task=task,
    contents=contents,
    job_row="| `jobs.md`, `launch/` | what jobs need on the machines; the training job, and what submits it |",
    working_nodes=lambda option: training_option(option).training_nodes,
    acceptance=acceptance,
)
