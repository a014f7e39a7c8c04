"""Claims about inference beside what the formulas say: `python benchmarks/serving_claims.py [-o FILE]`.

Guides to AI infrastructure print tables of throughput, memory and gains. Each claim is beside a figure of the
engine, with the bound that physics sets where there is one. What is a prediction says so; the rest is arithmetic.
Written to docs/evidence/serving-claims.md.
"""

import argparse
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Accelerator, NodeType
from clusterwright.sizing.serving.calibration import Calibration, factors_of, load_calibration, logarithms, memberships
from clusterwright.sizing.serving.closed_loop import serve
from clusterwright.sizing.serving.columns import Factors
from clusterwright.sizing.serving.configuration import Configuration, columns_of
from clusterwright.sizing.serving.memory import WEIGHT_BYTES, cache_bytes_per_token
from clusterwright.sizing.serving.search import search
from clusterwright.sizing.serving.service import (
    Adapters,
    Batching,
    LatencyGoals,
    Lengths,
    Load,
    Running,
    Service,
)
from clusterwright.tco.formulas.unit_cost import usd_per_million_tokens
from clusterwright.workload.inference import NamedModel, inference_model

PAGE = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "serving-claims.md"
CATALOGUE, CALIBRATION = load(), load_calibration()
H100 = lookup.node_type_of_system(CATALOGUE, "dgx-h100")
#: Tokens of a request in and out where a claim names none.
_TOKENS = 1024.0

#: Guide, model, accelerator, how many, format, batch, claimed tokens per second.
THROUGHPUT = (
    ("llama-3-8b", "h100-sxm-80gb", 1, "bf16", 1, 800.0),
    ("llama-3-8b", "h100-sxm-80gb", 1, "bf16", 128, 4500.0),
    ("llama-3-8b", "h100-sxm-80gb", 1, "int4", 128, 8000.0),
    ("llama-3-70b", "h100-sxm-80gb", 4, "bf16", 1, 180.0),
    ("llama-3-70b", "h100-sxm-80gb", 4, "int4", 64, 1200.0),
    ("llama-3-70b", "h100-sxm-80gb", 8, "bf16", 128, 2500.0),
    ("deepseek-r1", "h200-sxm-141gb", 8, "fp8", 64, 500.0),
)
#: Model, context in tokens, claimed GB of keys and values in 16 bits (two tables of one guide, where they differ).
CACHE = (
    ("llama-3-70b", 4096, "2 and 2.2"),
    ("llama-3-70b", 32_768, "18"),
    ("llama-3-70b", 131_072, "60 and 72"),
    ("llama-3-70b", 1_048_576, "560"),
    ("llama-3-8b", 4096, "0.2 and 0.25"),
    ("llama-3-8b", 32_768, "2"),
    ("llama-3-8b", 131_072, "6.5 and 8"),
    ("llama-3-8b", 1_048_576, "64"),
)
#: Accelerator, claimed billions of parameters that fit in 16, 8 and 4 bits.
LARGEST = (
    ("h100-sxm-80gb", 40, 80, 160),
    ("h200-sxm-141gb", 70, 140, 280),
    ("b200-sxm-180gb", 96, 192, 384),
    ("mi300x-192gb", 96, 192, 384),
    ("a100-sxm-80gb", 40, 80, 160),
)
#: Accelerator, USD per hour, tokens per second, claimed USD per million tokens.
PRICES = (
    ("B200", 3.39, 4000.0, 0.42),
    ("B200 spot", 2.12, 4000.0, 0.15),
    ("H100 PCIe", 2.01, 1200.0, 0.47),
    ("A100 80 GB", 1.07, 520.0, 0.57),
    ("H100 SXM", 6.88, 1200.0, 1.59),
    ("H200 SXM", 4.54, 1800.0, 0.70),
    ("L40S", 0.91, 450.0, 0.56),
)


def model(name: str) -> NamedModel:
    """Return a model of the catalogue."""
    return inference_model(lookup.model(CATALOGUE, name))


