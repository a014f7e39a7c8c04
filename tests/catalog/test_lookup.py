"""Finding things by the names people write."""

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h100-sxm-80gb", "h100-sxm-80gb"),
        ("H100", "h100-sxm-80gb"),
        ("h100 sxm 80 GB", "h100-sxm-80gb"),
        ("H100 NVL", "h100-nvl-94gb"),
        ("MI300X", "mi300x-192gb"),
        ("Gaudi 3", "gaudi3-128gb"),
        ("tpu v5p", "tpu-v5p"),
    ],
)
def test_accelerators_by_many_names(name: str, expected: str) -> None:
    """Ids, trade names, and any case and punctuation find the same accelerator."""
    assert lookup.accelerator(load(), name).id == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt3-175b", "gpt3-175b"),
        ("GPT-3-175B", "gpt3-175b"),
        ("gpt3", "gpt3-175b"),
        ("Llama-3.1-405B", "llama-3.1-405b"),
        ("llama 3 405b", "llama-3.1-405b"),
        ("DeepSeek-R1 671B", "deepseek-r1"),
    ],
)
def test_models_by_many_names(name: str, expected: str) -> None:
    """Model names as papers and hubs write them find the same record."""
    assert lookup.model(load(), name).id == expected


def test_systems_switches_and_parts() -> None:
    """The other kinds are found the same way."""
    catalogue = load()
    assert lookup.system(catalogue, "DGX A100").id == "dgx-a100-640gb"
    assert lookup.switch(catalogue, "QM9700").id == "qm9700"
    assert lookup.part(catalogue, "MMA4Z00-NS").id == "mma4z00-ns"


def test_instances_in_any_case() -> None:
    """A cloud's own type names are found in any case."""
    assert lookup.instance(load(), "standard_nd96isr_h100_v5", cloud="azure").id == "Standard_ND96isr_H100_v5"


@pytest.mark.parametrize(
    ("finder", "name", "suggestion"),
    [
        (lookup.model, "gpt3-17b", "gpt3-175b"),
        (lookup.accelerator, "h100-sxm-8gb", "h100-sxm-80gb"),
        (lookup.instance, "p5.48xlarg", "p5.48xlarge"),
        (lookup.system, "dgx-h10", "dgx-h100"),
    ],
)
def test_a_slip_gets_a_suggestion(finder: Callable[[Catalogue, str], object], name: str, suggestion: str) -> None:
    """An unknown name close to a known one is answered with it."""
    with pytest.raises(InputError, match="is called") as caught:
        finder(load(), name)
    assert suggestion in (caught.value.help or "")


def test_a_strange_name_gets_the_list() -> None:
    """A name like nothing known is answered with what there is."""
    with pytest.raises(InputError) as caught:
        lookup.switch(load(), "zzz")
    assert "qm9700" in (caught.value.help or "")


def test_an_instance_of_another_cloud_is_named_as_such() -> None:
    """A type of the wrong cloud says whose it is."""
    with pytest.raises(InputError, match="no azure instance type") as caught:
        lookup.instance(load(), "p5.48xlarge", cloud="azure")
    assert "of aws" in (caught.value.help or "")


def test_an_instance_unknown_everywhere() -> None:
    """A type of no cloud is an error for the cloud asked."""
    with pytest.raises(InputError, match="no gcp instance type"):
        lookup.instance(load(), "a3-hugegpu-8g", cloud="gcp")


def test_topics_are_found_too() -> None:
    """What only claims speak of has a name as well."""
    catalogue = load()
    assert lookup.entity_id(catalogue, "Grace CPU") == "grace-cpu"
    assert lookup.names_of(catalogue)["grace-cpu"] == "grace cpu"
    assert lookup.names_of(catalogue)["h100-sxm-80gb"] == "NVIDIA H100 SXM 80 GB"


