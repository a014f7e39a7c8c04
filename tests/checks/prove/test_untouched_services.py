"""Services of many models and frameworks, as they were written: nothing is found in what nobody edited."""

from pathlib import Path
from typing import Any

import pytest

from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.kubernetes.proof import prove_kubernetes
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.proof import prove_site
from clusterwright.interface.planning import plan

_ASKED = {
    "traffic": {
        "users": 1500,
        "think_time": "30 s",
        "input_tokens": {"mean": 2000, "p95": 5000},
        "output_tokens": {"mean": 300, "p95": 800},
    },
    "goals": {"first_token": "3 s", "time_per_token": "60 ms", "percentile": 95},
}
_SPREAD = {"attention_data_parallel": True}
_APART = {"disaggregated": "always"}
#: A tray has four accelerators, so that a replica of eight takes two.
_GB200 = {"system": "gb200-nvl72"}
_RACK = {"rack_power": "160 kW", "cooling": "direct-to-chip"}
_L40S = {"system": "l40s-8gpu", "node": {"power": "6 kW"}}


@pytest.mark.parametrize("scheduler", ["kubernetes", "slurm"])
@pytest.mark.parametrize(
    ("engine", "target", "options"),
    [
        (("deepseek-v3", "vllm"), {"system": "dgx-b200"}, _SPREAD),
        (("deepseek-v3", "sglang"), {"system": "dgx-h200"}, _SPREAD),
        (("qwen3-235b-a22b", "sglang"), {"system": "dgx-h200"}, _APART),
        (("qwen3-235b-a22b", "vllm"), {"system": "dgx-h200"}, _APART),
        (("llama-3.1-8b", "tensorrt-llm"), {"system": "dgx-h100"}, {}),
        (("llama-3.3-70b", "vllm"), {"system": "mi300x-8gpu"}, {}),
        (("qwen3-8b", "vllm"), _L40S, {}),
        (("deepseek-r1", "sglang"), _GB200, _SPREAD),
    ],
)
def test_nothing_is_found_in_a_service_as_it_was_written(
    tmp_path: Path, engine: tuple[str, str], target: dict[str, Any], options: dict[str, Any], scheduler: str
) -> None:
    """Attention in groups, pools apart, an engine without flags, a fabric without ports for pods, several trays."""
    model, framework = engine
    workload = {"kind": "serve", "model": model, "framework": framework, "precision": "fp8", "options": options}
    made = plan(
        {
            "name": "served",
            "workload": workload,
            "targets": {"onprem": {**target, "scheduler": scheduler}},
            **({"site": _RACK} if target is _GB200 else {}),
            **_ASKED,
        }
    )
    made.onprem(tmp_path / "site")
    papers = read_papers(read_folder(tmp_path / "site"))
    objects = prove_kubernetes(papers)
    results = [*prove_site(papers), *([] if objects is None else [objects])]
    assert [(found.id, found.message) for result in results for found in result.findings] == []
