"""Values that a stack's file asks for are found missing until they are there."""

from pathlib import Path

import pytest

from gpu_cluster.unset_values import unset_values

ASKED = """\
# Still to set: ./cluster.sh set gcp:project YOUR-PROJECT
# Still to set: ./cluster.sh set nodeType.image projects/YOUR-PROJECT/global/images/YOUR-IMAGE
# Still to set: ./cluster.sh set 'operators[0]' user:YOU@EXAMPLE.COM
# Still to set: ./cluster.sh set adminSshPublicKey "$(cat ~/.ssh/id_ed25519.pub)"
"""
SET = {
    "gcp:project": "  gcp:project: models\n",
    "nodeType.image": "  gcp-gpu-nodes:nodeType:\n    image: projects/models/global/images/nodes\n",
    "operators[0]": "  gcp-gpu-nodes:operators: [user:me@example.com]\n",
    "adminSshPublicKey": "  gcp-gpu-nodes:adminSshPublicKey: ssh-ed25519 AAAA\n",
}


def layer(folder: Path, config: str) -> Path:
    """Write a layer with this configuration."""
    (folder / "Pulumi.yaml").write_text("name: gcp-gpu-nodes\n")
    (folder / "Pulumi.small.yaml").write_text(f"{ASKED}config:\n{config}")
    return folder


def test_everything_is_missing_at_first(tmp_path: Path) -> None:
    """Each command is shown as it is to be typed."""
    commands = [line.removeprefix("# Still to set: ") for line in ASKED.splitlines()]
    assert list(unset_values(layer(tmp_path, ""), "small")) == commands


@pytest.mark.parametrize("key", SET)
def test_a_value_that_is_there_is_not_asked_for(tmp_path: Path, key: str) -> None:
    """Setting one value settles its line and no other; an empty text is no value."""
    left = list(unset_values(layer(tmp_path, SET[key]), "small"))
    assert len(left) == len(SET) - 1
    assert not [command for command in left if key in command]


def test_empty_is_not_set(tmp_path: Path) -> None:
    """An empty string and null are as good as nothing."""
    empty = "  gcp:project: ''\n  gcp-gpu-nodes:nodeType:\n    image:\n"
    assert len(list(unset_values(layer(tmp_path, empty), "small"))) == len(SET)
    assert not list(unset_values(layer(tmp_path, "".join(SET.values())), "small"))
