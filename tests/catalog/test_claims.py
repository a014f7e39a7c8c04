"""Claims: one chosen for each fact, and the wrong figures of the users' documents rejected with their reasons."""

import pytest

from clusterwright.catalog.claims import claims_of, conflicts
from clusterwright.catalog.load import load
from clusterwright.catalog.provenance import Claim
from clusterwright.catalog.tables import free_value, types_of, value_of

COURSE = "course-ai-infrastructure"
GUIDE = "guide-ai-ml-infrastructure"
NOTES = "notes-ai-infrastructure"
LESSON = "lesson-gpu-infrastructure"
EDUCADEMY = "ai-educademy-infrastructure"

#: What the documents say wrongly: document, entity, attribute, value as printed there.
WRONG = [
    (COURSE, "h100-sxm-80gb", "dense_tf32_flop_per_s", "989"),
    (COURSE, "h100-sxm-80gb", "dense_fp16_flop_per_s", "1979"),
    (COURSE, "h100-sxm-80gb", "dense_fp8_flop_per_s", "3958"),
    (COURSE, "h100-sxm-80gb", "scale_up_bytes_per_s_per_gpu_one_way", "900"),
    (COURSE, "a100-sxm-80gb", "scale_up_bytes_per_s_per_gpu_one_way", "600"),
    (COURSE, "l40s-48gb", "dense_tf32_flop_per_s", "362"),
    (COURSE, "pcie-gen5-x16", "link_bytes_per_s_one_way", "128"),
    (COURSE, "infiniband-ndr", "end_to_end_latency", "0.1"),
    (COURSE, "dgx-h100", "osfp_cages", "8"),
    (COURSE, "dgx-h100", "system_dense_tf32_flop_per_s", "16"),
    (COURSE, "dgx-h100", "system_dense_fp8_flop_per_s", "32"),
    (COURSE, "dgx-a100-640gb", "system_dense_fp16_flop_per_s", "5"),
    (COURSE, "dgx-a100-640gb", "memory_bytes", "1"),
    (COURSE, "dgx-h100-pod-32", "dense_fp8_flop_per_s", "1"),
    (COURSE, "dgx-h100-superpod-256", "dense_fp8_flop_per_s", "8"),
    (COURSE, "adamw-mixed-precision", "state_bytes_per_parameter", "8"),
    (COURSE, "gpt3-175b", "trains_on_40_a100_80gb", "yes"),
    (COURSE, "Standard_ND96asr_v4", "accelerator", "a100-sxm-80gb"),
    (COURSE, "gh200-96gb", "hbm_bytes", "80"),
    (GUIDE, "h100-sxm-80gb", "dense_bf16_flop_per_s", "1979"),
    (GUIDE, "h200-sxm-141gb", "dense_fp8_flop_per_s", "3958"),
    (GUIDE, "b200-sxm-180gb", "dense_bf16_flop_per_s", "4500"),
    (GUIDE, "b200-sxm-180gb", "dense_fp8_flop_per_s", "9000"),
    (GUIDE, "gb200-186gb", "dense_fp8_flop_per_s", "18000"),
    (GUIDE, "gb200-186gb", "hbm_bytes", "384"),
    (GUIDE, "gb200-superchip", "full_name", "Grace Hopper"),
    (GUIDE, "gb200-nvl72", "gpus", "36"),
    (GUIDE, "a100-sxm-80gb", "dense_bf16_flop_per_s", "624"),
    (GUIDE, "a100-sxm-80gb", "dense_fp8_flop_per_s", "1248"),
    (GUIDE, "mi300x-192gb", "dense_fp64_flop_per_s", "81"),
    (GUIDE, "mi250-128gb", "dense_bf16_flop_per_s", "383"),
    (GUIDE, "gaudi3-128gb", "hbm_bytes", "144"),
    (GUIDE, "gaudi3-128gb", "power_w", "600"),
    (GUIDE, "max-1550-128gb", "dense_bf16_flop_per_s", "600"),
    (GUIDE, "tpu-v5p", "pod_dense_bf16_flop_per_s", "4600"),
    (GUIDE, "trainium2-96gb", "dense_bf16_flop_per_s", "1000"),
    (GUIDE, "inferentia2-32gb", "dense_int8_op_per_s", "400"),
    (GUIDE, "maia-100-64gb", "power_w", "800"),
    (GUIDE, "dgx-h100", "power_max_w", "5.6"),
    (GUIDE, "dgx-h100", "gpus", "6"),
    (GUIDE, "dgx-h100", "systems_per_rack", "6"),
    (GUIDE, "dgx-b200", "power_max_w", "12"),
    (GUIDE, "slurm-container-plugin", "name", "Pixis"),
    (GUIDE, "scale-out-network", "share_of_hbm_bandwidth_needed_fraction", "50"),
    (GUIDE, "llama-3-70b", "kv_cache_16_bit_4k_bytes", "2.2"),
    (GUIDE, "llama-3-8b", "kv_cache_16_bit_128k_bytes", "8"),
    (GUIDE, "llama-3-70b", "fsdp_8_states_bytes_per_gpu", "74"),
    (GUIDE, "llama-3-70b", "training_gpu_hours", "172032"),
    (GUIDE, "h100-training", "per_gpu_throughput_2048_over_64_fraction", "75"),
    (GUIDE, "b200-sxm-180gb", "usd_per_million_tokens_at_3.39_usd_and_4000_tokens_per_second", "0.42"),
    (GUIDE, "a100-sxm-80gb", "usd_per_dense_fp16_pflop_per_second", "19200"),
    (GUIDE, "h100-sxm-80gb", "hyperscaler_usd_per_gpu_hour_on_demand", "4.15 to 6.88"),
    (COURSE, "p5.48xlarge", "usd_per_hour_on_demand", "100"),
    (COURSE, "dgx-h100", "breakeven_months_against_p5_on_demand", "6 to 12"),
    (NOTES, "rtx-4090-24gb", "dense_fp16_flop_per_s", "330"),
    (NOTES, "adamw-mixed-precision", "checkpoint_bytes_per_parameter", "8"),
    (LESSON, "llama-2-7b", "training_flop_per_token", "1e21"),
    (LESSON, "pipeline-parallelism", "bubble", "1 - B / (B + p - 1)"),
    (EDUCADEMY, "a100-sxm-80gb", "dense_fp8_flop_per_s", "624"),
    (EDUCADEMY, "h100-sxm-80gb", "dense_fp8_flop_per_s", "3958"),
    (EDUCADEMY, "b200-sxm-180gb", "dense_fp8_flop_per_s", "9000"),
]


