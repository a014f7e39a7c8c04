"""What `validate serving` promises of its input, its figures and its predictions."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from clusterwright.catalog.load import load
from clusterwright.cli.measured.validate_serving import serving
from clusterwright.errors import InputError
from clusterwright.evidence.models import catalogued
from clusterwright.evidence.serving.measurements import read_measurements, release_of
from clusterwright.sizing.serving.calibration import LEVELS, METRICS, load_calibration

MEASURED = ("tput_per_gpu", "ttft_mean_s", "ttft_median_s", "ttft_p99_s", "tpot_median_s", "joules_per_output_token")
KEYS = {
    "schema",
    "rows",
    "predicted",
    "excluded",
    "median_ape",
    "p90_ape",
    "median_abs_log",
    "bias",
    "in_band",
    "band_width",
    "rows_per_s",
    "by",
    "not_expressed",
    "worst",
}
MODEL_COLUMNS = (
    "model,params_b,layers,hidden,heads,kv_heads,head_dim,dense_ffn,dense_layers,experts,experts_per_token,"
    "shared_experts,moe_ffn,attention_kind,vocab"
)


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _run(
    path: Path, capsys: pytest.CaptureFixture[str], *, models: Path | None = None, out: Path | None = None
) -> tuple[int, dict[str, Any]]:
    code = serving(path, models=models, predictions_to=out, as_json=True)
    return code, json.loads(capsys.readouterr().out)


def _predictions(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_kind_of_row_is_predicted_and_counted(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Every kind of row is predicted and counted."""
    code, found = _run(_write(tmp_path / "r.csv", rows), capsys, out=tmp_path / "out.csv")
    assert code == 0
    assert set(found) == KEYS
    assert found["predicted"] == found["rows"] == len(rows)
    assert {*METRICS, *LEVELS, "dense", "moe", "disaggregated", "speculative", "h200", "vllm"} <= set(found["by"])
    assert found["by"]["disaggregated"]["rows"] == 2
    written = _predictions(tmp_path / "out.csv")
    assert len(written) == len(rows) * len(METRICS)
    for row in written:
        numbers = [float(row[name]) for name in ("p10", "predicted", "p90")]
        assert all(math.isfinite(one) and one > 0 for one in numbers)
        assert numbers == sorted(numbers)


