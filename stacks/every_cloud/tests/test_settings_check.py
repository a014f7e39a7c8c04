"""What the programs would refuse is known before it is written, by the readers that the programs themselves use."""

from pathlib import Path

import pytest

from gpu_cluster import settings_foundation
from gpu_cluster.settings_check import refused_settings, refused_value, unknown_key

CONFIG = """\
config:
  some-foundation:clusterName: gpt3
  some-foundation:nodeCount: many
  some-foundation:sharedStorage:
    capacityGib: 7200
  some-foundation:alertEmail:
    secure: v1:abcdef
"""


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """Return a foundation with one wrong value, and others missing."""
    folder = tmp_path / "foundation"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: some-foundation\nconfig:\n  clusterName: {}\n  nodeCount: {}\n")
    (folder / "Pulumi.small.yaml").write_text(CONFIG)
    return folder


@pytest.mark.parametrize("value", ["abc", "-1", "4.5", "", "999999999"])
def test_a_count_that_is_none_is_refused(layer: Path, value: str) -> None:
    """The answer names the key and what it needs; nothing is written."""
    (said,) = refused_value(layer, "small", "nodeCount", value)
    assert said.startswith("nodeCount: needs ")
    assert (layer / "Pulumi.small.yaml").read_text() == CONFIG


def test_other_keys_are_left_for_later(layer: Path) -> None:
    """A right value passes although others are wrong or missing, so that they can be set one after the other."""
    assert refused_value(layer, "small", "nodeCount", "8") == []
    assert refused_value(layer, "small", "clusterName", "gpt4") == []


def test_what_is_inside_objects_is_looked_at(layer: Path) -> None:
    """A field that does not exist is named with the nearest that does; text is no object."""
    (said,) = refused_value(layer, "small", "sharedStorage.capacityGb", "7200")
    assert said.startswith("sharedStorage.capacityGb: unknown key; did you mean 'capacity")
    (said,) = refused_value(layer, "small", "sharedStorage", "abc")
    assert said == 'sharedStorage: needs an object, got "abc"'
    assert refused_value(layer, "small", "tags.owner", "me") == []
    assert refused_value(layer, "small", "a[x", "1") == []


def test_a_provider_has_the_keys_that_the_programs_read(layer: Path) -> None:
    """A slip in a provider's key would change nothing."""
    right = settings_foundation.PROVIDER_KEYS[0]
    (said,) = refused_value(layer, "small", f"{right}x", "somewhere")
    assert said == f"{right}x: the programs read no such key of a provider; did you mean {right}?"


def test_an_unknown_key_is_told_with_the_nearest(layer: Path) -> None:
    """Only the first name of a path has to be declared."""
    assert unknown_key([layer], "nodeCuont") == (
        "no layer's Pulumi.yaml declares the key nodeCuont; did you mean nodeCount?"
    )
    assert unknown_key([layer], "nodeCount") is None
    assert unknown_key([layer], "nodeCount.x[0]") is None


def test_everything_that_is_wrong_is_listed_but_secrets(layer: Path) -> None:
    """All problems come at once; nothing is said of what is encrypted."""
    said = refused_settings(layer, "small")
    assert any(line.startswith("nodeCount: needs a whole number") for line in said)
    assert len(said) > 1
    assert not any(line.startswith("alertEmail") for line in said)
