"""An end of the GPU nodes that a blueprint asks for, and that nothing would bring about."""

from pathlib import Path

import pytest

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue

TYPES = {
    "aws": "instance: p5.48xlarge, region: us-east-1",
    "trainium": "instance: trn2.48xlarge, region: us-east-2",
    "azure": "instance: Standard_ND96isr_H100_v5, region: eastus",
    "mi300x": "instance: Standard_ND96isr_MI300X_v5, region: francecentral",
    "gcp": "instance: a3-ultragpu-8g, region: us-central1",
    "tpu": "instance: ct5p-hightpu-4t, region: us-central1",
}
CLOUDS = {"trainium": "aws", "mi300x": "azure", "tpu": "gcp"}
K8S = "scheduler: kubernetes"
FLEX = "capacity: flex-start"


def problems_of(tmp_path: Path, what: str, more: str, cluster: str) -> list[Problem]:
    """Return what is wrong with a blueprint that stops its nodes."""
    path = tmp_path / "blueprint.yaml"
    path.write_text(
        "name: small\n"
        "workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}\n"
        f"targets:\n  {CLOUDS.get(what, what)}: {{{TYPES[what]}{', ' if more else ''}{more}}}\n"
        f"cluster: {{{cluster}}}\n"
    )
    found = resolve(load(path).blueprint, load_catalogue())
    return [] if isinstance(found, Resolved) else list(found)


@pytest.mark.parametrize(
    ("what", "more", "cluster", "field", "said"),
    [
        ("azure", K8S, "time_to_live: 366 days", "time_to_live", "8,760 hours at most"),
        ("azure", K8S, "stop_when_idle: 20 min", "stop_when_idle", "after 30 min to 24 h"),
        ("mi300x", K8S, "stop_when_idle: 1 h", "stop_when_idle", "use time_to_live"),
        ("trainium", K8S, "stop_when_idle: 1 h", "stop_when_idle", "use time_to_live"),
        ("gcp", f"{K8S}, {FLEX}", "time_to_live: 24 h", "time_to_live", "end by themselves"),
        ("gcp", f"{K8S}, {FLEX}", "stop_when_idle: 1 h", "stop_when_idle", "end by themselves"),
        ("gcp", FLEX, "time_to_live: 200 h", "time_to_live", "168 hours at most, not 200"),
        ("tpu", "", "time_to_live: 24 h", "time_to_live", "nodeCount 0"),
        ("tpu", "", "stop_when_idle: 1 h", "stop_when_idle", "nodeCount 0"),
        ("tpu", K8S, "time_to_live: 24 h", "time_to_live", "only deleted"),
        ("tpu", K8S, "stop_when_idle: 1 h", "stop_when_idle", "does not report"),
        ("aws", "", "time_to_live: 366 days", "time_to_live", "8,760 hours at most"),
        ("azure", "", "stop_when_idle: 20 min", "stop_when_idle", "after 30 min to 24 h"),
        ("aws", "", "stop_when_idle: 2 days", "stop_when_idle", "15 min to 24 h without work, not 2,880 min"),
    ],
)
def test_what_nothing_would_stop_is_refused(
    *, tmp_path: Path, what: str, more: str, cluster: str, field: str, said: str
) -> None:
    """Before anything is written, at the key that asks for it; never left out in silence."""
    found = problems_of(tmp_path, what, more, cluster)
    assert [(problem.id, problem.path) for problem in found] == [("CAP010", ("cluster", field))]
    assert said in f"{found[0].message}; {found[0].help}"


@pytest.mark.parametrize(
    ("what", "more", "cluster"),
    [
        ("aws", "", "time_to_live: 365 days, stop_when_idle: 15 min"),
        ("aws", K8S, "time_to_live: 365 days, stop_when_idle: 15 min"),
        ("trainium", "", "time_to_live: 24 h, stop_when_idle: 1 h"),
        ("trainium", K8S, "time_to_live: 24 h"),
        ("azure", K8S, "time_to_live: 1 h, stop_when_idle: 30 min"),
        ("mi300x", K8S, "time_to_live: 24 h"),
        ("azure", "", "time_to_live: 1 h, stop_when_idle: 30 min"),
        ("mi300x", "", "stop_when_idle: 24 h"),
        ("gcp", "", "time_to_live: 366 days, stop_when_idle: 24 h"),
        ("gcp", FLEX, "time_to_live: 168 h"),
        ("gcp", K8S, "time_to_live: 24 h, stop_when_idle: 24 h"),
        ("gcp", FLEX, "stop_when_idle: 1 h"),
    ],
)
def test_what_a_watchdog_can_do_is_taken(tmp_path: Path, what: str, more: str, cluster: str) -> None:
    """At the limits of each stack."""
    assert problems_of(tmp_path, what, more, cluster) == []