def test_a_prediction_reads_the_configuration_alone(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A prediction reads the configuration alone."""
    _run(_write(tmp_path / "a.csv", rows), capsys, out=tmp_path / "a.out")
    blank = [{**row, **dict.fromkeys(MEASURED, "")} for row in rows]
    _, found = _run(_write(tmp_path / "b.csv", blank), capsys, out=tmp_path / "b.out")
    kept = ("id", "metric", "predicted", "p10", "p90", "level")
    first, second = (
        [[row[name] for name in kept] for row in _predictions(tmp_path / file)] for file in ("a.out", "b.out")
    )
    assert first == second
    assert found["median_ape"] is None
    assert found["by"]["throughput"]["median_ape"] is None


def test_figures_are_those_of_the_predictions(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Figures are those of the predictions."""
    _, found = _run(_write(tmp_path / "r.csv", rows[:3]), capsys, out=tmp_path / "out.csv")
    errors = sorted(
        float(row["predicted"]) / 1000 - 1
        for row in _predictions(tmp_path / "out.csv")
        if row["metric"] == "throughput"
    )
    assert found["bias"] == pytest.approx(errors[1], rel=1e-4)
    assert found["median_ape"] == pytest.approx(sorted(abs(one) for one in errors)[1], rel=1e-4)


def test_levels_say_what_the_calibration_has_seen(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Levels say what the calibration has seen."""
    _run(_write(tmp_path / "r.csv", rows), capsys, out=tmp_path / "out.csv")
    levels = {row["id"]: row["level"] for row in _predictions(tmp_path / "out.csv")}
    assert levels["T0"] == "known pair"
    assert levels["T2"] == "unseen hardware"


def test_a_model_by_another_name_is_unseen_has_a_wider_band_and_moves_little(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A model by another name is unseen has a wider band and moves little."""
    known = "Llama-3.3-70B,70.554,80,8192,64,8,128,28672,80,,,,,gqa,128256"
    models = []
    for name in ("Llama-3.3-70B", "Another-Name"):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"{MODEL_COLUMNS}\n{known.replace('Llama-3.3-70B', name)}\n", encoding="utf-8")
        models.append(path)
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    named = [row for row in rows if row["model"] == "Llama-3.3-70B" and row["hardware"] == "h200"]
    _run(_write(tmp_path / "a.csv", named), capsys, models=models[0], out=before)
    renamed = [{**row, "model": "Another-Name"} for row in named]
    _run(_write(tmp_path / "b.csv", renamed), capsys, models=models[1], out=after)
    for old, new in zip(_predictions(before), _predictions(after), strict=True):
        assert (old["level"], new["level"]) == ("known pair", "unseen model")
        assert abs(float(new["predicted"]) / float(old["predicted"]) - 1) <= 0.15
        assert float(new["p90"]) / float(new["p10"]) > float(old["p90"]) / float(old["p10"])


def test_an_unknown_framework_is_predicted_with_a_wider_band(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown framework is predicted with a wider band."""
    known = {**rows[5], "framework": "vllm", "id": "K"}
    _run(_write(tmp_path / "r.csv", [rows[5], known]), capsys, out=tmp_path / "out.csv")
    wide, narrow = (
        [float(row["p90"]) / float(row["p10"]) for row in _predictions(tmp_path / "out.csv") if row["id"] == name]
        for name in ("T5", "K")
    )
    assert all(one > other for one, other in zip(wide, narrow, strict=True))


def test_an_unknown_way_to_speculate_is_predicted_with_a_wider_band(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same run with another name of its speculation has the same median, and a band that is a quarter wider."""
    made = [rows[0] | {"id": "known", "speculative": "mtp"}, rows[0] | {"id": "unknown", "speculative": "medusa"}]
    _run(_write(tmp_path / "runs.csv", made), capsys, out=tmp_path / "out.csv")
    known, unknown = (row for row in _predictions(tmp_path / "out.csv") if row["metric"] == "throughput")
    assert unknown["predicted"] == known["predicted"]
    width, wider = (math.log(float(row["p90"]) / float(row["p10"])) for row in (known, unknown))
    assert wider == pytest.approx(1.25 * width, rel=1e-3)


def test_a_model_or_accelerator_that_is_unknown_is_not_expressed_with_its_reason(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A model or accelerator that is unknown is not expressed with its reason."""
    odd = [{**rows[0], "id": "A", "model": "Nobody-1B"}, {**rows[0], "id": "B", "hardware": "abacus"}, rows[0]]
    code, found = _run(_write(tmp_path / "r.csv", odd), capsys)
    assert code == 0
    assert [row["id"] for row in found["not_expressed"]] == ["A", "B"]
    assert "Nobody-1B" in found["not_expressed"][0]["reason"]
    assert (found["rows"], found["predicted"]) == (3, 1)


def test_unsound_rows_are_excluded_and_not_counted(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Unsound rows are excluded and not counted."""
    code, found = _run(_write(tmp_path / "r.csv", [rows[0], {**rows[1], "suspect": "1"}]), capsys)
    assert code == 0
    assert (found["rows"], found["excluded"]) == (1, 1)


@pytest.mark.parametrize("cells", [{"isl": "many"}, {"concurrency": "-3"}, {"n_gpus": "inf"}, {"tput_per_gpu": "x"}])
def test_a_wrong_cell_is_named_with_its_line_and_ends_with_exit_code_2(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str], cells: dict[str, str]
) -> None:
    """A wrong cell is named with its line and ends with exit code 2."""
    path = _write(tmp_path / "r.csv", [rows[0], {**rows[1], **cells}])
    assert serving(path, models=None, predictions_to=None, as_json=False) == 2
    error = capsys.readouterr().err
    assert "line 3" in error
    assert next(iter(cells)) in error


def test_a_header_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    """A header of no known kind is refused."""
    with pytest.raises(InputError, match="no known kind"):
        serving(_write(tmp_path / "r.csv", [{"a": "1"}]), models=None, predictions_to=None, as_json=False)


def test_the_four_headers_are_told_apart(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    """The four headers are told apart."""
    catalogue = load()
    files = {
        "inferencex": [rows[0]],
        "serving": [
            {
                "id": "R",
                "model": "Llama-3.1-8B",
                "gpu": "H100",
                "n_gpus": "1",
                "tp": "1",
                "pp": "1",
                "ep": "",
                "precision_weights": "FP8",
                "precision_kv": "FP8",
                "engine": "TensorRT-LLM 1.0",
                "isl": "128",
                "osl": "128",
                "concurrency_or_batch": "max (inf request rate)",
                "measured_kind": "output_tok_per_s_total",
                "measured_value": "26000",
                "notes": "",
            },
        ],
        "mlperf": [
            {
                "mlperf_id": "5.1-1",
                "model": "llama2-70b-99",
                "scenario": "Server",
                "units": "Tokens/s",
                "n_gpus": "8",
                "accelerator": "NVIDIA H200-SXM-141GB",
                "weights_precision": "fp8",
                "software": "TensorRT 10.11",
                "result": "33000",
                "errors": "0",
            },
        ],
        "other": [
            {
                "model": "Llama-3-8B",
                "hardware": "Inferentia2",
                "n_chips": "12",
                "tp": "24",
                "engine": "Neuron 2.18",
                "weights": "bf16",
                "isl": "128",
                "osl": "2048",
                "concurrency_or_batch": "max_num_seqs=8",
                "output_tok_per_s_total": "650",
                "ttft_p50_ms": "69",
                "notes": "static batch",
            },
        ],
    }
    for kind, entries in files.items():
        path = _write(tmp_path / f"{kind}.csv", entries)
        read = read_measurements(path, catalogue, own={}, known=catalogued(catalogue))
        assert [row.kind for row in read.rows] == [kind], read.skipped
        assert read.rows[0].measured["throughput"] > 0
    assert read.rows[0].id == "L2"
    assert read.rows[0].most_sequences == 8
    assert math.isinf(read.rows[0].concurrency)


def test_bands_are_wider_the_less_is_known() -> None:
    """Bands are wider the less is known."""
    bands = load_calibration().bands
    for metric in METRICS:
        width = {level: bands[level, metric][1] - bands[level, metric][0] for level in LEVELS}
        assert width["known pair"] < width["unseen pair"] < width["unseen hardware"] < width["both unseen"]
        assert width["unseen pair"] < width["unseen model"] < width["both unseen"]


def test_figures_of_mlperf_are_tokens_whatever_unit_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Round 5.1 prints Queries/s beside tokens per second of Llama 3.1 8B."""
    row = {
        "mlperf_id": "5.1-1",
        "model": "llama3.1-8b",
        "scenario": "Interactive",
        "units": "Queries/s",
        "n_gpus": "8",
        "accelerator": "NVIDIA B200-SXM-180GB",
        "weights_precision": "fp4",
        "software": "TensorRT 10.11",
        "result": "102907",
        "errors": "0",
    }
    _, found = _run(_write(tmp_path / "r.csv", [row, {**row, "units": "Tokens/s"}]), capsys, out=tmp_path / "out.csv")
    first, second = (row["predicted"] for row in _predictions(tmp_path / "out.csv") if row["metric"] == "throughput")
    assert first == second
    assert found["median_ape"] < 0.5


def _widths(path: Path, identity: str) -> dict[str, float]:
    return {
        row["metric"]: math.log(float(row["p90"]) / float(row["p10"]))
        for row in _predictions(path)
        if row["id"] == identity
    }


def test_an_unknown_release_is_predicted_alike_with_a_wider_band(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The version of a framework that no row of the calibration has changes no median, and widens every band."""
    made = [
        rows[0] | {"id": name, "framework_version": version} for name, version in (("old", "v0.19.0"), ("new", "v99.1"))
    ]
    _run(_write(tmp_path / "r.csv", made), capsys, out=tmp_path / "out.csv")
    medians = [
        [row["predicted"] for row in _predictions(tmp_path / "out.csv") if row["id"] == name] for name in ("old", "new")
    ]
    assert medians[0] == medians[1]
    old, new = _widths(tmp_path / "out.csv", "old"), _widths(tmp_path / "out.csv", "new")
    assert all(new[metric] > 1.04 * old[metric] for metric in METRICS)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("gqa", True),
        ("mla + DSA sparse (lightning indexer)", True),
        ("gqa, alternating sliding/full", True),
        ("hybrid: 15 full gqa (output-gated) + 45 linear (gated delta net)", True),
        ("", True),
        ("retention", False),
        ("gqa + ring memory", False),
    ],
)
def test_attention_in_words_that_nobody_knows_widens_the_band(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str], text: str, known: bool
) -> None:
    """A model whose attention is described in unknown words is predicted as one with grouped heads, less surely."""
    shape = '70.554,80,8192,64,8,128,28672,80,,,,,"{}",128256'
    models = tmp_path / "models.csv"
    models.write_text(
        f"{MODEL_COLUMNS}\nLlama-3.3-70B,{shape.format(text)}\nLlama-3.1-70B,{shape.format('gqa')}\n", encoding="utf-8"
    )
    made = [rows[0] | {"id": "own"}, rows[0] | {"id": "plain", "model": "Llama-3.1-70B"}]
    _run(_write(tmp_path / "r.csv", made), capsys, models=models, out=tmp_path / "out.csv")
    own, plain = (_widths(tmp_path / "out.csv", name) for name in ("own", "plain"))
    assert all((own[metric] == pytest.approx(plain[metric], rel=1e-3)) == known for metric in METRICS)
    assert all(own[metric] >= 0.999 * plain[metric] for metric in METRICS)


