"""The simulation of serving replicas: its speed, and the closed form against it.

`python benchmarks/serving_simulation.py [CASES] [--seed N] [--requests N]`:

- `simulated`: requests of 1,024 and 256 tokens at a rate that keeps 64 of them in flight on Llama 3 70B in FP8 on eight
  H100; requests over processor time, the best of three runs.
- `closed form`: means of 2,048 configurations at once, configurations over processor time, the best of five.
- `cases`: CASES (default 200) configurations drawn from a seed: model, accelerator, tensor parallelism, lengths, prefix
  hits, budget of input tokens, and a load of 0.1 to 0.8 of the largest rate. Of each, P50 and P95 of time to first
  token, time per output token and end-to-end time by both, and the share of cases within 15 %.

Set OMP_NUM_THREADS=1 to keep NumPy on one core.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.catalog.load import load
from clusterwright.catalog.records import Catalogue
from clusterwright.evidence.models import catalogued, find
from clusterwright.sizing.serving.arrivals.open_loop import METRICS, latencies, serve_arrivals
from clusterwright.sizing.serving.arrivals.requests import Lengths, RequestMix, log_normal, poisson
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.configuration import device_of
from clusterwright.sizing.serving.simulation.fleet import Outcome, simulate
from clusterwright.sizing.serving.simulation.step_table import StepTable, tabulated
from clusterwright.workload.inference import ServedModel

SHARES = (0.5, 0.95)
WITHIN = 0.15
#: Models with the accelerators that one replica takes, bytes per weight, and bits of the multiplications.
REPLICAS = (
    ("Llama-3-8B", "h100-sxm-80gb", 1, 2.0, 16.0),
    ("Llama-3-8B", "a100-sxm-80gb", 1, 2.0, 16.0),
    ("Llama-3-70B", "h100-sxm-80gb", 4, 1.0, 8.0),
    ("Llama-3-70B", "h100-sxm-80gb", 8, 2.0, 16.0),
    ("Llama-3-70B", "a100-sxm-80gb", 8, 2.0, 16.0),
    ("Mixtral-8x7B", "h100-sxm-80gb", 2, 2.0, 16.0),
    ("gpt-oss-120b", "h100-sxm-80gb", 4, 0.53125, 16.0),
    ("DeepSeek-V3", "h200-sxm-141gb", 8, 1.0, 8.0),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One drawn configuration and its load."""

    name: str
    model: ServedModel
    device: ServingDevice
    place: Deployment
    mix: RequestMix
    chunk_tokens: int
    load: float
    seed: int


def deployment(gpus: int, weight_bytes: float, bits: float) -> Deployment:
    """Return one replica with tensor parallelism over all of its accelerators."""
    return Deployment(
        gpus=float(gpus),
        workers=1.0,
        attention_tp=float(gpus),
        expert_parallel=1.0,
        attention_bytes=weight_bytes,
        expert_bytes=weight_bytes,
        cache_bytes=min(weight_bytes, 2.0) if weight_bytes >= 1 else 1.0,
        attention_bits=bits,
        expert_bits=bits,
        input_tokens=1024.0,
        output_tokens=256.0,
        reserved_tokens=1280.0,
        concurrency=1.0,
    )


def draw_cases(catalogue: Catalogue, count: int, seed: int) -> list[Case]:
    """Return configurations drawn from a seed."""
    draw = np.random.default_rng(seed)
    known, cases = catalogued(catalogue), []
    for number in range(count):
        name, accelerator, gpus, weight_bytes, bits = REPLICAS[draw.integers(len(REPLICAS))]
        found = find(name, known)
        assert found is not None, name  # noqa: S101 - the table above names models of the catalogue
        mean_in, mean_out = (
            np.exp(draw.uniform(np.log(128), np.log(6000))),
            np.exp(draw.uniform(np.log(64), np.log(1500))),
        )
        spread_in, spread_out = draw.choice([1.0, draw.uniform(1.2, 3.0)], 2)
        place = deployment(gpus, weight_bytes, bits)
        cases.append(
            Case(
                name=f"{name} on {gpus} {accelerator}",
                model=found.shape,
                device=device_of(catalogue.accelerators[accelerator]),
                place=replace(place, most_sequences=float(draw.choice([16, 64, 256, 1024]))),
                mix=RequestMix(
                    inputs=log_normal(mean=round(mean_in), p95=round(mean_in) * spread_in, most=16_000),
                    outputs=log_normal(mean=round(mean_out), p95=round(mean_out) * spread_out, most=8_000),
                    cached_share=float(draw.choice([0.0, 0.0, 0.5])),
                ),
                chunk_tokens=int(draw.choice([2048, 8192])),
                load=float(draw.uniform(0.1, 0.8)),
                seed=number,
            )
        )
    return cases


