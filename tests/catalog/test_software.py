"""The tables of software and the one solver over them: sources, rules with cases that pass and fail, conflicts."""

import csv
import datetime as dt
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.catalog.software.mig import FILE as MIG_FILE
from clusterwright.catalog.software.ranges import Range
from clusterwright.catalog.software.solver import Chosen, Pin, Problem, check, pin_problems, resolve
from clusterwright.catalog.software.table import RELEASES, RULES, Rule, software

TABLE = software()
H100 = {
    "vendor": "NVIDIA",
    "accelerator": "h100-sxm-80gb",
    "generation": "hopper",
    "nvswitch": "yes",
    "fabric": "infiniband",
    "scheduler": "slurm",
    "host_architecture": "x86_64",
    "os": "ubuntu-24.04",
    "lustre": "yes",
}


def _pin(component: str, text: str, *, forbids: bool = False) -> Pin:
    section = "forbid" if forbids else "pin"
    return Pin(component=component, range=Range(text=text), forbids=forbids, path=("software", section, component))


def _versions(facts: dict[str, str], *pins: Pin) -> dict[str, str | None]:
    found = resolve(facts, pins)
    assert not isinstance(found, Problem), found.message
    return {entry.component: entry.version for entry in found}


def _refused(facts: dict[str, str], *pins: Pin) -> Problem:
    found = resolve(facts, pins)
    assert isinstance(found, Problem)
    return found


def _assigned(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split())  # type: ignore[misc]


# --- ranges


@pytest.mark.parametrize(
    ("text", "version", "expected"),
    [
        (">=580", "580.65.06", True),
        (">=580.65.06", "580.65.06", True),
        (">=580.82.07", "580.65.06", False),
        ("<13", "13.0", False),
        ("<13", "12.9", True),
        ("<=6.17", "6.17.3", True),
        ("<=6.17", "6.18", False),
        (">610", "610.43.02", False),
        (">=12 <14", "13.2", True),
        ("6.8|6.11", "6.11", True),
        ("6.8", "6.80", False),
        ("595", "595.71.05", True),
        ("open", "open", True),
        ("open", "proprietary", False),
        (">=5", "open", False),
        ("*", "anything", True),
    ],
)
def test_ranges(text: str, version: str, expected: bool) -> None:
    """A bound of fewer numbers stands for all that begin with it; words are named."""
    assert (version in Range(text=text)) is expected


# --- tables


def test_every_line_has_a_source_and_a_day() -> None:
    """Sources are in sources.csv, days are days, and what is known from memory says so."""
    sources = load().sources
    for name in (RELEASES, RULES):
        with (assets.root() / "catalog" / name).open(encoding="utf-8", newline="") as stream:
            for line, row in enumerate(csv.DictReader(stream), start=2):
                assert row["source"] in sources, f"{name}:{line}"
                assert dt.date.fromisoformat(row["date"]), f"{name}:{line}"
    with (assets.root() / "catalog" / MIG_FILE).open(encoding="utf-8", newline="") as stream:
        for line, row in enumerate(csv.DictReader(stream), start=2):
            assert {row["source"], row["placement_source"]} <= sources.keys(), f"{MIG_FILE}:{line}"


def test_days_of_releases_are_days_or_months() -> None:
    """A release or an end of support is a day or a month, or unknown."""
    for entries in TABLE.releases.values():
        for entry in entries:
            assert all(re.fullmatch(r"(\d{4}-\d{2}(-\d{2})?)?", day) for day in (entry.released, entry.ended))


def test_accelerators_of_the_table_are_in_the_catalogue() -> None:
    """A row of an accelerator speaks of one that the catalogue has."""
    known = load().accelerators
    assert {entry.version for entry in TABLE.releases["accelerator"]} <= known.keys()


