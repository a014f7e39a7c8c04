"""`fit`: which cards hold a model, against figures computed by hand that tables in circulation have wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from clusterwright.cli.measured.fit import fit
from clusterwright.errors import InputError


def _told(
    capsys: pytest.CaptureFixture[str], name: str, *, on: str, context: int | None = None, finetune: bool = False
) -> dict[str, Any]:
    assert fit(name, on=on, context=context, finetune=finetune, as_json=True) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def _rooms(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {room["precision"]: room for room in found["rooms"]}


def test_weights_of_70_b_take_a_byte_each_in_eight_bits_and_half_of_one_in_four(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """INT8 takes 72.7 GB with 16-bit tables and fits one H200; 4 bits fit one card of 80 GB; 16 bits need two."""
    h200 = _rooms(_told(capsys, "llama-3.1-70b", on="h200"))
    assert h200["int8"]["weight_bytes"] == pytest.approx(72.65e9, rel=1e-3)
    assert (h200["int8"]["cards"], h200["bf16"]["cards"]) == (1, 2)
    h100 = _rooms(_told(capsys, "llama-3.1-70b", on="h100"))
    assert (h100["int4"]["cards"], h100["int8"]["cards"], h100["bf16"]["cards"]) == (1, 2, 2)
    # 70 B in eight bits do not fit one card of 48 GB.
    assert _rooms(_told(capsys, "llama-3.1-70b", on="l40s"))["int8"]["cards"] > 1


def test_the_cache_of_8_b_takes_131_072_bytes_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    """One H100 leaves 0.9 x 85.5 - 4 - 16.06 GB, over 131,072 bytes a token, whatever the context."""
    found = _rooms(_told(capsys, "llama-3.1-8b", on="h100", context=4096))["bf16"]
    free = 0.9 * 81559 * 2**20 - 4e9 - 16.06e9
    assert found["spare_tokens"] == pytest.approx(free / 131_072, rel=1e-3)
    assert found["largest_batch"] == found["spare_tokens"] // 4096
    longer = _rooms(_told(capsys, "llama-3.1-8b", on="h100", context=40_960))["bf16"]
    assert longer["largest_batch"] == found["spare_tokens"] // 40_960


def test_a_card_is_not_offered_formats_that_it_does_not_multiply_in(capsys: pytest.CaptureFixture[str]) -> None:
    """An A100 has neither FP8 nor NVFP4, a B200 has both, a T4 no bfloat16; MXFP4 is unpacked, as a plan takes it."""
    assert set(_rooms(_told(capsys, "llama-3.1-8b", on="a100"))) == {"bf16", "int8", "int4", "mxfp4"}
    assert {"fp8", "nvfp4"} <= set(_rooms(_told(capsys, "llama-3.1-8b", on="b200")))
    assert set(_rooms(_told(capsys, "llama-3.1-8b", on="t4"))) == {"fp16", "int8", "int4", "mxfp4"}


def test_the_four_bits_that_gpt_oss_is_published_in_fit_one_card_of_80_gb(capsys: pytest.CaptureFixture[str]) -> None:
    """117 B parameters, experts in MXFP4: 65 GB on one H100, as `plan` serves it there."""
    room = _rooms(_told(capsys, "gpt-oss-120b", on="h100"))["mxfp4"]
    assert room["cards"] == 1
    assert room["weight_bytes"] == pytest.approx(65.2e9, rel=1e-2)


def test_a_configuration_of_ones_own_fits_like_the_model_of_the_catalogue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dimensions of Llama 3.1 8B in a config.json give its rows."""
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "model_type": "llama",
                "num_hidden_layers": 32,
                "hidden_size": 4096,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "intermediate_size": 14336,
                "vocab_size": 128256,
                "max_position_embeddings": 131072,
            }
        )
    )
    own, known = (_told(capsys, name, on="l40s")["rooms"] for name in (str(config), "llama-3.1-8b"))
    assert [(one["precision"], one["cards"], one["largest_batch"]) for one in own] == [
        (one["precision"], one["cards"], one["largest_batch"]) for one in known
    ]
    assert own[0]["weight_bytes"] == pytest.approx(known[0]["weight_bytes"], rel=1e-4)


def test_full_fine_tuning_of_70_b_does_not_fit_eight_cards_of_80_gb(capsys: pytest.CaptureFixture[str]) -> None:
    """16 bytes a parameter are 1,129 GB, 141 GB on each of eight cards before any activation; four bits fit one."""
    found = _told(capsys, "llama-3.1-70b", on="h100", finetune=True)
    ways = {(way["method"], way["precision"], way["optimizer"]): way for way in found["ways"]}
    full = ways["full", "bf16", "AdamW, fp32 moments"]
    assert full["bytes_per_card"]["8"] > 141e9
    assert full["fewest_cards"] == {"h100-sxm-80gb": None}
    assert ways["qlora", "nf4-dq", "AdamW"]["fewest_cards"] == {"h100-sxm-80gb": 1}
    assert full["trained_parameters"] == pytest.approx(70.55e9, rel=1e-3)


def test_more_cards_and_fewer_bits_never_need_more_memory_of_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    """Each method needs less of a card the more there are; QLoRA less than LoRA, LoRA less than full."""
    found = _told(capsys, "llama-3.1-8b", on="l40s", finetune=True)
    first = {}
    for way in found["ways"]:
        needed = list(way["bytes_per_card"].values())
        assert needed == sorted(needed, reverse=True)
        first[way["method"], way["precision"], way["optimizer"]] = needed[0]
    assert first["qlora", "nf4-dq", "AdamW"] < first["qlora", "nf4", "AdamW"] < first["lora", "bf16", "AdamW"]
    assert first["lora", "bf16", "AdamW"] < first["full", "bf16", "AdamW, 8 bits"]


@pytest.mark.parametrize(("name", "on"), [("lama-3.1-8b", None), ("llama-3.1-8b", "h10")])
def test_an_unknown_model_or_card_is_refused_with_suggestions(name: str, on: str | None) -> None:
    """A name that nothing has ends with the closest ones."""
    with pytest.raises(InputError) as told:
        fit(name, on=on, context=None, finetune=False, as_json=False)
    assert "did you mean" in (told.value.help or "")


@pytest.mark.parametrize("finetune", [False, True])
def test_the_text_names_every_card(capsys: pytest.CaptureFixture[str], *, finetune: bool) -> None:
    """Without a card, all that have memory and a 16-bit peak are listed."""
    assert fit("llama-3.1-8b", on=None, context=None, finetune=finetune, as_json=False) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("h100-sxm-80gb", "mi300x-192gb", "l4-24gb"))
