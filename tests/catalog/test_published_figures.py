"""The catalogue against figures that vendors print, one by one."""

import csv

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.workload.transformer import active_parameters, parameters

TERA = 1e12
GIGA = 1e9

#: Dense peaks, memory and links as printed: id, field, value in SI units, where it is printed.
PRINTED = [
    ("h100-sxm-80gb", "dense_bf16_flop_per_s", 989.4 * TERA, "NVIDIA H100 architecture white paper, table 2"),
    ("h100-sxm-80gb", "dense_tf32_flop_per_s", 494.7 * TERA, "same"),
    ("h100-sxm-80gb", "dense_fp8_flop_per_s", 1978.9 * TERA, "same"),
    ("h100-sxm-80gb", "sparse_fp8_flop_per_s", 3957.8 * TERA, "same"),
    ("h100-sxm-80gb", "dense_fp64_flop_per_s", 66.9 * TERA, "same"),
    ("h100-sxm-80gb", "hbm_bytes_per_s", 3.35 * TERA, "H100 datasheet"),
    ("h100-sxm-80gb", "power_w", 700.0, "H100 datasheet"),
    ("h100-sxm-80gb", "scale_up_bytes_per_s_per_gpu_one_way", 450 * GIGA, "half of 900 GB/s, H100 datasheet"),
    ("h100-pcie-80gb", "dense_bf16_flop_per_s", 756.5 * TERA, "half of 1,513, H100 datasheet"),
    ("h100-nvl-94gb", "dense_bf16_flop_per_s", 835.5 * TERA, "half of 1,671, H100 datasheet"),
    ("h200-sxm-141gb", "hbm_bytes_per_s", 4.8 * TERA, "H200 datasheet"),
    ("h800-sxm-80gb", "scale_up_bytes_per_s_per_gpu_one_way", 200 * GIGA, "half of 400 GB/s"),
    ("a100-sxm-80gb", "dense_bf16_flop_per_s", 312 * TERA, "A100 datasheet"),
    ("a100-sxm-80gb", "dense_tf32_flop_per_s", 156 * TERA, "A100 datasheet"),
    ("a100-sxm-80gb", "dense_int8_op_per_s", 624 * TERA, "A100 datasheet"),
    ("a100-sxm-80gb", "hbm_bytes", 81920 * 2**20, "EC2 DescribeInstanceTypes, p4de.24xlarge"),
    ("a100-sxm-40gb", "hbm_bytes_per_s", 1555 * GIGA, "A100 datasheet"),
    ("b200-sxm-180gb", "dense_bf16_flop_per_s", 2250 * TERA, "HGX B200"),
    ("b200-sxm-180gb", "dense_fp8_flop_per_s", 4500 * TERA, "HGX B200"),
    ("b200-sxm-180gb", "hbm_bytes", 183359 * 2**20, "EC2 DescribeInstanceTypes, p6-b200.48xlarge"),
    ("b300-sxm-288gb", "dense_fp4_flop_per_s", 13125 * TERA, "105 PFLOP/s for eight, HGX B300"),
    ("gb200-186gb", "dense_bf16_flop_per_s", 2500 * TERA, "360 PFLOP/s sparse for 72, GB200 NVL72"),
    ("gb300-279gb", "dense_fp4_flop_per_s", 15000 * TERA, "1,080 PFLOP/s for 72, GB300 NVL72"),
    ("l40s-48gb", "dense_fp8_flop_per_s", 733 * TERA, "L40S datasheet"),
    ("rtx-4090-24gb", "dense_fp16_flop_per_s", 165.2 * TERA, "Ada white paper, FP32 accumulation"),
    ("mi300x-192gb", "dense_bf16_flop_per_s", 1307.4 * TERA, "MI300X data sheet"),
    ("mi250-128gb", "dense_bf16_flop_per_s", 362.1 * TERA, "MI250 data sheet"),
    ("gaudi3-128gb", "dense_bf16_flop_per_s", 1677 * TERA, "table of ml-engineering, matrix engine at 1,600 MHz"),
    ("trainium3-144gb", "dense_bf16_flop_per_s", 671 * TERA, "Neuron documentation"),
    ("trainium3-144gb", "dense_fp8_flop_per_s", 2517 * TERA, "Neuron documentation, MXFP8"),
    ("trainium3-144gb", "hbm_bytes_per_s", 4.9e12, "Neuron documentation"),
    ("gaudi3-128gb", "power_w", 900.0, "Gaudi 3 white paper, OAM"),
    ("tpu-v4", "dense_bf16_flop_per_s", 275 * TERA, "Google TPU v4 page"),
    ("tpu-v5e", "dense_bf16_flop_per_s", 197 * TERA, "Google TPU v5e page"),
    ("tpu-v5p", "dense_bf16_flop_per_s", 459 * TERA, "Google TPU v5p page"),
    ("tpu-v6e", "dense_bf16_flop_per_s", 918 * TERA, "Google TPU v6e page"),
    ("trainium2-96gb", "dense_bf16_flop_per_s", 667 * TERA, "AWS Neuron documentation"),
    ("trainium2-96gb", "dense_fp8_flop_per_s", 1299 * TERA, "AWS Neuron documentation"),
    ("inferentia2-32gb", "dense_int8_op_per_s", 380 * TERA, "AWS Neuron documentation"),
    ("maia-100-64gb", "hbm_bytes", 64 * GIGA, "Hot Chips 2024"),
]


@pytest.mark.parametrize(("entity", "field", "value", "source"), PRINTED)
def test_accelerators_carry_what_their_vendors_print(entity: str, field: str, value: float, source: str) -> None:
    """Every figure equals the printed one, dense and in one direction."""
    assert getattr(load().accelerators[entity], field) == pytest.approx(value, rel=1e-9), source