def replica(name: str, accelerator: str, gpus: int, precision: str, batch: float, **changed: object) -> Configuration:
    """Return a replica with tensor parallelism over its accelerators and a fixed number of requests."""
    own = Configuration(
        accelerator=CATALOGUE.accelerators[accelerator],
        model=model(name),
        framework="vllm",
        precision=precision,
        cache_precision="",
        gpus=float(gpus),
        gpus_per_worker=float(gpus),
        workers=1.0,
        attention_tp=float(gpus),
        expert_parallel=1.0,
        pipeline=1.0,
        decode_gpus=float(gpus),
        speculative="",
        input_tokens=_TOKENS,
        output_tokens=_TOKENS,
        reserved_tokens=2 * _TOKENS,
        shortest_share=1.0,
        concurrency=float(batch),
        most_sequences=math.inf,
        static=False,
        waves=10.0,
    )
    return replace(own, **changed)  # type: ignore[arg-type]


def tokens_per_s(row: Configuration) -> tuple[float, float]:
    """Return the output tokens per second of a replica, and those of one of its answers, as predicted."""
    given = logarithms(memberships([row]), CALIBRATION.fitted)
    factors = Factors(**{name: getattr(factors_of(given), name) for name in Factors.__slots__})
    columns = columns_of([row])
    served = serve(columns.model, columns.device, columns.place, factors)
    return float(served.requests_per_s[0] * row.output_tokens), 1.0 / float(served.time_per_token_s[0])


def ceiling(name: str, accelerator: str, gpus: int, precision: str) -> float:
    """Return the tokens per second of one answer at which the weights are read at the nominal bandwidth."""
    shape, chip = model(name).shape, CATALOGUE.accelerators[accelerator]
    read = (float(shape.active_weights) - float(shape.head_weights)) * WEIGHT_BYTES[precision]
    read += float(shape.head_weights) * WEIGHT_BYTES["bf16"]
    return gpus * float(chip.hbm_bytes_per_s or 0.0) / read


def cache_gb(name: str, tokens: int) -> float:
    """Return the GB of keys and values of a sequence in 16 bits."""
    return tokens * float(cache_bytes_per_token(model(name).shape, cache_bytes=2.0)) / 1e9


def weights_gb(name: str, precision: str) -> float:
    """Return the GB of all parameters at a format's bytes each."""
    return float(model(name).shape.parameters) * WEIGHT_BYTES[precision] / 1e9


def largest_billions(chip: Accelerator, precision: str) -> float:
    """Return the billions of parameters whose weights leave nothing of nine tenths of the memory less 4 GB."""
    defaults = Factors()
    free = defaults.cache_fraction * float(chip.hbm_bytes or 0.0) - defaults.reserved_bytes
    return float(free) / WEIGHT_BYTES[precision] / 1e9


def _service(**changed: object) -> Service:
    own = Service(
        model=model("llama-3.1-8b"),
        framework="vllm",
        precision="bf16",
        cache_precision="",
        speculative="",
        inputs=Lengths(mean=500.0, p95=1500.0),
        outputs=Lengths(mean=250.0, p95=750.0),
        prefix_share=0.0,
        load=Load(requests_per_s=20.0),
        tensor=1,
        pipeline=1,
        goals=LatencyGoals(first_token_s=10.0, time_per_token_s=0.1, percentile=0.95, confidence=0.5),
    )
    return replace(own, **changed)  # type: ignore[arg-type]


def requests_per_replica(node: NodeType = H100, calibration: Calibration = CALIBRATION, **changed: object) -> float:
    """Return the requests per second that one replica takes within 10 s to the first token at P95."""
    return search(_service(**changed), [node], calibration)[node.id][0].capacity_per_s


