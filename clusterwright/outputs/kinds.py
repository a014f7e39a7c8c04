"""The kinds of workload with parts of their own in deliverables."""

from collections.abc import Mapping

from clusterwright.outputs.finetuning.outputs import FINETUNING
from clusterwright.outputs.kind import KindOutputs
from clusterwright.outputs.serving.outputs import SERVING
from clusterwright.outputs.training.outputs import TRAINING
from clusterwright.plan.record import Plan

#: What a kind without parts of its own gets.
COMMON = KindOutputs()
KINDS: Mapping[str, KindOutputs] = {"train": TRAINING, "finetune": FINETUNING, "serve": SERVING}


def outputs_of(plan: Plan) -> KindOutputs:
    """Return the parts of a plan's kind of workload; those of a kind without any where it has none."""
    return KINDS.get(plan.workload.kind, COMMON)