@pytest.mark.parametrize("rule", TABLE.rules, ids=lambda rule: f"{rule.id}-{rule.component}-{rule.requires}")
def test_each_rule_passes_and_fails(rule: Rule) -> None:
    """The case that a rule names as good meets it, and the case that it names as bad does not, by its own id."""
    assert rule.id not in {entry.rule for entry in check(_assigned(rule.passes))}
    failing = [entry for entry in check(_assigned(rule.fails)) if entry.rule == rule.id]
    assert failing
    assert {entry.level for entry in failing} == {rule.level}


def test_what_documents_claim_wrongly_is_rejected_with_a_reason() -> None:
    """A rule that corrects a document names a fact with the rejected claim of it."""
    facts = {(claim.entity, claim.attribute): claim for claim in load().claims if claim.status == "rejected"}
    named = [tuple(rule.claim.split()) for rule in TABLE.rules if rule.claim]
    assert len(named) >= 12
    for entity, attribute in named:
        claim = facts[entity, attribute]
        assert claim.source == "guide-ai-ml-infrastructure"
        assert claim.note


def test_ids_of_rules_have_one_level_each() -> None:
    """Several lines may share an id, with one level."""
    assert len({(rule.id, rule.level) for rule in TABLE.rules}) == len({rule.id for rule in TABLE.rules})


# --- the set


def test_the_newest_consistent_set_of_an_h100() -> None:
    """On Ubuntu 24.04 with InfiniBand: its own kernel and Slurm, the newest driver offered and the toolkit paired."""
    found = _versions(H100)
    assert found["kernel"] == "6.8"
    assert found["driver"] == found["fabricmanager"] == "595.91.07"
    assert (found["kernel_modules"], found["gpudirect"]) == ("open", "dma-buf")
    assert found["cuda"] == "13.2"  # 13.3 and 13.4 are paired with newer branches
    assert (found["slurm"], found["slurm_from"]) == ("23.11.4", "packages")
    assert found["lustre-client"] == "2.17.0"


def test_every_set_meets_every_rule() -> None:
    """For every accelerator and a system each, what was chosen violates nothing."""
    systems = ("ubuntu-24.04", "ubuntu-22.04", "rhel-9", "debian-12")
    for index, accelerator in enumerate(load().accelerators.values()):
        facts = {**H100, "vendor": accelerator.vendor, "accelerator": accelerator.id, "os": systems[index % 4]}
        facts["generation"] = accelerator.generation
        facts["nvswitch"] = "no" if accelerator.form == "pcie" else "yes"
        found = resolve(facts)
        assert not isinstance(found, Problem), (facts, found)
        chosen = {entry.component: entry.version for entry in found if entry.version is not None}
        assert not check(chosen), facts


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from(["driver", "cuda", "nccl", "kernel_modules", "doca-ofed", "lustre-client", "slurm", "dcgm"]),
        st.integers(0, 30),
        max_size=4,
    )
)
def test_pins_are_kept_or_refused_with_their_place(wanted: dict[str, int]) -> None:
    """Whatever known versions are pinned, the set has them and breaks no rule, or the refusal names one of the pins."""
    pins = []
    for name, index in wanted.items():
        versions = TABLE.versions(name)
        pins.append(_pin(name, versions[index % len(versions)]))
    found = resolve(H100, pins)
    if isinstance(found, Problem):
        assert found.path in {pin.path for pin in pins}
        assert re.fullmatch(r"SFT\d{3}", found.id)
        assert found.help
        return
    chosen = {entry.component: entry.version or "" for entry in found}
    assert all(pin.allows(chosen[pin.component]) for pin in pins)
    assert not check(chosen)


def test_a_forbidden_branch_is_left_out() -> None:
    """Without 595 the newest offered driver is of 580, with its own toolkit."""
    found = _versions(H100, _pin("driver", "595", forbids=True))
    assert (found["driver"], found["cuda"]) == ("580.159.03", "13.0")


def test_a_pin_may_be_a_branch_or_a_release_not_offered() -> None:
    """580 is the newest of its branch that is known; 535.247.01 is old and may still be pinned."""
    assert str(_versions(H100, _pin("driver", "580"))["driver"]).startswith("580.")
    found = _versions(H100, _pin("driver", "535.247.01"))
    assert (found["driver"], found["cuda"]) == ("535.247.01", "12.2")


