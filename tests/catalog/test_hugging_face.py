"""Models from `config.json`: exact counts of published files, refusals by name, files that are not to be trusted."""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterwright.catalog.configs.families import families
from clusterwright.catalog.configs.hugging_face import REFUSED, model_from_config
from clusterwright.catalog.configs.values import MAX_BYTES
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Model
from clusterwright.errors import InputError
from clusterwright.workload import transformer

Config = dict[str, Any]
_FILES = json.loads((Path(__file__).parent / "published_configs.json").read_text())
PUBLISHED: dict[str, Config] = {key: entry["config"] for key, entry in _FILES["catalogue"].items()}
ELSEWHERE: dict[str, tuple[Config, int]] = {
    key: (entry["config"], entry["parameters"]) for key, entry in _FILES["elsewhere"].items()
}
ROUNDED: dict[str, dict[str, Any]] = _FILES["rounded"]
LLAMA = PUBLISHED["llama-3-8b"]
#: What a file does not say, or says in words of its own.
NOT_COMPARED = {"id", "name", "parameters", "active_parameters", "published_parameters", "max_context", "source"}


def read(folder: Path, config: object) -> Model:
    """Write a `config.json` and read it."""
    path = folder / "config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return model_from_config(path)


def refusal(folder: Path, config: object) -> str:
    """Return the message with which a file is refused."""
    with pytest.raises(InputError) as caught:
        read(folder, config)
    assert str(folder / "config.json") in caught.value.message
    return caught.value.message


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_count_to_the_last_parameter(name: str, tmp_path: Path) -> None:
    """The keys of a published file give the exact parameters that the catalogue lists, all and active."""
    listed, model = load().models[name], read(tmp_path, PUBLISHED[name])
    assert transformer.parameters(model) == listed.parameters
    assert transformer.active_parameters(model) == listed.active_parameters


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_give_the_record_of_the_catalogue(name: str, tmp_path: Path) -> None:
    """Each field is the catalogue's, not only their sum, so that time and memory are those of the same model."""
    listed, model = load().models[name], read(tmp_path, PUBLISHED[name])
    differing = {
        field.name: (getattr(model, field.name), getattr(listed, field.name))
        for field in fields(Model)
        if field.name not in NOT_COMPARED
        and not (field.name == "sliding_layer_fraction" and name == "gemma-3-27b")
        and (getattr(model, field.name) or 0) != (getattr(listed, field.name) or 0)
    }
    assert differing == {}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_models_outside_the_catalogue_count_to_their_published_total(name: str, tmp_path: Path) -> None:
    """Architectures without a row in the catalogue reach the total that their publishers give."""
    config, published = ELSEWHERE[name]
    assert transformer.parameters(read(tmp_path, config)) == published


@pytest.mark.parametrize("name", ROUNDED)
def test_models_whose_counts_are_published_in_billions_reach_them(name: str, tmp_path: Path) -> None:
    """Both tables and all other weights are those of the report, to its last digit."""
    entry = ROUNDED[name]
    model = read(tmp_path, entry["config"])
    tables = 2 * model.vocab * model.hidden
    assert round(tables / 1e9, 1) == entry["embedding_billions"]
    assert round((transformer.parameters(model) - tables) / 1e9, 1) == entry["other_billions"]
    assert not model.gated


def test_norms_of_olmo_2_are_as_wide_as_queries_and_keys(tmp_path: Path) -> None:
    """OLMo 2 32B has 8 key heads of 40: each layer's norms hold 2 h + 40 x 128 + 8 x 128 weights."""
    config = ELSEWHERE["olmo-2-13b"][0] | {
        "num_hidden_layers": 64,
        "num_key_value_heads": 8,
        "intermediate_size": 27648,
    }
    layer = 2 * 5120 * 5120 + 2 * 5120 * 1024 + 3 * 5120 * 27648 + 2 * 5120 + 5120 + 1024
    assert transformer.parameters(read(tmp_path, config)) == 64 * layer + 2 * 100352 * 5120 + 5120


def test_every_architecture_of_the_table_is_held_to_a_published_model() -> None:
    """No row of the table of architectures goes without a count that was published."""
    exact = (*PUBLISHED.values(), *(entry for entry, _ in ELSEWHERE.values()))
    held = {config["model_type"] for config in (*exact, *(entry["config"] for entry in ROUNDED.values()))}
    assert held == set(families())


def test_five_in_six_layers_of_gemma_3_have_a_window(tmp_path: Path) -> None:
    """Of 62 layers 10 are full, so 52 of 62 have the window of 1,024 tokens."""
    model = read(tmp_path, PUBLISHED["gemma-3-27b"])
    assert (model.sliding_window, model.sliding_layer_fraction) == (1024, 52 / 62)


