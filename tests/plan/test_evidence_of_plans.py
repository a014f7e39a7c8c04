"""What a plan says of the measurements behind it: software that is named, and hardware or software without a run."""

import re
from pathlib import Path

import pytest

from clusterwright.cli.render.answer import plan_text
from clusterwright.plan.text.money import USD
from clusterwright.plan.training.record import TrainingPlan

from .examples import shipped

_AWS = (
    *("targets.azure=null", "targets.gcp=null", "targets.onprem=null"),
    *("targets.aws.min_nodes=64", "targets.aws.max_nodes=64"),
)


def _spread(plan: TrainingPlan) -> float:
    (option, *_) = plan.options
    return option.performance.calendar_days_high / option.performance.calendar_days_low


def test_a_measured_framework_narrows_the_band() -> None:
    """On the same 64 nodes; an empty name is as none, and the name stands in the heading and in the plan."""
    unnamed, named = shipped(*_AWS), shipped(*_AWS, "workload.framework=NeMo 26.02")
    assert _spread(named) < _spread(unnamed)
    assert _spread(shipped(*_AWS, 'workload.framework=""')) == _spread(unnamed)
    assert not [finding for finding in named.warnings if finding.id.startswith("EVD")]
    assert "300 B tokens under NeMo 26.02 · bf16" in plan_text(named, Path("train.yaml"), money=USD)
    assert named.workload.framework == "NeMo 26.02"


@pytest.mark.parametrize("details", [False, True])
def test_an_answer_says_which_software_it_assumes(details: bool) -> None:
    """Where the blueprint names none, the default is printed as assumed; where it names one, nothing is assumed."""
    unnamed, named = shipped(*_AWS), shipped(*_AWS, "workload.framework=NeMo 26.02")
    said, other = (
        " ".join(plan_text(plan, Path("train.yaml"), money=USD, details=details).split()) for plan in (unnamed, named)
    )
    if details:
        assert "software assumed, since workload.framework names none: days of the median of measured software" in said
        assert "memory as Megatron-LM keeps it" in said
    assert ("software assumed" if details else "software (workload.framework names none)") in said
    assert "workload.framework" not in other


def test_a_release_that_nobody_measured_takes_its_family() -> None:
    """Its band is wider than that of a measured release, and its days are nearer to the family than to no name."""
    measured, other = shipped(*_AWS, "workload.framework=NeMo 26.02"), shipped(*_AWS, "workload.framework=NeMo 26.99")
    assert _spread(other) > _spread(measured)
    assert not [finding for finding in other.warnings if finding.id == "EVD002"]


def test_an_unmeasured_framework_is_stated() -> None:
    """It is taken, with a wider band on the slow side, and the measured ones are named."""
    plan = shipped(*_AWS, "workload.framework=my-engine 3")
    (warning,) = [finding for finding in plan.warnings if finding.id == "EVD002"]
    assert warning.path == ("workload", "framework")
    assert "no run under my-engine 3 was measured" in warning.message
    assert "Megatron-LM" in (warning.help or "")
    assert _spread(plan) > _spread(shipped(*_AWS))


def test_measured_software_is_known_in_other_capitals() -> None:
    """Its makers write TorchTitan, its measurements torchtitan: no EVD002, and the same days and band."""
    ours, theirs = shipped(*_AWS, "workload.framework=torchtitan"), shipped(*_AWS, "workload.framework=TorchTitan")
    assert "EVD002" not in {finding.id for finding in theirs.warnings}
    assert theirs.options[0].performance.calendar_days == ours.options[0].performance.calendar_days
    assert _spread(theirs) == _spread(ours)


def test_software_that_runs_operation_by_operation_has_a_wider_band() -> None:
    """An eager engine varies with the model, as the left out sources show."""
    assert _spread(shipped(*_AWS, "workload.framework=nanotron")) > _spread(shipped(*_AWS, "workload.framework=NeMo"))


def test_an_unmeasured_accelerator_is_stated_with_its_band() -> None:
    """MI300X: other generations of AMD were measured, this one was not."""
    plan = shipped(
        "targets.aws=null",
        "targets.gcp=null",
        "targets.onprem=null",
        "targets.azure.instance=Standard_ND96isr_MI300X_v5",
        "targets.azure.min_nodes=64",
        "targets.azure.max_nodes=64",
    )
    (warning,) = [finding for finding in plan.warnings if finding.id == "EVD001"]
    found = re.search(r"No AMD run .* was measured: days -(\d+) % to \+(\d+) % \(80 %\)", warning.message)
    assert found, warning.message
    (option,) = plan.options
    lengths = (1 - int(found[1]) / 100, 1 + int(found[2]) / 100)
    assert option.performance.calendar_days_high / option.performance.calendar_days_low == pytest.approx(
        lengths[1] / lengths[0], rel=0.03
    )
    assert not [finding for finding in shipped().warnings if finding.id == "EVD001"]


def test_an_accelerator_that_several_targets_have_is_stated_once() -> None:
    """MI300X on Azure and on premises: one sentence names both."""
    azure = {"instance": "Standard_ND96isr_MI300X_v5", "min_nodes": 64, "max_nodes": 64}
    onprem = {"system": "mi300x-8gpu", "min_nodes": 64, "max_nodes": 64}
    plan = shipped(
        "targets.aws=null",
        "targets.gcp=null",
        *(f"targets.azure.{key}={value}" for key, value in azure.items()),
        *(f"targets.onprem.{key}={value}" for key, value in onprem.items()),
    )
    (warning,) = [finding for finding in plan.warnings if finding.id == "EVD001"]
    assert warning.message.startswith("azure, onprem: No AMD run")
    assert warning.path == ("targets",)


def test_software_measured_elsewhere_alone_does_not_narrow_the_band() -> None:
    """Nothing compiled by XLA was measured on MI300X's generation: MaxText is there as software without a run."""
    azure = (
        *("targets.aws=null", "targets.gcp=null", "targets.onprem=null"),
        *("targets.azure.instance=Standard_ND96isr_MI300X_v5", "targets.azure.min_nodes=64"),
        "targets.azure.max_nodes=64",
    )
    unnamed, elsewhere = shipped(*azure), shipped(*azure, "workload.framework=MaxText")
    assert _spread(elsewhere) > _spread(unnamed)