def test_an_older_generation_keeps_its_branch() -> None:
    """Volta: proprietary modules, 580 as the last branch, CUDA 12, and no DMA-BUF."""
    found = _versions({**H100, "accelerator": "v100-sxm-32gb", "generation": "volta", "nvswitch": "no"})
    assert str(found["driver"]).startswith("580.")
    assert (found["kernel_modules"], found["cuda"], found["gpudirect"]) == ("proprietary", "12.9", "nvidia-peermem")


def test_a_distribution_without_a_package_builds_slurm() -> None:
    """RHEL 9 has no Slurm of its own here: it is built from source, and nothing else is loosened for it."""
    found = _versions({**H100, "os": "rhel-9"})
    assert (found["slurm"], found["slurm_from"], found["driver"]) == ("26.05", "source", "595.91.07")


def test_an_nvlink_domain_of_several_hosts_has_imex_and_a_slurm_that_knows_it() -> None:
    """On GB200 NVL72 no tray runs Fabric Manager, and 23.11 hands out no channels of IMEX: a newer Slurm is built."""
    rack = {"accelerator": "gb200-186gb", "generation": "blackwell", "nvswitch": "no", "nvlink_hosts": "several"}
    found = _versions({**H100, **rack, "host_architecture": "arm64"})
    assert "fabricmanager" not in found
    assert found["imex"] == found["driver"]
    assert (found["slurm"], found["slurm_from"]) == ("26.05", "source")
    refused = _refused({**H100, **rack, "host_architecture": "arm64"}, _pin("slurm", "23.11.4"))
    assert refused.id == "SFT169"


def test_contents_of_an_image_are_used_and_stated() -> None:
    """AWS's image of 2026-07 decides driver, CUDA and EFA, each with its line of the table."""
    facts = {**H100, "fabric": "efa", "image": "aws-dlami-x86_64", "target": "aws"}
    found = resolve(facts)
    assert not isinstance(found, Problem)
    by_name: dict[str, Chosen] = {entry.component: entry for entry in found}
    assert by_name["driver"].version == "595.71.05"
    assert by_name["driver"].origin == "image"
    assert by_name["efa-installer"].version == "1.47.0"
    assert by_name["kernel"].version is None  # not in the image's notes


def test_an_unknown_image_leaves_versions_unknown() -> None:
    """Where nothing is known of an image, its versions are unknown, never guessed, and the least is said."""
    found = resolve({**H100, "target": "azure"})
    assert not isinstance(found, Problem)
    driver = next(entry for entry in found if entry.component == "driver")
    assert (driver.version, driver.origin, driver.place) == (None, "image", "")
    assert driver.least is not None


# --- what cannot be


def test_a_driver_too_old_for_cuda() -> None:
    """CUDA 13.0 with driver 535: the rule, the two pins and the row between them, and a value that works for each."""
    found = _refused(H100, _pin("cuda", "13.0"), _pin("driver", "535"))
    assert (found.id, found.path) == ("SFT101", ("software", "pin", "driver"))
    assert "cuda 13.0 requires driver >=580 (catalog/software.csv:" in found.message
    assert "software.pin.cuda" in found.message
    assert found.help == "set software.pin.cuda to 12.2; or set software.pin.driver to 595.91.07"


def test_proprietary_modules_on_blackwell() -> None:
    """Open modules are required from Blackwell on, and optional on Hopper."""
    pin = _pin("kernel_modules", "proprietary")
    found = _refused({**H100, "accelerator": "b200-sxm-180gb", "generation": "blackwell"}, pin)
    assert found.id == "SFT104"
    assert found.help == "set software.pin.kernel_modules to open"
    assert _versions(H100, pin)["kernel_modules"] == "proprietary"


