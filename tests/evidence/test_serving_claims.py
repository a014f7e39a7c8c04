"""Claims about inference: what is arithmetic is done by hand here, and the page is what the formulas say."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def claims() -> ModuleType:
    """The module that writes the page."""
    spec = importlib.util.spec_from_file_location("serving_claims", _ROOT / "benchmarks" / "serving_claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_formulas_say(claims: ModuleType) -> None:
    """docs/evidence/serving-claims.md is written anew."""
    assert claims.page() == claims.PAGE.read_text(encoding="utf-8"), "python benchmarks/serving_claims.py"


@pytest.mark.parametrize(
    ("model", "tokens", "gigabytes"),
    [
        ("llama-3-70b", 4096, 1.342),
        ("llama-3-70b", 32_768, 10.74),
        ("llama-3-70b", 131_072, 42.95),
        ("llama-3-70b", 1_048_576, 343.6),
        ("llama-3-8b", 4096, 0.5369),
        ("llama-3-8b", 32_768, 4.295),
        ("llama-3-8b", 131_072, 17.18),
        ("llama-3-8b", 1_048_576, 137.4),
    ],
)
def test_keys_and_values_are_layers_heads_width_and_bytes(
    claims: ModuleType, model: str, tokens: int, gigabytes: float
) -> None:
    """2 × 80 × 8 × 128 × 2 = 327,680 bytes a token of Llama 3 70B, 2 × 32 × 8 × 128 × 2 = 131,072 of 8B."""
    assert claims.cache_gb(model, tokens) == pytest.approx(gigabytes, rel=1e-3)


@pytest.mark.parametrize(
    ("replica", "bound"),
    [
        (("llama-3-8b", "h100-sxm-80gb", 1, "bf16"), 3.35e12 / 15.0e9),
        (("llama-3-70b", "h100-sxm-80gb", 4, "bf16"), 4 * 3.35e12 / 139.0e9),
        (("llama-3-70b", "h100-sxm-80gb", 1, "int8"), 3.35e12 / 70.6e9),
    ],
)
def test_one_request_is_bound_by_reading_the_weights(
    claims: ModuleType, replica: tuple[str, str, int, str], bound: float
) -> None:
    """Bandwidth over bytes: no answer is faster, whatever a table says."""
    assert claims.ceiling(*replica) == pytest.approx(bound, rel=0.02)
    made, _ = claims.tokens_per_s(claims.replica(*replica, 1.0))
    assert made < bound


def test_70b_is_71_gb_in_eight_bits_and_half_of_it_in_four(claims: ModuleType) -> None:
    """70.6 billion parameters; four bits carry a scale and a zero for 128 weights."""
    assert claims.weights_gb("llama-3-70b", "int8") == pytest.approx(70.6, abs=0.1)
    assert claims.weights_gb("llama-3-70b", "int4") == pytest.approx(70.55 * (0.5 + 2.5 / 128), abs=0.1)


def test_eight_bits_gain_at_most_two_and_more_requests_gain_less_from_drafts(claims: ModuleType) -> None:
    """Formats cannot gain more than their bits, and speculation ends where a step is bound by computing."""
    full = [
        claims.tokens_per_s(claims.replica("llama-3.1-8b", "h100-sxm-80gb", 1, one, 256.0))[0]
        for one in ("bf16", "fp8")
    ]
    assert 1.0 < full[1] / full[0] <= 2.0
    gains = [
        claims.tokens_per_s(claims.replica("deepseek-v3", "h200-sxm-141gb", 8, "fp8", batch, speculative="mtp"))[1]
        / claims.tokens_per_s(claims.replica("deepseek-v3", "h200-sxm-141gb", 8, "fp8", batch))[1]
        for batch in (1.0, 256.0)
    ]
    assert gains[1] < gains[0] < 4.0