def gains() -> list[tuple[str, str, str]]:
    """Return claimed gains, and what the formulas say of them."""
    full = {
        precision: tokens_per_s(replica("llama-3.1-8b", "h100-sxm-80gb", 1, precision, math.inf))[0]
        for precision in ("bf16", "fp8", "int4")
    }
    alone = {
        precision: tokens_per_s(replica("llama-3.1-8b", "h100-sxm-80gb", 1, precision, 1.0))[1]
        for precision in ("bf16", "fp8", "int4")
    }
    rates = {batching: requests_per_replica(running=Running(batching=batching, window_s=0.05)) for batching in Batching}
    scarce = _service(
        model=model("llama-3.1-70b"),
        precision="fp8",
        tensor=2,
        inputs=Lengths(mean=2000.0, p95=6000.0),
        outputs=Lengths(mean=500.0, p95=1500.0),
        load=Load(requests_per_s=2.0),
        goals=LatencyGoals(first_token_s=20.0, time_per_token_s=0.2, percentile=0.95, confidence=0.5),
    )
    paged, whole = (
        search(replace(scarce, running=Running(paged=given)), [H100], CALIBRATION)[H100.id][0].capacity_per_s
        for given in (True, False)
    )
    drafted = {
        batch: [
            tokens_per_s(replica("deepseek-v3", "h200-sxm-141gb", 8, "fp8", batch, speculative=method))[1]
            for method in ("", "mtp")
        ]
        for batch in (1.0, 256.0)
    }
    adapters = Adapters(count=16.0, weights=42e6, resident=16.0)
    adapted = requests_per_replica(adapters=adapters)
    spread = _service(load=Load(requests_per_s=1.0))
    merged = 16 * search(replace(spread, load=Load(requests_per_s=1.0 / 16)), [H100], CALIBRATION)[H100.id][0].gpus
    together = search(replace(spread, adapters=adapters), [H100], CALIBRATION)[H100.id][0].gpus
    return [
        (
            "8-bit weights: 2 × throughput, half the memory",
            (
                f"{full['fp8'] / full['bf16']:.1f} × with as many requests as fit, "
                f"{alone['fp8'] / alone['bf16']:.1f} × for one request; weights take half"
            ),
            "8B on one H100, predicted; on an accelerator without FP8 multiplications only reading gains",
        ),
        (
            "4-bit weights: 4 × throughput, a quarter of the memory",
            (
                f"{full['int4'] / full['bf16']:.1f} × with as many as fit, "
                f"{alone['int4'] / alone['bf16']:.1f} × for one request; weights take {WEIGHT_BYTES['int4'] / 2:.2f} "
                "of 16 bits with their scales"
            ),
            "AWQ and GPTQ unpack to 16 bits before they multiply: what is bound by computing gains nothing",
        ),
        (
            "Flash attention: half of the keys and values",
            "no change: bytes per token are layers × KV heads × head width × 2 × bytes",
            "what it saves is the matrix of scores, which grows with the square of the context",
        ),
        (
            "Paged memory: 2 to 5 × throughput, 95 % less memory for keys and values",
            f"{paged / whole:.1f} × the requests of a replica that keeps room for the longest",
            (
                "70B in 8 bits on two H100, 2,000 tokens in and 500 out, P95 three times as many; nothing where memory "
                "is not short"
            ),
        ),
        (
            "Continuous batching: 10 to 20 × throughput",
            (
                f"{rates[Batching.CONTINUOUS] / rates[Batching.STATIC]:.0f} × static batches, "
                f"{rates[Batching.CONTINUOUS] / rates[Batching.WINDOWED]:.0f} × windowed ones, "
                f"{rates[Batching.CONTINUOUS] / rates[Batching.NONE]:.0f} × one at a time"
            ),
            "requests of one replica with the first token within 10 s at P95",
        ),
        (
            "Speculative decoding: 2 to 3 × lower latency",
            (
                f"{drafted[1.0][1] / drafted[1.0][0]:.1f} × for one request, "
                f"{drafted[256.0][1] / drafted[256.0][0]:.1f} × with 256 in flight"
            ),
            "DeepSeek-V3 on eight H200 with its own heads: the gain goes once a step is bound by computing",
        ),
        (
            "Many LoRA adapters on one model: 8 to 16 × throughput",
            (
                f"16 adapters on {together:g} accelerator in the place of {merged:g}; a replica takes "
                f"{adapted / rates[Batching.CONTINUOUS]:.2f} of the requests of one without"
            ),
            "one request a second in all; under load the adapters cost 8 to 50 % of the time of a step",
        ),
    ]


