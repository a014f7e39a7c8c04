"""What `validate finetune` promises of its input, its figures and its predictions."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from clusterwright.cli.measured.validate_serving import finetune
from clusterwright.errors import InputError
from clusterwright.evidence import scoring
from clusterwright.sizing.finetuning.calibration import METRICS, load_calibration
from clusterwright.sizing.serving.calibration import LEVELS

MEASURED = ("measured_peak_gb", "samples_per_s", "tokens_per_s_per_gpu", "time_to_train_min", "n_runs")
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
    "ran_refused",
    "assumed",
}
RUN = {
    "source": "somebody/benchmarks@1",
    "model": "Llama-3.1-8B",
    "method": "lora r8 all layers",
    "quant": "none",
    "micro_batch": "2",
    "seq": "2048",
    "trainable_params": "",
    "gpus": "1",
    "gpu": "A100",
    "measured_peak_gb": "20",
    "predicted_gb": "1",
    "ape": "9",
    "global_batch": "",
    "grad_accum": "",
    "samples_per_s": "",
    "tokens_per_s_per_gpu": "4000",
    "time_to_train_min": "",
    "n_runs": "",
    "nodes": "",
    "framework": "torchtune",
    "notes": "peak 18.6 GiB",
}
BENCHMARK = {
    **RUN,
    "source": "mlcommons/training_results_v5.1 X/results/Y/llama2_70b_lora@1",
    "model": "Llama-2-70B",
    "method": "lora r16 (fused qkv + proj)",
    "quant": "fp8 or nvfp4 or bf16 (see system software; not in log)",
    "micro_batch": "1.0",
    "seq": "8192",
    "trainable_params": "44564480",
    "gpus": "8",
    "gpu": "B200",
    "measured_peak_gb": "",
    "tokens_per_s_per_gpu": "6000",
    "global_batch": "8",
    "grad_accum": "1",
    "time_to_train_min": "9.5",
    "nodes": "1",
    "framework": "NeMo",
}
ROWS = [
    RUN,
    BENCHMARK,
    {**RUN, "method": "qlora", "quant": "nf4"},
    {**RUN, "method": "full", "tokens_per_s_per_gpu": "", "gpu": "H100"},
    {**RUN, "method": "inference bs1", "tokens_per_s_per_gpu": "", "seq": "", "framework": ""},
    {**RUN, "method": "dora", "framework": "a stranger"},
]


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _run(
    path: Path, capsys: pytest.CaptureFixture[str], *, models: Path | None = None, out: Path | None = None
) -> tuple[int, dict[str, Any]]:
    code = finetune(path, models=models, predictions_to=out, as_json=True)
    return code, json.loads(capsys.readouterr().out)


def _predictions(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_is_predicted_and_counted_by_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has the keys of validate serving, and parts by metric, method, level and name."""
    code, found = _run(_write(tmp_path / "r.csv", ROWS), capsys, out=tmp_path / "out.csv")
    assert code == 0
    assert set(found) == KEYS
    assert found["predicted"] == found["rows"] == len(ROWS)
    assert {*METRICS, *LEVELS, "full", "lora", "qlora", "A100", "torchtune"} <= set(found["by"])
    assert [found["by"][name]["rows"] for name in ("full", "qlora", "inference")] == [1, 1, 1]
    written = _predictions(tmp_path / "out.csv")
    assert len(written) == len(ROWS) * len(METRICS)
    for row in written:
        numbers = [float(row[name]) for name in ("p10", "predicted", "p90") if row[name]]
        assert numbers == sorted(numbers)
        assert row["metric"] != "memory" or len(numbers) == 3
    assert {row["id"] for row in written} == {f"L{line}" for line in range(2, 2 + len(ROWS))}