def test_what_an_accelerator_cannot_do_is_absent_and_not_zero() -> None:
    """A100 has no FP8 and V100 no BF16, and neither is a number."""
    accelerators = load().accelerators
    assert accelerators["a100-sxm-80gb"].dense_fp8_flop_per_s is None
    assert accelerators["v100-sxm-32gb"].dense_bf16_flop_per_s is None
    assert accelerators["maia-100-64gb"].dense_bf16_flop_per_s is None


@pytest.mark.parametrize("entity", ["h100-sxm-80gb", "a100-sxm-80gb", "b200-sxm-180gb", "mi300x-192gb", "l40s-48gb"])
def test_structured_sparsity_doubles_the_dense_peak(entity: str) -> None:
    """The 2:4-sparse BF16 peak is twice the dense one wherever both are known (rounding of datasheets aside)."""
    accelerator = load().accelerators[entity]
    assert accelerator.dense_bf16_flop_per_s is not None
    assert accelerator.sparse_bf16_flop_per_s == pytest.approx(2 * accelerator.dense_bf16_flop_per_s, rel=0.02)


def test_h100_is_three_times_a100_and_not_six() -> None:
    """Dense against dense, the TF32 ratio is 3.17 (sparse against dense it was 6.3)."""
    accelerators = load().accelerators
    hopper, ampere = (accelerators[name].dense_tf32_flop_per_s for name in ("h100-sxm-80gb", "a100-sxm-80gb"))
    assert hopper is not None
    assert ampere is not None
    assert hopper / ampere == pytest.approx(3.17, abs=0.01)


@pytest.mark.parametrize(
    ("entity", "power_w", "height_u", "weight_kg", "supplies"),
    [
        ("dgx-h100", 10_200, 8, 130.45, (6, 4)),
        ("dgx-h200", 10_200, 8, 130.45, (6, 4)),
        ("dgx-b200", 14_300, 10, 142.4, (6, 5)),
        ("dgx-b300", 14_500, 10, 168, (12, 6)),
        ("dgx-a100-640gb", 6_500, 6, 123.16, (6, 3)),
    ],
)
def test_systems_carry_their_user_guides(
    entity: str, power_w: float, height_u: float, weight_kg: float, supplies: tuple[int, int]
) -> None:
    """Power, height, weight, fabric ports and power supplies are those of NVIDIA's guides."""
    system = load().systems[entity]
    assert (system.power_max_w, system.height_u, system.weight_kg) == (power_w, height_u, weight_kg)
    assert (system.gpus, system.fabric_ports) == (8, 8)
    assert (system.psu_count, system.psu_needed) == supplies


def test_models_count_to_the_parameters_they_list() -> None:
    """The dimensions of each model give its listed count, to the parameter."""
    listed = [model for model in load().models.values() if model.parameters is not None]
    assert len(listed) >= 58
    wrong = {model.id: parameters(model) - (model.parameters or 0) for model in listed}
    assert {name: difference for name, difference in wrong.items() if difference} == {}


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("llama-3-70b", 70_553_706_496),
        ("llama-3.1-405b", 405_853_388_800),
        ("deepseek-v3", 671_026_419_200),
        ("mixtral-8x7b", 46_702_792_704),
        ("bloom-176b", 176_247_271_424),
        ("gpt2-xl", 1_557_611_200),
        ("bert-base", 109_482_240),
        ("gpt-j-6b", 6_050_882_784),
    ],
)
def test_counts_equal_the_published_totals(model: str, count: int) -> None:
    """Counts are those of the published checkpoints."""
    assert load().models[model].parameters == count


@pytest.mark.parametrize(
    ("model", "billions"), [("mixtral-8x7b", 12.88), ("deepseek-v3", 37.55), ("qwen3-30b-a3b", 3.35)]
)
def test_active_parameters_of_mixtures(model: str, billions: float) -> None:
    """A token uses a part of a mixture of experts, and the record says the part that the dimensions give."""
    record = load().models[model]
    assert record.active_parameters == active_parameters(record)
    assert active_parameters(record) / GIGA == pytest.approx(billions, abs=0.005)


def test_the_published_megatron_sizes_follow_from_their_dimensions() -> None:
    """Narayanan et al. 2021, Table 1: the counts printed in billions follow to the printed digit."""
    models = load().models
    for name, printed in [("7.5b", 7.5), ("39b", 39.1), ("76b", 76.1), ("310b", 310.1)]:
        assert round(parameters(models[f"megatron-gpt-{name}"]) / GIGA, 1) == pytest.approx(printed)


def test_everything_on_an_on_premises_bill_is_in_the_catalogue() -> None:
    """Each price key without a cloud is a system, a switch or a part."""
    catalogue = load()
    known = catalogue.systems.keys() | catalogue.switches.keys() | catalogue.parts.keys()
    with (assets.root() / "catalog" / "skus.csv").open(encoding="utf-8", newline="") as stream:
        keys = {row["sku"] for row in csv.DictReader(stream) if "/" not in row["sku"]}
    assert keys <= known


def test_the_switch_counts_of_the_reference_architecture_need_these_ports() -> None:
    """QM9700 has 64 ports of 400 Gb/s in 32 cages and takes 747 W with passive cables, 1,720 W at most."""
    switch = load().switches["qm9700"]
    assert (switch.ports, switch.ports_per_cage, switch.port_bytes_per_s_one_way) == (64, 2, 50 * GIGA)
    assert (switch.power_typical_w, switch.power_max_w) == (747, 1720)