@pytest.mark.parametrize(("document", "entity", "attribute", "value"), WRONG)
def test_wrong_figures_are_rejected_with_a_reason(document: str, entity: str, attribute: str, value: str) -> None:
    """A wrong figure of a user's document is a rejected claim that says why, beside the chosen one."""
    fact = next(fact for fact in claims_of(load(), entity) if fact.attribute == attribute)
    claim = next(claim for claim in fact.rejected if claim.source == document and claim.value == value)
    assert len(claim.note) > 10
    assert fact.chosen.source != document
    assert (fact.chosen.value, fact.chosen.unit) != (claim.value, claim.unit)


def test_no_figure_of_the_users_documents_is_used() -> None:
    """Those documents are not sources: no chosen claim rests on them."""
    documents = {COURSE, GUIDE, NOTES, LESSON, EDUCADEMY}
    assert [claim for claim in load().claims if claim.status == "chosen" and claim.source in documents] == []


def _in_si(claim: Claim) -> float | str | None:
    return free_value(claim.attribute, f"{claim.value} {claim.unit}".rstrip())


def test_a_rejected_figure_differs_from_the_chosen_one() -> None:
    """In SI units, a rejected claim never equals the one chosen, unless it is about what the words mean."""
    same = [
        (fact.entity, fact.attribute, claim.value)
        for fact in conflicts(load())
        for claim in fact.rejected
        if _in_si(claim) == _in_si(fact.chosen)
    ]
    assert same == []


def test_records_say_what_the_chosen_claims_say() -> None:
    """Every chosen claim about a record's field equals the field, value for value."""
    catalogue = load()
    records = catalogue.accelerators | catalogue.systems
    checked = 0
    for claim in catalogue.claims:
        record = records.get(claim.entity)
        if record is None or claim.status != "chosen" or claim.attribute not in types_of(type(record)):
            continue
        value = value_of(type(record), claim.attribute, f"{claim.value} {claim.unit}".rstrip())
        assert getattr(record, claim.attribute) == value
        checked += 1
    assert checked > 500


def test_every_number_of_an_accelerator_has_a_claim() -> None:
    """Apart from its names, no field of an accelerator or system is filled without a source."""
    catalogue = load()
    claimed = {(claim.entity, claim.attribute) for claim in catalogue.claims if claim.status == "chosen"}
    named = {"id", "name", "vendor", "generation", "form", "gres_type", "accelerator"}
    for entity, record in (*catalogue.accelerators.items(), *catalogue.systems.items()):
        for field in types_of(type(record)).keys() - named:
            if getattr(record, field) is not None:
                assert (entity, field) in claimed


def test_facts_from_memory_are_marked_as_low() -> None:
    """What nobody read again says so: its source has low confidence."""
    sources = load().sources
    assert sources["from-memory"].confidence == "low"
    assert sources["house-assumption"].confidence == "low"


def test_kv_cache_of_llama_3_70b_at_128k() -> None:
    """2 x 80 layers x 8 heads x 128 x 2 B are 327,680 B per token, so 42.9 GB at 131,072 tokens (not 60 or 72)."""
    facts = {fact.attribute: fact for fact in claims_of(load(), "llama-3-70b")}
    model = load().models["llama-3-70b"]
    per_token = 2 * model.layers * model.kv_heads * model.head_dim * 2
    assert free_value("kv_cache_bytes", f"{per_token * 131072} B") == pytest.approx(42.95e9, rel=1e-3)
    fact = facts["kv_cache_16_bit_128k_bytes"]
    assert fact.chosen.value == "42.95"
    assert {claim.value for claim in fact.rejected} == {"60", "72"}


def test_claims_of_something_without_claims_are_empty() -> None:
    """A row with one source and no dispute has no claims."""
    assert claims_of(load(), "a2-highgpu-8g") == ()