def test_the_top_counts_throughput_then_time_then_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each row counts once at the top, by throughput, else by time, else by memory."""
    rows = [BENCHMARK, {**BENCHMARK, "tokens_per_s_per_gpu": ""}, {**RUN, "tokens_per_s_per_gpu": ""}]
    _, found = _run(_write(tmp_path / "r.csv", rows), capsys)
    assert {row["id"]: row["metric"] for row in found["worst"]} == {
        "L2": "throughput",
        "L3": "time_to_train",
        "L4": "memory",
    }


def test_a_prediction_reads_the_configuration_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With measured columns, others' predictions and notes blank or wrong, every prediction is the same."""
    _run(_write(tmp_path / "a.csv", ROWS), capsys, out=tmp_path / "a.out")
    blank = [{**row, **dict.fromkeys((*MEASURED, "notes", "predicted_gb", "ape"), "")} for row in ROWS]
    _, found = _run(_write(tmp_path / "b.csv", blank), capsys, out=tmp_path / "b.out")
    kept = [name for name in scoring.PREDICTION_COLUMNS if name != "measured"]
    first, second = (
        [[row[name] for name in kept] for row in _predictions(tmp_path / file)] for file in ("a.out", "b.out")
    )
    assert first == second
    assert found["median_ape"] is None


def test_a_choice_of_formats_takes_the_default_of_the_generation_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blackwell runs in four bits from round 5.1 on and in eight before; Hopper in eight, Ampere in sixteen."""
    rows = [
        BENCHMARK,
        {**BENCHMARK, "source": BENCHMARK["source"].replace("5.1", "5.0")},
        {**BENCHMARK, "gpu": "H100"},
        {**BENCHMARK, "gpu": "A100"},
    ]
    _, found = _run(_write(tmp_path / "r.csv", rows), capsys)
    said = [row["assumed"][0].split(",")[0] for row in found["assumed"]]
    assert said == ["nvfp4", "fp8", "fp8", "bf16"]


def test_samples_per_second_count_as_tokens_per_second_and_accelerator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """8 GPUs at 5 samples of 8,192 tokens a second are 5,120 tokens a second each."""
    rows = [{**BENCHMARK, "tokens_per_s_per_gpu": "", "samples_per_s": "5"}]
    _run(_write(tmp_path / "r.csv", rows), capsys, out=tmp_path / "out.csv")
    measured = {row["metric"]: row["measured"] for row in _predictions(tmp_path / "out.csv")}
    assert float(measured["throughput"]) == pytest.approx(5120)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seq": "5e-324"}, "column seq: 5e-324 is smaller than 1e-09"),
        ({"seq": "0.5"}, "column seq: 0.5 is neither 0, for not published, nor at least 1"),
        ({"micro_batch": "1e-320"}, "column micro_batch: 1e-320 is smaller than 1e-09"),
        ({"method": "qlora", "quant": "none"}, "QLoRA has no none"),
        ({"method": "qlora", "quant": "fp8"}, "QLoRA has no fp8"),
        ({"method": "lora r5000"}, "rank 5000"),
        ({"method": "lora r0"}, "rank 0"),
        ({"micro_batch": "-2"}, "micro_batch"),
        ({"seq": "long"}, "seq"),
        ({"measured_peak_gb": "x"}, "measured_peak_gb"),
    ],
)
def test_a_wrong_row_is_named_with_its_line_and_ends_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, str], words: str
) -> None:
    """A precision that QLoRA does not have, a rank above the width and mistyped cells end with 2, file and line."""
    path = _write(tmp_path / "r.csv", [RUN, {**RUN, **changes}])
    assert finetune(path, models=None, predictions_to=None, as_json=False) == 2
    error = capsys.readouterr().err
    assert f"r.csv: L3: line 3, column {words.split(maxsplit=1)[0] if words in MEASURED else ''}".rstrip() in error
    assert words in error


def test_what_nobody_knows_is_not_expressed_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown model, accelerator or method is left out with the reason, and the exit code is 0."""
    odd = [
        {**RUN, "model": "Nobody-1B"},
        {**RUN, "gpu": "abacus"},
        {**RUN, "method": "prayer"},
        {**RUN, "quant": "gold"},
        RUN,
    ]
    code, found = _run(_write(tmp_path / "r.csv", odd), capsys)
    assert code == 0
    assert [row["id"] for row in found["not_expressed"]] == ["L2", "L3", "L4", "L5"]
    for word, row in zip(("Nobody-1B", "abacus", "prayer", "gold"), found["not_expressed"], strict=True):
        assert word in row["reason"]