def both(case: Case, *, requests: int) -> tuple[dict[tuple[str, float], tuple[float, float]], float]:
    """Return percentiles by closed form and by simulation, and the requests per second that were offered."""
    known = (case.model, case.device, case.place, Factors())
    means = serve_arrivals(*known, mix=case.mix, requests_per_s=1e-9, chunk_tokens=case.chunk_tokens)
    rate = case.load * float(means.most_requests_per_s)
    formed = latencies(*known, mix=case.mix, requests_per_s=rate, chunk_tokens=case.chunk_tokens, shares=SHARES)
    table = tabulated(
        *known,
        longest_tokens=24_500,
        chunk_tokens=case.chunk_tokens,
        most_sequences=int(case.place.most_sequences),  # type: ignore[arg-type]
    )
    outcome = simulate(table, poisson(case.mix, count=requests, requests_per_s=rate, seed=case.seed)).steady()
    found = {}
    for metric in METRICS:
        seen = getattr(outcome, metric)
        for share in SHARES:
            found[metric, share] = (float(formed.at(metric, share)), float(np.nanquantile(seen, share)))
    return found, rate


def compare(cases: list[Case], *, requests: int, tell: bool = False) -> dict[tuple[str, float], np.ndarray]:
    """Return closed form over simulation, less one, by metric and share."""
    errors: dict[tuple[str, float], list[float]] = {(metric, share): [] for metric in METRICS for share in SHARES}
    for case in cases:
        found, rate = both(case, requests=requests)
        line = []
        for key, (formed, seen) in found.items():
            errors[key].append(formed / seen - 1.0)
            line.append(f"{formed:.4g}/{seen:.4g}={formed / seen - 1.0:+.0%}")
        if tell:
            lengths = f"{case.mix.inputs.mean:.0f}/{case.mix.outputs.mean:.0f}"
            print(
                f"{case.name} {lengths} chunk {case.chunk_tokens} seqs {case.place.most_sequences:.0f} "
                f"load {case.load:.2f} {rate:.3g}/s: {' '.join(line)}"
            )
    return {key: np.array(values) for key, values in errors.items()}


def fixed(catalogue: Catalogue) -> tuple[ServedModel, ServingDevice, Deployment, Factors]:
    """Return Llama 3 70B in FP8 on eight H100."""
    found = find("Llama-3-70B", catalogued(catalogue))
    assert found is not None  # noqa: S101 - the catalogue has it
    device = device_of(catalogue.accelerators["h100-sxm-80gb"])
    return found.shape, device, deployment(8, 1.0, 8.0), Factors()


def least_s(action: Callable[[], object], repeats: int) -> float:
    """Return the least processor time of an action, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def speed(catalogue: Catalogue) -> None:
    """Print how fast simulation and closed form are."""
    known = fixed(catalogue)
    mix = RequestMix(inputs=Lengths(tokens=np.array([1024.0])), outputs=Lengths(tokens=np.array([256.0])))
    table: StepTable = tabulated(*known, longest_tokens=2048)
    low, high = 0.1, float(serve_arrivals(*known, mix=mix, requests_per_s=1e-9).most_requests_per_s)
    outcome: Outcome | None = None
    for _ in range(14):
        rate = (low + high) / 2
        outcome = simulate(table, poisson(mix, count=4000, requests_per_s=rate, seed=1)).steady()
        low, high = (rate, high) if rate * outcome.total_s.mean() < 64 else (low, rate)  # noqa: PLR2004
    requests = poisson(mix, count=20_000, requests_per_s=low, seed=2)
    seconds = least_s(lambda: simulate(table, requests), 3)
    inside = low * float(simulate(table, requests).steady().total_s.mean())
    print(f"simulated    {20_000 / seconds:,.0f} requests/s of one core, {inside:.0f} in flight at {low:.2f}/s")
    count = 2048
    rates = np.linspace(0.01, 0.9, count) * float(
        serve_arrivals(*known, mix=mix, requests_per_s=1e-9).most_requests_per_s
    )
    place = replace(known[2], gpus=np.full(count, 8.0), attention_tp=np.full(count, 8.0))
    seconds = least_s(lambda: serve_arrivals(known[0], known[1], place, known[3], mix=mix, requests_per_s=rates), 5)
    print(f"closed form  {count / seconds:,.0f} configurations/s of one core, means")
    seconds = least_s(
        lambda: latencies(
            known[0],
            known[1],
            replace(place, gpus=np.full(64, 8.0), attention_tp=np.full(64, 8.0)),
            known[3],
            mix=mix,
            requests_per_s=rates[::32],
        ),
        3,
    )
    print(f"percentiles  {64 / seconds:,.0f} configurations/s of one core")


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--requests", type=int, default=8000)
    parser.add_argument("--tell", action="store_true", help="print every case")
    chosen = parser.parse_args()
    catalogue = load()
    speed(catalogue)
    errors = compare(draw_cases(catalogue, chosen.cases, chosen.seed), requests=chosen.requests, tell=chosen.tell)
    every = np.ones(chosen.cases, dtype=bool)
    for (metric, share), values in errors.items():
        near = np.abs(values) <= WITHIN
        every &= near
        print(
            f"{metric:<17} P{share * 100:.0f}: {near.mean():6.1%} of cases within 15 %, "
            f"median {np.median(np.abs(values)):5.1%}, bias {np.median(values):+5.1%}"
        )
    print(f"all six together: {every.mean():.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
