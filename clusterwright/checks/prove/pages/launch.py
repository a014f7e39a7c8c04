"""The page beside the job: its layout, how often it writes checkpoints, drivers and NCCL's settings."""

import csv
from collections.abc import Iterator, Sequence

from clusterwright import assets
from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan, finetuning_option
from clusterwright.plan.text import finetuning
from clusterwright.plan.text.training import layout_text
from clusterwright.plan.training.record import TrainingOption, TrainingPlan, training_option

FILE = "launch/README.md"
_TRANSPORT = "NCCL_NET"


def _trains(hall: Hall) -> TrainingOption | None:
    documents = hall.papers.documents
    return training_option(documents.option) if isinstance(documents.plan, TrainingPlan) else None


def _has_script(hall: Hall) -> bool:
    return (hall.papers.documents.site / "launch" / "train.sbatch").is_file()


def _layout(hall: Hall) -> Sequence[str] | None:
    option = _trains(hall)
    if option is None or not _has_script(hall):
        return None
    layout = option.performance.layout
    sequences = layout.micro_batch * layout.dp * layout.micro_batches
    return layout_text(layout), f"{layout.micro_batch} × {layout.dp} × {layout.micro_batches}", str(sequences)


def _checkpoints(hall: Hall) -> Sequence[str] | None:
    option = _trains(hall)
    if option is None or not _has_script(hall):
        return None
    steps = max(1, round(option.performance.failures.checkpoint_interval_s / option.performance.step.total_s))
    return f"{steps:,}", f"{option.performance.failures.checkpoint_interval_s / 60:.0f}"


def _kept(hall: Hall) -> Sequence[str] | None:
    option = _trains(hall)
    return None if option is None or not _has_script(hall) else (str(option.design.storage.checkpoints_kept),)


def _settings(hall: Hall) -> Iterator[Sequence[str]] | None:
    return _rows(hall) if _trains(hall) is not None and _has_script(hall) else None


def _rows(hall: Hall) -> Iterator[Sequence[str]]:
    inventory = hall.inventory
    fabric = "infiniband" if inventory.compute_network == INFINIBAND_NETWORK else "roce"
    with (assets.root() / "templates" / "launch" / "nccl.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            own = row["fabric"] in {"any", fabric} and row["cloud"] in {"any", "onprem"}
            # GPUs of one host talk over its own links.
            alone = row["name"] == _TRANSPORT and len(inventory.hosts()) == 1
            if own and row["instance"] in {"any", inventory.system} and row["kind"] == "export" and not alone:
                yield f"`{row['name']}`", f"`{row['value']}`", row["why"], row["source"]


def _tunes(hall: Hall) -> FinetuningOption | None:
    documents = hall.papers.documents
    has = (documents.site / "launch" / "finetune.sbatch").is_file()
    return finetuning_option(documents.option) if has and isinstance(documents.plan, FinetuningPlan) else None


def _tuned_layout(hall: Hall) -> Sequence[str] | None:
    option = _tunes(hall)
    if option is None:
        return None
    layout = option.performance.layout
    sizes = (layout.micro_batch, layout.data, layout.accumulation)
    sequences = layout.micro_batch * layout.data * layout.accumulation
    return finetuning.layout_text(option), " × ".join(map(str, sizes)), str(sequences)


def _tuned_kept(hall: Hall) -> Sequence[str] | None:
    option = _tunes(hall)
    if option is None or (hall.papers.documents.site / "launch" / "torchtune.yaml").is_file():
        return None
    return (str(option.design.storage.checkpoints_kept),)


SAID: tuple[Sentence | Table, ...] = (
    Sentence(
        file=FILE,
        text="\n{}; micro-batch × replicas × micro-batches = {} = {} sequences.\n",
        values=_layout,
        rule="the plan's layout multiplies out to its batch",
    ),
    Sentence(
        file=FILE,
        text="A checkpoint every {} steps ({} min), ",
        values=_checkpoints,
        rule="the plan's interval over the time of a step",
    ),
    Sentence(file=FILE, text="; {} are kept", values=_kept, rule="storage is sized for them"),
    Sentence(
        file=FILE,
        text=": {}. Sequences of a pass × groups × passes = {} = {} of an update.",
        values=_tuned_layout,
        rule="the plan's layout multiplies out to its batch",
    ),
    Sentence(
        file=FILE,
        text="from its last checkpoint; the last {} are kept.",
        values=_tuned_kept,
        rule="storage is sized for them",
    ),
    Table(
        file=FILE,
        head=("Variable", "Value", "Why", "Source"),
        rows=_settings,
        rule="templates/launch/nccl.csv has them for this fabric",
    ),
)
