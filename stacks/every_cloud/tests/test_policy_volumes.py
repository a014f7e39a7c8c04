"""Claims that find their volumes pass, and one that asks for another class or way of access is named."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "policy"))

from rule import UNKNOWN, Registered
from stack_cases import resource, said
from volumes import CLAIM, VOLUME, claims_find_their_volumes

MANY, ONE = ["ReadWriteMany"], ["ReadWriteOnce"]
WRONG = {("claims-bind", "claim")}


def stack(volume: dict[str, Any], claim: dict[str, Any]) -> Sequence[Registered]:
    """A volume, and a claim that names it."""
    held = {"accessModes": MANY, "storageClassName": ""}
    return [
        resource("volume", VOLUME, {"metadata": {"name": "data"}, "spec": {**held, **volume}}),
        resource("claim", CLAIM, {"metadata": {"name": "shared"}, "spec": {**held, "volumeName": "data", **claim}}),
    ]


@pytest.mark.parametrize(
    ("volume", "claim", "found"),
    [
        ({}, {}, set()),
        ({"accessModes": [*MANY, *ONE]}, {}, set()),
        ({"storageClassName": UNKNOWN}, {"storageClassName": "fast"}, set()),
        ({}, {"volumeName": "of-somebody-else", "accessModes": ONE}, set()),
        ({"accessModes": ONE}, {}, WRONG),
        ({"accessModes": ONE}, {"accessModes": ONE}, WRONG),
        ({}, {"storageClassName": "managed-csi"}, WRONG),
    ],
)
def test_claims(volume: dict[str, Any], claim: dict[str, Any], found: set[tuple[str, str]]) -> None:
    """What is not known, or is not in the stack, is no mistake."""
    assert said(claims_find_their_volumes(), stack(volume, claim)) == found


def test_claims_of_which_nothing_is_known() -> None:
    """A claim without a volume's name is not matched with a volume without one."""
    assert said(claims_find_their_volumes(), [resource("volume", VOLUME, {}), resource("claim", CLAIM, {})]) == set()
