"""A small file of measurements of each kind; configurations are made up, figures are of the right size."""

import pytest

INFERENCEX = {
    "id": "",
    "suspect": "0",
    "model": "Llama-3.3-70B",
    "hardware": "h200",
    "n_gpus": "4",
    "tp": "4",
    "pp": "",
    "ep": "1",
    "dp_attention": "0",
    "disaggregated": "0",
    "prefill_gpus": "",
    "decode_gpus": "",
    "prefill_tp": "",
    "prefill_ep": "",
    "prefill_dp_attention": "",
    "prefill_workers": "0",
    "decode_tp": "",
    "decode_ep": "",
    "decode_dp_attention": "",
    "decode_workers": "0",
    "speculative": "none",
    "framework": "vllm",
    "precision": "fp8",
    "isl": "1024",
    "osl": "1024",
    "concurrency": "32",
    "tput_per_gpu": "1000",
    "ttft_mean_s": "0.2",
    "ttft_median_s": "0.12",
    "ttft_p99_s": "0.6",
    "tpot_median_s": "0.014",
    "joules_per_output_token": "1.2",
    "overlap_serving_runs": "0",
}


@pytest.fixture
def rows() -> list[dict[str, str]]:
    """Return rows that differ in what the reader must tell apart."""
    changes = [
        {},
        {"concurrency": "4"},
        {"hardware": "gb200", "precision": "fp4"},
        {"model": "DeepSeek-R1", "hardware": "b200", "n_gpus": "8", "tp": "8", "ep": "8", "dp_attention": "1"},
        {
            "model": "DeepSeek-R1",
            "hardware": "b200",
            "n_gpus": "12",
            "tp": "",
            "disaggregated": "1",
            "prefill_gpus": "4",
            "decode_gpus": "8",
            "prefill_tp": "4",
            "prefill_ep": "4",
            "prefill_workers": "1",
            "decode_tp": "8",
            "decode_ep": "8",
            "decode_dp_attention": "1",
            "decode_workers": "1",
            "framework": "dynamo-sglang",
            "speculative": "mtp",
        },
        {"model": "gpt-oss-120b", "precision": "fp4", "n_gpus": "1", "tp": "1", "framework": "an-unknown-engine"},
        {"n_gpus": "", "tp": "", "prefill_gpus": "4", "decode_gpus": "8", "disaggregated": "1"},
        {"concurrency": ""},
    ]
    return [{**INFERENCEX, **change, "id": f"T{index}"} for index, change in enumerate(changes)]
