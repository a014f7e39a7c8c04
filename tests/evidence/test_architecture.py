"""The model and layout behind a row of measured runs."""

from pathlib import Path

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.evidence.rows import Cells, WrongCellError
from clusterwright.evidence.training import baseline, report
from clusterwright.evidence.training.architecture import model_of
from clusterwright.evidence.training.nodes import measured_nodes
from clusterwright.evidence.training.predictions import columns_of, fits_memory
from clusterwright.evidence.training.runs import candidates_of, read_runs
from clusterwright.sizing.columns import FULL, SELECTIVE, Layouts
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.model.shapes import shape_of

PUBLISHED = Path(__file__).parents[1] / "published" / "training_runs.csv"
DEEPSEEK = {
    "id": "v3",
    "group": "g",
    "model": "DeepSeekV3",
    "gpu": "GB200",
    "n_gpus": "256",
    "layers": "61",
    "hidden": "7168",
    "heads": "128",
    "kv_heads": "128",
    "head_dim": "192",
    "ffn_hidden": "2048",
    "gated_mlp": "1",
    "n_experts": "256",
    "top_k": "8",
    "vocab": "129280",
    "seq_len": "4096",
    "tp": "1",
    "pp": "4",
    "vpp": "4",
    "cp": "1",
    "ep": "64",
    "micro_batch": "1",
    "global_batch": "4096",
    "precision": "mxfp8",
    "recompute": "unknown",
    "software": "NeMo 26.06",
    "tokens_per_s_per_gpu": "4969",
}


def _cells(**changes: str) -> Cells:
    return Cells(line=2, cells={**DEEPSEEK, **changes})


def test_what_columns_do_not_say_comes_from_the_catalogue() -> None:
    """DeepSeek-V3 is known by width, heads and experts: latent attention, a shared expert, three dense layers."""
    model = model_of(_cells(), load().models.values())
    assert (model.attention_kind, model.mla_kv_lora, model.shared_experts, model.dense_layers) == ("mla", 512, 1, 3)
    assert (model.ffn_hidden, model.moe_ffn_hidden, model.tied_embeddings) == (18432, 2048, False)


def test_shortened_models_keep_their_first_dense_layers() -> None:
    """Four layers of DeepSeek-V3 are three dense ones and one with experts; two are one and one."""
    for layers, dense in ((4, 3), (2, 1)):
        assert model_of(_cells(layers=str(layers)), load().models.values()).dense_layers == dense


def test_unknown_architectures_are_what_their_columns_say() -> None:
    """Without a like model in the catalogue there are no shared experts, dense layers or windows."""
    model = model_of(_cells(hidden="7000"), load().models.values())
    assert (model.attention_kind, model.shared_experts, model.dense_layers, model.ffn_hidden) == ("mha", 0, 0, 2048)
    assert model.id == ""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"top_k": "300"}, "column top_k: a token cannot go to 300 of 256 experts"),
        ({"ep": "48"}, "column ep: 256 experts are not divisible by 48"),
        ({"etp": "2"}, "column etp: 2 is neither 1 nor the tensor-parallel size 1"),
        ({"pp": "64", "n_gpus": "4096"}, "column pp: 64 stages are more than 61 layers"),
        ({"tp": "3", "n_gpus": "768"}, "column tp: 128 heads are not divisible by 3"),
    ],
)
def test_impossible_layouts_name_their_column(changes: dict[str, str], told: str) -> None:
    """Experts, stages and heads must divide."""
    with pytest.raises(WrongCellError, match=told):
        _laid_out(_cells(**changes))


def _laid_out(row: Cells) -> tuple[Layouts, ...]:
    model = model_of(row, load().models.values())
    return candidates_of(row, model, shape_of(model, sequence_length=4096))


def test_what_is_open_has_candidates() -> None:
    """Unknown recomputation leaves two modes, an unstated micro-batch four sizes; experts stay within a stage."""
    found = _laid_out(_cells(micro_batch="", n_gpus="128"))
    assert {layout.recompute for layout in found} == {float(SELECTIVE), float(FULL)}
    assert {layout.micro_batch for layout in found} == {1.0, 2.0, 4.0, 8.0}
    assert {layout.ep for layout in found} == {32.0}


def test_the_order_of_rows_changes_nothing() -> None:
    """Predictions of reversed rows are the reversed predictions, to the last bit."""
    catalogue = load()
    runs, _ = read_runs(PUBLISHED, measured_nodes(catalogue), catalogue.models.values())
    calibration, shares = load_calibration(), baseline.load_shares()
    forward = report.predict(runs, calibration, shares=shares)
    backward = report.predict(runs[::-1], calibration, shares=shares)
    assert np.array_equal(forward.rate, backward.rate[::-1])
    assert np.array_equal(forward.fits, backward.fits[::-1])
    assert fits_memory(columns_of(runs)).all()


def test_a_die_of_a_module_has_its_share_of_it() -> None:
    """Software sees two devices in an MI250X: half of its peak, memory and links each, and eight to a node of four."""
    module, die = load().accelerators["mi250x-128gb"], measured_nodes(load())["MI250X-GCD"]
    assert module.dense_bf16_flop_per_s == 383e12
    assert die.accelerator.dense_bf16_flop_per_s == 383e12 / 2
    assert die.hbm_bytes_per_gpu == 64 * 2**30
    assert die.accelerator.hbm_bytes_per_s == 3.2768e12 / 2
    assert die.gpus == die.accelerator.scale_up_domain_gpus == 8