def test_a_window_as_long_as_the_context_is_none(tmp_path: Path) -> None:
    """Phi-3 mini with 128k states a window beyond its context, which limits nothing."""
    assert read(tmp_path, PUBLISHED["phi-3-mini"]).sliding_window is None


def test_qwen_2_slides_from_the_layer_it_names(tmp_path: Path) -> None:
    """With the window switched on, the layers from `max_window_layers` on have it."""
    config = PUBLISHED["qwen2.5-7b"] | {
        "use_sliding_window": True,
        "sliding_window": 4096,
        "max_window_layers": 21,
    }
    assert read(tmp_path, config).sliding_layer_fraction == 7 / 28


def test_a_window_that_is_not_spoken_of_is_the_default(tmp_path: Path) -> None:
    """Mistral's window is 4,096 tokens unless the file says otherwise; null says that there is none."""
    config = {key: value for key, value in PUBLISHED["mistral-7b"].items() if key != "sliding_window"}
    assert read(tmp_path, config).sliding_window == 4096
    assert read(tmp_path, config | {"sliding_window": None}).sliding_window is None


def test_partial_biases_are_counted(tmp_path: Path) -> None:
    """Biases of the attention alone add q + 2k + h per layer, of the MLP alone 2f + h; both together, their sum."""
    plain = transformer.parameters(read(tmp_path, LLAMA))
    attention, mlp = 32 * (4096 + 2 * 1024 + 4096), 32 * (2 * 14336 + 4096)
    for biases, more in (((True, False), attention), ((False, True), mlp), ((True, True), attention + mlp)):
        config = LLAMA | dict(zip(("attention_bias", "mlp_bias"), biases, strict=True))
        assert transformer.parameters(read(tmp_path, config)) == plain + more


def test_null_means_what_an_absent_key_means(tmp_path: Path) -> None:
    """`head_dim: null` is hidden over heads, and `num_key_value_heads: null` as many as heads."""
    model = read(tmp_path, LLAMA | {"head_dim": None, "num_key_value_heads": None})
    assert (model.head_dim, model.kv_heads, model.attention_kind) == (128, 32, "mha")


def test_the_name_is_the_files_own_only_where_it_is_plain(tmp_path: Path) -> None:
    """Text of an untrusted file does not reach documents unless it is a plain name."""
    assert read(tmp_path, LLAMA | {"_name_or_path": "meta-llama/Meta-Llama-3-8B"}).name == "meta-llama/Meta-Llama-3-8B"
    for bad in ("<script>", "../../etc", "a" * 300, 7, ""):
        assert read(tmp_path, LLAMA | {"_name_or_path": bad}).name == "llama of config.json"


@pytest.mark.parametrize(("reason", "kind"), [(reason, kind) for reason, kinds in REFUSED.items() for kind in kinds])
def test_other_architectures_are_refused_by_name(reason: str, kind: str, tmp_path: Path) -> None:
    """Mamba, T5, vision towers and their like are named, with the reason."""
    message = refusal(tmp_path, LLAMA | {"model_type": kind})
    assert f'"{kind}"' in message
    assert reason in message


@pytest.mark.parametrize("kind", [None, "", 5, "never_heard_of"])
def test_a_file_without_a_known_architecture_is_refused(kind: object, tmp_path: Path) -> None:
    """No `model_type`, or one that is not in the table, gives no model."""
    message = refusal(tmp_path, LLAMA | {"model_type": kind})
    assert "never_heard_of" in message if kind == "never_heard_of" else "model_type" in message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_hidden_layers": 10_001}, "num_hidden_layers is 10001, more than 10,000 layers"),
        ({"num_hidden_layers": None}, "num_hidden_layers is missing"),
        ({"vocab_size": "many"}, 'vocab_size is "many", not a whole number'),
        ({"hidden_size": 4096.5}, "hidden_size is 4096.5, not a whole number"),
        ({"hidden_size": True}, "hidden_size is true, not a whole number"),
        ({"hidden_size": 4100}, "hidden_size is 4100, which is not divisible by num_attention_heads, 32"),
        (
            {"num_key_value_heads": 5},
            "num_attention_heads is 32, which is not divisible by the 5 of num_key_value_heads",
        ),
        ({"num_attention_heads": -8}, "num_attention_heads is -8"),
        ({"intermediate_size": 10**400}, "intermediate_size is a number beyond 2^30"),
        ({"tie_word_embeddings": "no"}, 'tie_word_embeddings is "no", neither true nor false'),
        ({"vision_config": {}}, "vision_config (a vision tower) cannot be expressed"),
        ({"is_encoder_decoder": True}, "is_encoder_decoder: true"),
    ],
    ids=str,
)
def test_impossible_values_are_named_with_their_key(change: Config, said: str, tmp_path: Path) -> None:
    """Each wrong value is reported with file, key and what was found."""
    assert said in refusal(tmp_path, LLAMA | change)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("mixtral-8x7b", {"num_experts_per_tok": 9}, "num_experts_per_tok is 9, more than the 8 experts"),
        ("qwen3-30b-a3b", {"mlp_only_layers": [99]}, "mlp_only_layers holds 99"),
        ("qwen3-30b-a3b", {"use_sliding_window": True}, "use_sliding_window: true"),
        ("deepseek-v3", {"first_k_dense_replace": 62}, "first_k_dense_replace is 62, more than the 61 layers"),
        ("deepseek-v3", {"moe_layer_freq": 2}, "moe_layer_freq"),
        ("deepseek-v3", {"attention_bias": True}, "attention_bias: true"),
        ("gpt-oss-20b", {"layer_types": ["linear_attention"] * 24}, 'layer_types holds "linear_attention"'),
        ("gpt-oss-20b", {"layer_types": ["full_attention"]}, "layer_types lists 1 layers, the model has 24"),
        ("gpt-oss-20b", {"attention_bias": False}, "biases in the experts but not in the attention"),
        ("bert-base", {"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention: true"),
    ],
    ids=str,
)
def test_what_the_record_cannot_express_is_refused(name: str, change: Config, said: str, tmp_path: Path) -> None:
    """Variants of a known architecture that would be another model are named, not taken for it."""
    assert said in refusal(tmp_path, PUBLISHED[name] | change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"word_embed_proj_dim": 512}, "word_embed_proj_dim is 512"),
        ({"do_layer_norm_before": False}, "do_layer_norm_before: false"),
    ],
    ids=str,
)
def test_odd_opt_models_are_refused(change: Config, said: str, tmp_path: Path) -> None:
    """OPT 350M projects its embeddings and has no last norm; neither is in the record."""
    assert said in refusal(tmp_path, ELSEWHERE["opt-125m"][0] | change)