def test_a_model_by_another_name_is_unseen_and_moves_little(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model renamed in both files has the level and the wider band of an unseen one, and the same median."""
    columns = "model,params_b,layers,hidden,heads,kv_heads,head_dim,dense_ffn,attention_kind,vocab"
    outs = []
    for name in ("Llama-2-70B", "Another-Name"):
        models = tmp_path / f"{name}.csv"
        models.write_text(f"{columns}\n{name},68.977,80,8192,64,8,128,28672,gqa,32000\n", encoding="utf-8")
        outs.append(tmp_path / f"{name}.out")
        _run(_write(tmp_path / "r.csv", [{**BENCHMARK, "model": name}]), capsys, models=models, out=outs[-1])
    for old, new in zip(_predictions(outs[0]), _predictions(outs[1]), strict=True):
        assert (old["level"], new["level"]) == ("known pair", "unseen model")
        assert abs(float(new["predicted"]) / float(old["predicted"]) - 1) <= 0.01
        assert float(new["p90"]) / float(new["p10"]) > float(old["p90"]) / float(old["p10"])


def test_an_unknown_framework_is_predicted_with_a_wider_band(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A framework that no row of the calibration has widens the band by a quarter."""
    rows = [RUN, {**RUN, "framework": "a stranger"}]
    _run(_write(tmp_path / "r.csv", rows), capsys, out=tmp_path / "out.csv")
    known, unknown = (row for row in _predictions(tmp_path / "out.csv") if row["metric"] == "memory")
    assert float(unknown["p90"]) / float(unknown["p10"]) > float(known["p90"]) / float(known["p10"])


def test_a_table_of_cumulative_options_continues_the_row_above(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each option that a row adds with "..." lowers the memory of the one before."""
    base = {**RUN, "model": "Llama-3.2-3B", "method": "full + packed + compile", "seq": "4096"}
    texts = ("... + chunked CE", "... + activation checkpointing", "... + optimizer in backward", "... + 8-bit AdamW")
    _run(
        _write(tmp_path / "r.csv", [base, *({**base, "method": text} for text in texts)]),
        capsys,
        out=tmp_path / "out.csv",
    )
    memory = [float(row["predicted"]) for row in _predictions(tmp_path / "out.csv") if row["metric"] == "memory"]
    assert memory == sorted(memory, reverse=True)
    assert len(set(memory)) == len(memory)


def test_memory_is_counted_as_the_row_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The allocator holds more than tensors take, and the device shows 1 GiB of context besides."""
    rows = [{**RUN, "mem_kind": kind} for kind in ("", "reserved", "nvidia-smi")]
    _run(_write(tmp_path / "r.csv", rows), capsys, out=tmp_path / "out.csv")
    found = [float(row["predicted"]) for row in _predictions(tmp_path / "out.csv") if row["metric"] == "memory"]
    assert found[0] < found[1]
    assert found[2] - found[1] == pytest.approx(1.0737, rel=0.05)


@pytest.mark.parametrize("name", ["meta-llama/Llama-2-70b-hf", "llama2-70b", "Llama-2-70B-chat"])
def test_a_model_is_found_with_its_publisher_and_without_a_hyphen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Names of one model lead to one model."""
    code, found = _run(_write(tmp_path / "r.csv", [{**BENCHMARK, "model": name}]), capsys)
    assert (code, found["predicted"]) == (0, 1)


def test_rows_that_ran_and_are_predicted_not_to_fit_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Full fine-tuning of 70 B on one card of 80 GB is told not to fit."""
    rows = [RUN, {**RUN, "model": "Llama-2-70B", "method": "full"}]
    _, found = _run(_write(tmp_path / "r.csv", rows), capsys)
    assert found["ran_refused"] == 1


def test_a_header_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    """A header of no known kind is refused."""
    with pytest.raises(InputError, match="no known kind"):
        finetune(_write(tmp_path / "r.csv", [{"a": "1"}]), models=None, predictions_to=None, as_json=False)


def test_bands_are_wider_the_less_is_known() -> None:
    """Bands nest: a level that knows less is wider, for every metric."""
    bands = load_calibration().bands
    for metric in METRICS:
        width = {level: bands[level, metric][1] - bands[level, metric][0] for level in LEVELS}
        assert width["known pair"] < width["unseen pair"] < width["unseen hardware"] < width["both unseen"]
        assert width["unseen pair"] < width["unseen model"] < width["both unseen"]