def test_an_accelerator_of_an_unknown_generation_has_a_wider_band_than_one_of_a_known(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two accelerators without a row, the one with relatives in the calibration is predicted more surely."""
    made = [rows[0] | {"id": "relative", "hardware": "gb200"}, rows[0] | {"id": "stranger", "hardware": "mi355x"}]
    _run(_write(tmp_path / "r.csv", made), capsys, out=tmp_path / "out.csv")
    levels = {row["id"]: row["level"] for row in _predictions(tmp_path / "out.csv")}
    assert set(levels.values()) == {"unseen hardware"}
    relative, stranger = (_widths(tmp_path / "out.csv", name) for name in ("relative", "stranger"))
    assert all(stranger[metric] > relative[metric] for metric in METRICS)


def test_each_kind_of_configuration_has_the_band_that_its_left_out_rows_showed() -> None:
    """Mixtures of experts in MLPerf, whose lengths are partly assumed, are less sure than dense models."""
    kinds = load_calibration().kinds

    def width(kind: str) -> float:
        low, high = kinds["known pair", kind, "throughput"]
        return high - low

    assert width("mlperf experts") > width("closed loop dense")


def test_rows_predicted_together_are_those_predicted_alone(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """What rows share is looked up once, and no row's prediction depends on the others of its file."""
    more = [
        {**row, "id": f"{row['id']}-{place}", "concurrency": row["concurrency"] and str(place)}
        for row in rows
        for place in (1, 7, 300)
    ]
    _run(_write(tmp_path / "all.csv", more), capsys, out=tmp_path / "all.out")
    alone = []
    for place, row in enumerate(more):
        _run(_write(tmp_path / f"{place}.csv", [row]), capsys, out=tmp_path / f"{place}.out")
        alone += _predictions(tmp_path / f"{place}.out")
    assert alone == _predictions(tmp_path / "all.out")


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("TensorRT-LLM 0.14", "tensorrt-llm 0.14"),
        ("sglang v0.5.9-cu130", "sglang 0.5"),
        ("vllm ", ""),
        ("Mango LLMBoost AI Enterprise Platform, vllm-0.9.0.2.dev108", "vllm 0.9"),
        ("sglang nightly-dev-20260216", ""),
        ("TensorRT 10.11, CUDA 12.9", "tensorrt 10.11"),
    ],
)
def test_a_release_is_the_name_and_the_first_two_numbers(text: str, release: str) -> None:
    """Names of images, builds and whole lists of software all say the release of their framework, or none."""
    assert release_of(text) == release


@pytest.mark.parametrize("text", ["max (inf request rate)", "", "max_num_seqs=4096"])
def test_as_many_as_fit_is_never_less_than_a_concurrency_that_fits(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """Blank, max and a limit that memory undercuts mean the largest batch, which serves at least what 32 at once do."""
    made = [rows[0] | {"id": "few"}, rows[0] | {"id": "most", "concurrency": text}]
    code, _ = _run(_write(tmp_path / "r.csv", made), capsys, out=tmp_path / "out.csv")
    assert code == 0
    few, most = (float(row["predicted"]) for row in _predictions(tmp_path / "out.csv") if row["metric"] == "throughput")
    assert most > few


def test_blank_gpus_are_those_of_prefill_and_decode(
    tmp_path: Path, rows: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A disaggregated row without a total is predicted as with the sum of its pools."""
    split = {**rows[4], "id": "stated"}
    made = [split, {**split, "id": "blank", "n_gpus": ""}]
    _run(_write(tmp_path / "r.csv", made), capsys, out=tmp_path / "out.csv")
    values = {
        name: [row["predicted"] for row in _predictions(tmp_path / "out.csv") if row["id"] == name]
        for name in ("stated", "blank")
    }
    assert values["stated"] == values["blank"]
