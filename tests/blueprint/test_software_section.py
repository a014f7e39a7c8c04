"""The section `software`: what is wrong with it comes with id, place and a way out, before anything is sized."""

import pytest

from clusterwright.blueprint.load import load_values
from clusterwright.blueprint.reading.problems import BlueprintError, Problem
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.rules.node_software import software_of
from clusterwright.catalog.load import load as catalogue

VALUES = {
    "name": "software",
    "workload": {
        "kind": "train",
        "model": "llama-3-8b",
        "tokens": "1 T",
        "sequence_length": 8192,
        "global_batch": 512,
        "precision": "bf16",
    },
}


def _resolved(software: dict[str, object], **targets: object) -> Resolved | tuple[Problem, ...]:
    chosen = targets or {"onprem": {"system": "dgx-h100"}}
    loaded = load_values({**VALUES, "targets": chosen, "software": software}, name="test")
    return resolve(loaded.blueprint, catalogue())


def _problems(software: dict[str, object], **targets: object) -> list[Problem]:
    found = _resolved(software, **targets)
    assert isinstance(found, tuple)
    return list(found)


def test_without_the_section_every_node_type_resolves() -> None:
    """No node type is refused for software that nobody asked for, and a set is known for each."""
    for targets in (
        {"onprem": {"allowed_systems": "any"}},
        {"gcp": {"allowed_instances": "any", "region": "us-central1"}},
    ):
        loaded = load_values({**VALUES, "targets": targets}, name="test")
        found = resolve(loaded.blueprint, catalogue())
        assert isinstance(found, Resolved)
        for entry in found.targets:
            software = software_of(entry, loaded.blueprint)
            assert software is not None, entry.node.id
            if entry.node.accelerator.generation == "blackwell" and entry.target == "onprem":
                assert software.version("kernel_modules") == "open"


def test_a_driver_too_old_for_the_toolkit() -> None:
    """The rule's id, the place of the pin and a version that works."""
    (found,) = _problems({"os": "ubuntu-24.04", "pin": {"cuda": "13.0", "driver": 535}})
    assert found.id == "SFT101"
    assert found.path[:2] == ("software", "pin")
    assert "set software.pin.driver to 595.91.07" in found.help


def test_an_unknown_version_and_an_unknown_component() -> None:
    """Both are reported at once, at their places."""
    found = _problems({"pin": {"driver": "999"}, "forbid": {"drivr": ["580"]}})
    assert [(entry.id, entry.path) for entry in found] == [
        ("SFT002", ("software", "pin", "driver")),
        ("SFT001", ("software", "forbid", "drivr", 0)),
    ]


def test_an_image_of_the_wrong_architecture() -> None:
    """GB200 has arm64 processors, H100 systems have x86_64."""
    pin: dict[str, object] = {"pin": {"image_architecture": "x86_64"}}
    (found,) = _problems(pin, onprem={"system": "gb200-nvl72"})
    assert (found.id, found.path) == ("SFT127", ("software", "pin", "image_architecture"))
    assert found.help == "set software.pin.image_architecture to arm64"
    assert isinstance(_resolved(pin), Resolved)


def test_of_a_choice_only_what_can_have_the_software_is_left() -> None:
    """A pin that one system cannot have leaves the others."""
    found = _resolved(
        {"pin": {"image_architecture": "x86_64"}}, onprem={"allowed_systems": ["dgx-h100", "gb200-nvl72"]}
    )
    assert isinstance(found, Resolved)
    assert [entry.node.id for entry in found.targets] == ["dgx-h100"]
    assert "SFT" not in found.unusable[0].reason
    assert "host_architecture" in found.unusable[0].reason


@pytest.mark.parametrize(
    ("mig", "rule", "place"),
    [
        ({"geometry": ["4g.40gb", "4g.40gb"]}, "MIG002", "geometry"),
        ({"geometry": ["1g.5gb"]}, "MIG002", "geometry"),
        ({"geometry": ["3g.40gb", "3g.40gb"], "gpus": 9}, "MIG003", "gpus"),
        ({"geometry": ["3g.40gb", "3g.40gb"], "instances": {"3g.40gb": 15}}, "MIG003", "instances"),
    ],
)
def test_slices_that_cannot_be(mig: dict[str, object], rule: str, place: str) -> None:
    """Illegal geometries and sums that do not add up."""
    (found,) = _problems({"mig": mig})
    assert (found.id, found.path) == (rule, ("software", "mig", place))


def test_mig_on_a_gpu_without_it() -> None:
    """An A10G has no MIG."""
    (found,) = _problems({"mig": {"geometry": ["1g.5gb"]}}, aws={"instance": "g5.48xlarge", "region": "us-east-1"})
    assert (found.id, found.path) == ("MIG001", ("software", "mig"))


def test_slices_are_carried() -> None:
    """Legal slices are part of the software of a target."""
    loaded = load_values(
        {
            **VALUES,
            "targets": {"onprem": {"system": "dgx-h100"}},
            "software": {"mig": {"geometry": ["3g.40gb", "4g.40gb"]}},
        },
        name="test",
    )
    found = resolve(loaded.blueprint, catalogue())
    assert isinstance(found, Resolved)
    software = software_of(found.targets[0], loaded.blueprint)
    assert software is not None
    assert (software.geometry, software.divided_gpus) == (("3g.40gb", "4g.40gb"), 8)


def test_the_same_mistake_of_two_targets_is_reported_once() -> None:
    """A geometry that no H100 has is one problem, though two targets have H100."""
    found = _problems(
        {"mig": {"geometry": ["4g.40gb", "4g.40gb"]}},
        onprem={"system": "dgx-h100"},
        aws={"instance": "p5.48xlarge", "region": "us-east-1"},
    )
    assert [entry.id for entry in found] == ["MIG002"]


@pytest.mark.parametrize(
    ("software", "said"),
    [
        ({"pin": {"cuda": 13.1}}, "13.1 is a number, and a version is text"),
        ({"pin": {"cuda": "13 0"}}, "'13 0' is not a version"),
        ({"mig": {"geometry": ["3g40gb"]}}, "'3g40gb' is not a profile of nvidia-smi"),
        ({"mig": {"geometry": []}}, ""),
        ({"pinned": {}}, "pin"),
    ],
)
def test_form(software: dict[str, object], said: str) -> None:
    """What is no version or profile is refused by its form: a decimal number has lost its last zero."""
    with pytest.raises(BlueprintError) as caught:
        load_values({**VALUES, "targets": {"onprem": {"system": "dgx-h100"}}, "software": software}, name="test")
    assert said in str(caught.value)
