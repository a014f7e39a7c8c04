"""The policy pack's rules of what is installed in Kubernetes: what is right passes, and each mistake is named."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "policy"))

from rule import UNKNOWN
from rules import RULES
from wanted_kubernetes import CHART, KUBERNETES, RELEASE

VOLUME = "kubernetes:core/v1:PersistentVolume"
NAMES = {row.name for row in KUBERNETES}
INSTALLED: dict[str, Any] = {
    "chart": "gpu-operator",
    "version": "v26.3.0",
    "repositoryOpts": {"repo": "https://charts.example.org/nvidia"},
    "atomic": True,
    "skipAwait": False,
    "timeout": 900.0,  # as the engine hands numbers over
}


def volume(driver: str, **changes: Any) -> dict[str, Any]:
    """A volume that a driver mounts, with parts of its specification changed."""
    return {
        "spec": {
            "csi": {"driver": driver},
            "mountOptions": ["noatime", "flock"],
            "persistentVolumeReclaimPolicy": "Retain",
            **changes,
        }
    }


GOOD: list[tuple[str, dict[str, Any]]] = [
    (RELEASE, INSTALLED),
    (RELEASE, {**INSTALLED, "version": UNKNOWN, "timeout": UNKNOWN}),
    (RELEASE, {**INSTALLED, "chart": "oci://registry.example.org/kueue", "version": "0.13.4-rc.1+build"}),
    # What is left out is on, or is waited for as long as Helm waits.
    (RELEASE, {key: INSTALLED[key] for key in ("chart", "version", "atomic")}),
    (CHART, {"chart": "gpu-operator", "version": "1.2.3"}),
    *(
        (VOLUME, volume(f"{driver}.com"))
        for driver in ("fsx.csi.aws", "azurelustre.csi.azure", "lustre.csi.storage.gke")
    ),
    # A disk of one node's own has nobody to share locks with.
    (VOLUME, volume("ebs.csi.aws.com", mountOptions=[])),
]
# (type, inputs, rule that has to notice, part of what it says)
BAD: list[tuple[str, dict[str, Any], str, str]] = [
    *(
        (kind, {**INSTALLED, "version": version}, "fixed-charts", f"version is {said}")
        for kind in (RELEASE, CHART)
        for version, said in ((None, "left out"), ("latest", "latest"), ("1.2", "1.2"), ("^1.2.3", "^1.2.3"), ("", ""))
    ),
    (RELEASE, {**INSTALLED, "devel": True}, "fixed-charts", "before a release"),
    (RELEASE, {**INSTALLED, "skipAwait": True}, "charts-are-waited-for", "skipAwait is true"),
    (RELEASE, {**INSTALLED, "atomic": False}, "charts-are-waited-for", "atomic is false"),
    (RELEASE, {**INSTALLED, "atomic": None}, "charts-are-waited-for", "atomic is left out"),
    (RELEASE, {**INSTALLED, "timeout": 0.0}, "charts-are-waited-for", "timeout is 0"),
    (RELEASE, {**INSTALLED, "repositoryOpts": {"repo": "http://one.example"}}, "charts-over-tls", "http://one.example"),
    (RELEASE, {**INSTALLED, "chart": "http://one.example/a.tgz"}, "charts-over-tls", "http://one.example/a.tgz"),
    (RELEASE, {**INSTALLED, "skipCrds": True}, "charts-bring-their-kinds", "skipCrds is true"),
    *(
        (VOLUME, volume(driver, mountOptions=options), "shared-volume-locks", "without flock")
        for driver, options in (
            ("fsx.csi.aws.com", []),
            ("fsx.csi.aws.com", ["noatime"]),
            ("azurelustre.csi.azure.com", ["noflock"]),
            ("lustre.csi.storage.gke.io", ["localflock"]),
        )
    ),
    (VOLUME, volume("fsx.csi.aws.com", persistentVolumeReclaimPolicy="Delete"), "shared-volume-stays", "is Delete"),
    (VOLUME, volume("fsx.csi.aws.com", persistentVolumeReclaimPolicy=None), "shared-volume-stays", "left out"),
]


def said(kind: str, inputs: dict[str, Any]) -> dict[str, list[str]]:
    """What each rule of Kubernetes says of a resource, without those that say nothing."""
    found = {rule.name: list(rule.check(kind, inputs)) for rule in RULES if rule.name in NAMES}
    return {name: messages for name, messages in found.items() if messages}


@pytest.mark.parametrize(("kind", "inputs"), GOOD)
def test_what_is_right_passes(kind: str, inputs: dict[str, Any]) -> None:
    """Nothing is said of charts and volumes as the layers install them."""
    assert said(kind, inputs) == {}


@pytest.mark.parametrize(("kind", "inputs", "name", "part"), BAD)
def test_each_mistake_is_noticed(kind: str, inputs: dict[str, Any], name: str, part: str) -> None:
    """One rule says one thing of a single mistake: what was found."""
    messages = said(kind, inputs)
    assert list(messages) == [name]
    assert [part in one for one in messages[name]] == [True]


def test_every_rule_is_broken_once() -> None:
    """No rule of Kubernetes is without a case that it has to notice, and the pack has all of them."""
    assert {name for _, _, name, _ in BAD} == NAMES <= {rule.name for rule in RULES}
