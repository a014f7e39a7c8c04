"""What was measured on an H100 and an H200 against what is predicted.

Two facts of their software come from these rows: bytes of a logit, and that gradients do not stay from step to step.
"""

from pathlib import Path

import numpy as np
import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.errors import InputError
from clusterwright.evidence import models
from clusterwright.evidence.finetuning.measurements import read_measurements as read_fine_tuning
from clusterwright.evidence.probe import file
from clusterwright.evidence.training import measured_memory, probe_facts
from clusterwright.evidence.training.nodes import measured_nodes
from clusterwright.evidence.training.runs import Run, read_measurements
from clusterwright.sizing.hardware.calibration import FSDP, MEGATRON, load_calibration

MEASURED = assets.root() / "catalog" / "measurements"


@pytest.fixture(scope="module")
def steps() -> list[Run]:
    """Return the measured training steps; each is expressed."""
    catalogue = load()
    found, skipped = read_measurements(
        MEASURED / "one_gpu_training.csv", measured_nodes(catalogue), catalogue.models.values()
    )
    assert not skipped
    return found


@pytest.mark.parametrize("accelerator", ["h100-sxm-80gb", "h200-sxm-141gb"])
def test_every_row_of_a_real_gpu_is_believed(accelerator: str) -> None:
    """A file that PyTorch wrote on the accelerator has 120 rows, all of which can be true."""
    found = file.read(MEASURED / f"{accelerator}-probe.csv", load())
    assert len(found.measurements) == 120
    assert not found.wrong


@pytest.mark.parametrize("accelerator", ["h100-sxm-80gb", "h200-sxm-141gb"])
def test_kernels_agree_with_what_whole_steps_were_fitted_to(accelerator: str) -> None:
    """Large multiplications, fp8 and memory lie between or within a fifth of the numbers of published runs."""
    catalogue, calibration = load(), load_calibration()
    measured = file.read(MEASURED / f"{accelerator}-probe.csv", catalogue).measurements
    fitted = [calibration.of(generation="hopper", stack=stack).tuning for stack in (MEGATRON, FSDP)]
    facts = {
        fact.name: fact.value for fact in probe_facts.facts_of(catalogue.accelerators[accelerator], measured, fitted[0])
    }
    for name in ("gemm_efficiency", "gemm_efficiency_eight_bit", "attention_efficiency"):
        known = sorted(float(getattr(one, name)) for one in fitted)
        assert known[0] / 1.2 < facts[name] < known[1] * 1.2, name
    assert facts["memory_passes"] == pytest.approx(float(fitted[0].memory_passes), rel=0.1)


def test_peaks_of_named_states_are_met(steps: list[Run]) -> None:
    """38 peaks within 8 % in the median, none of them refused; five of eight that ran out of memory are refused."""
    found = measured_memory.predict(steps)
    errors = [abs(one.error) for one in found if one.error is not None]
    assert len(errors) == 38
    assert float(np.median(errors)) < 0.08
    ran = [one.fit_probability for one in found if not one.run.out_of_memory]
    lost = [one.fit_probability for one in found if one.run.out_of_memory]
    assert min(ran) >= 0.05
    assert (len(lost), sum(chance < 0.5 for chance in lost)) == (8, 5)


def test_gradients_and_activations_are_never_whole_at_once(steps: list[Run]) -> None:
    """Llama 3 8B with all states in bf16: 59.8 GiB of weights, gradients and moments, with recomputation nothing more.

    Without recomputation the activations are the peak, beside weights and moments alone (44.9 GiB).
    """
    by_id = {run.id: run for run in steps}
    recomputed, kept = (by_id[f"h100-sxm-llama-3-8b-pure-2048-{rest}-eager"] for rest in ("1-recomputed", "2-kept"))
    states = 8 * 8.030e9
    assert recomputed.memory_bytes == pytest.approx(states, rel=0.01)
    one, two = measured_memory.predict([recomputed, kept])
    assert one.predicted_bytes == pytest.approx(states, rel=0.03)
    assert two.error == pytest.approx(0.07, abs=0.03)


def test_logits_take_twelve_bytes_at_the_peak(steps: list[Run]) -> None:
    """Four times the tokens, layers recomputed: what is added is logits and layers' inputs, within a tenth."""
    by_id = {run.id: run for run in steps}
    short, long = (by_id[f"h100-sxm-llama-3.2-1b-autocast-{length}-1-recomputed-eager"] for length in (8192, 32768))
    assert short.memory_bytes is not None
    assert long.memory_bytes is not None
    first, second = measured_memory.predict([short, long])
    added = second.predicted_bytes - first.predicted_bytes
    assert added == pytest.approx(long.memory_bytes - short.memory_bytes, rel=0.1)
    assert (long.memory_bytes - short.memory_bytes) / (24576 * 128256) == pytest.approx(13, abs=0.5)


def test_adapters_are_read_with_their_recomputation(tmp_path: Path) -> None:
    """Frozen Llama 3 8B takes 20 GB with recomputation and 34 without, and an unknown word is named."""
    catalogue = load()
    known = models.catalogued(catalogue)
    path = MEASURED / "one_gpu_fine_tuning.csv"
    rows = read_fine_tuning(path, catalogue, own={}, known=known).rows
    assert len(rows) == 11
    assert {row.recompute for row in rows} == {"never", "always"}
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(path.read_text().replace(",none,fits,", ",some,fits,"))
    found = read_fine_tuning(wrong, catalogue, own={}, known=known)
    assert any("column recompute: some is none of none, full" in str(one) for one in found.skipped)
    with pytest.raises(InputError):
        read_fine_tuning(tmp_path / "none.csv", catalogue, own={}, known=known)
