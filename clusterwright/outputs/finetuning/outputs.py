"""The parts of deliverables that only fine-tuning has, in one record."""

from clusterwright.outputs.finetuning.launch import cluster_job, contents, launch, start
from clusterwright.outputs.finetuning.report import TERMS, cluster_charts, cluster_table
from clusterwright.outputs.kind import KindOutputs
from clusterwright.plan.finetuning.record import finetuning_option
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.finetuning import fit_text, layout_text, rate_text
from clusterwright.units import percent


def _layout(option: Option) -> str:
    return layout_text(finetuning_option(option))


def _reason(_: Plan, option: Option) -> str:
    chosen = finetuning_option(option)
    performance = chosen.performance
    limits = "".join(f", {part}" for part in performance.limited_by)
    return (
        f"{layout_text(chosen)}; {fit_text(chosen)}; {rate_text(chosen)}; "
        f"goodput {percent(performance.goodput)}; limited by multiplications{limits}; {performance.level_text}."
    )


FINETUNING = KindOutputs(
    arrangement=_layout,
    arrangement_title="layout",
    reason=_reason,
    band_source="Bands of time and memory are those of measured runs left out of the fit "
    "(clusterwright docs finetuning-accuracy)",
    useful_hour="one that trains",
    terms=TERMS,
    cluster_table=cluster_table,
    cluster_charts=cluster_charts,
    launch=launch,
    start=start,
    cluster_job=cluster_job,
    contents=contents,
    job_row="| `jobs.md`, `launch/` | what jobs need on the machines; the fine-tuning job, for `sbatch` |",
    working_nodes=lambda option: finetuning_option(option).training_nodes,
)