def test_every_id_and_alias_finds_itself() -> None:
    """No two names collide once case and punctuation are dropped."""
    catalogue = load()
    for group, finder in (
        (catalogue.accelerators, lookup.accelerator),
        (catalogue.models, lookup.model),
        (catalogue.systems, lookup.system),
        (catalogue.parts, lookup.part),
    ):
        for entity in group:
            assert finder(catalogue, entity.upper()).id == entity  # type: ignore[operator, attr-defined]
    for alias, entity in catalogue.aliases.items():
        assert lookup.entity_id(catalogue, alias) == entity


@given(st.text(max_size=40))
def test_any_text_is_found_or_refused(text: str) -> None:
    """No input makes a lookup fail in another way than with InputError."""
    found = None
    with contextlib.suppress(InputError):
        found = lookup.model(load(), text)
    assert found is None or found.id in load().models


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("p5.49xlarge", "did you mean 'p5.4xlarge' or 'p5.48xlarge'"),
        ("a3", "did you mean 'a3-"),
        ("zzz9", "`clusterwright facts` lists all"),
    ],
)
def test_an_unknown_name_gets_close_ones_or_where_all_are_listed(name: str, said: str) -> None:
    """What is close or begins the same is offered, at most three; a long list is not printed."""
    with pytest.raises(InputError) as caught:
        lookup.instance(load(), name)
    assert caught.value.help is not None
    assert said in caught.value.help
    assert len(caught.value.help) < 120


@pytest.mark.parametrize(
    ("cloud", "name", "said"),
    [
        ("aws", "h100", "did you mean 'p5.48xlarge' or 'p5.4xlarge'?"),
        ("aws", "8xA100", "did you mean 'p4d.24xlarge' or 'p4de.24xlarge'?"),
        ("gcp", "tpu-v6e-256", "did you mean 'ct6e-standard-8t' or 'ct6e-standard-4t'?"),
        ("gcp", "B200", "did you mean 'a4-highgpu-8g'?"),
        ("azure", "MI300X x8", "did you mean 'Standard_ND96is_MI300X_v5' or 'Standard_ND96isr_MI300X_v5'?"),
        # The T4 is no part of this name.
        ("gcp", "ct4p-hightpu-8t", "did you mean 'ct4p-hightpu-4t'"),
    ],
)
def test_who_names_the_accelerator_is_offered_the_instances_that_have_it(cloud: str, name: str, said: str) -> None:
    """Most accelerators of a node come first; what has others is not offered, however it is spelled."""
    with pytest.raises(InputError) as caught:
        lookup.instance(load(), name, cloud=cloud)
    assert (caught.value.help or "").startswith(said)


def test_who_names_the_accelerator_is_offered_the_systems_that_have_it() -> None:
    """A GB200 is no B200, though its name holds that one's."""
    with pytest.raises(InputError) as caught:
        lookup.system(load(), "gb200")
    assert caught.value.help == "did you mean 'gb200-nvl72'?"


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b"),
        ("meta-llama/Meta-Llama-3-70B", "llama-3-70b"),
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("Qwen/Qwen3-235B-A22B", "qwen3-235b-a22b"),
    ],
)
def test_models_are_known_under_their_names_on_hugging_face(name: str, known_as: str) -> None:
    """Neither the organisation nor tuning changes layers and widths."""
    assert lookup.model(load(), name).id == known_as


@pytest.mark.parametrize(
    "name",
    [
        "mistralai/Mistral-7B-Instruct-v0.3",
        "deepseek-ai/DeepSeek-V3.1",
        "meta-llama/Llama-3.1-405B-Instruct-FP8",
        "Qwen/Qwen3-235B-A22B-Instruct-2507",
    ],
)
def test_other_versions_and_formats_of_a_model_are_not_taken_for_it(name: str) -> None:
    """Versions differ in windows, contexts and formats; the nearest names are offered."""
    with pytest.raises(InputError) as caught:
        lookup.model(load(), name)
    assert "did you mean" in (caught.value.help or "")