def test_an_image_of_the_wrong_architecture() -> None:
    """An x86_64 image does not run on Grace, an arm64 one does."""
    grace = {**H100, "accelerator": "gb200-186gb", "generation": "blackwell", "host_architecture": "arm64"}
    found = _refused(grace, _pin("image_architecture", "x86_64"))
    assert (found.id, found.path) == ("SFT127", ("software", "pin", "image_architecture"))
    assert found.help == "set software.pin.image_architecture to arm64"
    assert _versions(grace, _pin("image_architecture", "arm64"))["image_architecture"] == "arm64"


def test_a_conflict_names_no_more_than_it_needs() -> None:
    """Pins that have no part in a conflict are not named."""
    pins = [_pin("nccl", "2.30.7"), _pin("cuda", "13.0"), _pin("driver", "535"), _pin("doca-ofed", "3.2")]
    message = _refused(H100, *pins).message
    assert "nccl" not in message
    assert "doca" not in message


def test_an_image_and_a_pin_against_it() -> None:
    """A driver that the cloud's image does not have is refused by the image's line."""
    facts = {**H100, "fabric": "efa", "image": "aws-dlami-x86_64", "target": "aws"}
    found = _refused(facts, _pin("driver", "580"))
    assert found.id == "SFT139"
    assert "image aws-dlami-x86_64 requires driver =595.71.05" in found.message


@pytest.mark.parametrize(
    ("component", "text", "rule", "said"),
    [
        ("driver", "999", "SFT002", "no version 999 of NVIDIA driver is known"),
        ("slurm", "30.05", "SFT002", "no version 30.05 of Slurm is known"),
        ("drivr", "580", "SFT001", "drivr is no software that can be pinned"),
        ("vendor", "AMD", "SFT001", "vendor is no software that can be pinned"),
    ],
)
def test_unknown_names_and_versions(component: str, text: str, rule: str, said: str) -> None:
    """What is not known is named with what is."""
    (found,) = pin_problems([_pin(component, text)])
    assert (found.id, found.message) == (rule, said)
    assert found.path == ("software", "pin", component)
    assert found.help


def test_a_typing_mistake_is_guessed() -> None:
    """The nearest component is offered."""
    (found,) = pin_problems([_pin("drivr", "580")])
    assert found.help == "did you mean driver?"


# --- versions that stand in files


def _rows(path: str) -> list[dict[str, str]]:
    with (assets.root() / path).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_what_node_scripts_install_is_what_the_table_offers() -> None:
    """Enroot, Pyxis, the container toolkit and Google's plugins have one version in both."""
    installed = {row["name"]: row["version"].partition("-")[0] for row in _rows("templates/node/software.csv")}
    for name in ("enroot", "pyxis", "nvidia-container-toolkit", "tcpx-plugin", "tcpxo-plugin", "gib-plugin"):
        assert TABLE.newest(name) == installed[name]


def test_charts_on_premises_name_components_of_the_table() -> None:
    """Each chart's version comes from the table."""
    for row in _rows("templates/kubernetes/charts.csv"):
        assert TABLE.newest(row["component"])
        assert "{version}" in row["tag"]


def test_the_clouds_programs_install_the_same_charts() -> None:
    """The programs of the clouds import nothing of ours: their constants are held against the table."""
    folder = assets.root() / "stacks"
    texts = "\n".join(
        path.read_text(encoding="utf-8")
        for name in ("charts.py", "accelerator_charts.py")
        for path in sorted(folder.glob(f"*/**/gpu_cluster/kubernetes/{name}"))
    )
    found = dict(re.findall(r'name="([a-z-]+)",\s+version="v?([0-9.]+)"', texts))
    for chart, component in (
        ("network-operator", "network-operator"),
        ("cert-manager", "cert-manager"),
        ("gpu-operator-charts", "amd-gpu-operator"),
        ("kueue", "kueue"),
    ):
        assert found[chart] == TABLE.newest(component)


def test_the_least_driver_of_an_accelerator() -> None:
    """It stands in the table of software alone."""
    assert TABLE.least("accelerator", "b200-sxm-180gb", "driver") == "570"
    assert TABLE.least("accelerator", "tpu-v5p", "driver") is None
    assert "least_driver" not in (assets.root() / "catalog" / "accelerators.csv").read_text(encoding="utf-8")