@pytest.mark.parametrize("key", ["num_local_experts", "num_experts", "n_routed_experts"])
def test_experts_of_a_dense_architecture_are_refused(key: str, tmp_path: Path) -> None:
    """A file that calls itself dense and lists experts would be counted as a model without them."""
    assert read(tmp_path, LLAMA | {key: None}).experts is None
    assert f"{key} (a mixture of experts) cannot be expressed" in refusal(tmp_path, LLAMA | {key: 8})


def test_a_wrong_size_is_reported_without_what_would_follow(tmp_path: Path) -> None:
    """No heads at all are one fault; nothing is said of heads that the file does not have."""
    assert "divisible" not in refusal(tmp_path, LLAMA | {"num_attention_heads": 0})


def test_every_fault_is_reported_at_once(tmp_path: Path) -> None:
    """Three missing keys are three faults in one message."""
    message = refusal(tmp_path, {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4})
    assert all(f"{key} is missing" in message for key in ("num_hidden_layers", "intermediate_size", "vocab_size"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[1]", "holds a list"),
        ("null", "holds a NoneType"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": 1, "a": 2}', 'the key "a" stands twice'),
        ("[" * 200_000, "nested too deeply"),
        ('{"a": ' + "9" * 10_000 + "}", "is not JSON"),
        ('{"a": "' + "x" * MAX_BYTES + '"}', "is larger than 1 MB"),
    ],
    ids=lambda value: value[:12],
)
def test_files_that_are_no_configuration_are_refused(text: str, said: str, tmp_path: Path) -> None:
    """What is not one JSON object of a sensible size is refused in a sentence."""
    assert said in refusal(tmp_path, text)


def test_paths_that_are_no_file_are_refused(tmp_path: Path) -> None:
    """A missing file, a folder, a pipe and bytes that are not text end in a sentence, and none of them blocks."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin").write_bytes(b'{"a": "\xe9"}')
    for name, said in (
        ("none.json", "there is no file"),
        ("", "is a folder"),
        ("pipe", "is not a regular file"),
        ("latin", "is not UTF-8"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(InputError, match=said):
            model_from_config(tmp_path / name if "\0" not in name else Path(name))


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-2, 200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.lists(st.integers(-1, 70) | st.text(max_size=3), max_size=4)
    | st.just(["sliding_attention"] * 12)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)
_BASES = [*PUBLISHED.values(), *(config for config, _ in ELSEWHERE.values())]
_KEYS = sorted({key for config in _BASES for key in config} | {"_name_or_path", "encoder", "qkv_bias", "n_inner"})


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(base=st.sampled_from(_BASES), change=st.dictionaries(st.sampled_from(_KEYS), _SCALARS, max_size=4))
def test_changed_files_give_a_model_or_a_sentence(base: Config, change: Config, tmp_path: Path) -> None:
    """Whatever stands in the file, the answer is an `InputError` or a model whose parameters can be counted."""
    try:
        model = read(tmp_path, base | change)
    except InputError:
        return
    assert 0 < transformer.active_parameters(model) <= transformer.parameters(model)
    assert model.heads % model.kv_heads == 0
    assert model.name
    assert model.id