def _paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def page() -> str:
    """Return the page."""
    throughput = []
    for name, accelerator, gpus, precision, batch, claimed in THROUGHPUT:
        made, _ = tokens_per_s(replica(name, accelerator, gpus, precision, float(batch)))
        bound = f"{ceiling(name, accelerator, gpus, precision):,.0f}" if batch == 1 else ""
        throughput.append(
            (
                lookup.model(CATALOGUE, name).name,
                f"{gpus} × {CATALOGUE.accelerators[accelerator].name}",
                precision,
                str(batch),
                f"{claimed:,.0f}",
                bound,
                f"{made:,.0f}",
                f"{made / claimed:.1f} ×",
            )
        )
    name_of = {chip: CATALOGUE.accelerators[chip].name for chip, *_ in LARGEST}
    parts = [
        "# Claims about inference, beside our figures",
        "Written by `python benchmarks/serving_claims.py`; do not edit by hand.",
        _paragraph(
            """A guide to AI infrastructure (`guide-ai-ml-infrastructure` in [sources.csv](../../catalog/sources.csv))
            has tables of throughput, memory, gains and prices of inference. Each claim is beside what the engine says.
            What is predicted has the error of [serving accuracy](serving-accuracy.md); the rest is arithmetic, which
            the tests do by hand."""
        ),
        "## Tokens per second",
        _paragraph(
            """Requests of 1,024 tokens in and out, vLLM. The bound is reading the weights at the nominal bandwidth, for
            one request."""
        ),
        _table(
            ("Model", "Accelerators", "Format", "Batch", "Claimed", "Bound", "Predicted", "Predicted / claimed"),
            throughput,
        ),
        _paragraph(
            f"""In the guide's column of requests per second the rows with a batch are 8 to 16 times too high:
            {4500:,} tokens a second are {4500 / 1000:g} answers of 1,000 tokens, not 35."""
        ),
        "## Keys and values",
        _table(
            ("Model", "Context", "Claimed GB", "Exact GB, 16 bits"),
            (
                (lookup.model(CATALOGUE, name).name, f"{tokens:,}", claimed, f"{cache_gb(name, tokens):.2f}")
                for name, tokens, claimed in CACHE
            ),
        ),
        _paragraph(
            """They grow with the heads of keys and values, with layers and with the context, each to the first power;
            the number of query heads does not matter."""
        ),
        "## Weights",
        _paragraph(
            f"""Llama 3 70B takes {weights_gb("llama-3-70b", "int8"):.1f} GB in eight bits (claimed 170) and
            {weights_gb("llama-3-70b", "int4"):.1f} GB in four with their scales (claimed 85): one H200 or two H100 hold
            the first, one H100 the second. Billions of parameters that fit on one accelerator, where nine tenths of its
            memory less 4 GB are for weights alone; keys and values come on top:"""
        ),
        _table(
            ("Accelerator", "16 bits: claimed", "at most", "8 bits: claimed", "at most", "4 bits: claimed", "at most"),
            (
                (
                    name_of[chip],
                    *(
                        text
                        for claimed, precision in zip(billions, ("bf16", "int8", "int4"), strict=True)
                        for text in (str(claimed), f"{largest_billions(CATALOGUE.accelerators[chip], precision):.0f}")
                    ),
                )
                for chip, *billions in LARGEST
            ),
        ),
        "## Gains",
        _table(("Claimed", "Ours", "Of what"), gains()),
        "## Dollars per million tokens",
        "USD an hour over tokens per second, as the guide gives both:",
        _table(
            ("Accelerator", "USD/h", "Tokens/s", "Claimed", "Quotient"),
            (
                (
                    name,
                    f"{usd:.2f}",
                    f"{tokens:,.0f}",
                    f"{claimed:.2f}",
                    f"{usd_per_million_tokens(usd=usd, tokens=tokens * 3600):.3f}",
                )
                for name, usd, tokens, claimed in PRICES
            ),
        ),
        _paragraph(
            f"""The footnote says Llama 3 70B in eight bits, one request. There an H100 makes at most
            {ceiling("llama-3-70b", "h100-sxm-80gb", 1, "int8"):.0f} tokens a second and a B200
            {ceiling("llama-3-70b", "b200-sxm-180gb", 1, "int8"):.0f}, and one L40S of 48 GB does not hold the
            {weights_gb("llama-3-70b", "int8"):.0f} GB: such rates are those of batches."""
        ),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    parser.parse_args().output.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
