"""Checks how the environment of jobs is read."""

import pytest

from gpu_cluster.config_values import Values
from gpu_cluster.job_environment import read_job_environment


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, "container"),
        ({"jobEnvironment": {}}, "container"),
        ({"jobEnvironment": {"kind": "venv", "venv": "/shared/software/torch"}}, "venv"),
        ({"jobEnvironment": {"kind": "modules", "modules": ["pytorch/2.9"]}}, "modules"),
    ],
)
def test_the_kind_is_read_and_containers_are_the_default(given: dict[str, object], kind: str) -> None:
    """Without a section nodes prepare for containers, with one for what it says."""
    values = Values(values=given)
    assert read_job_environment(values) == kind
    assert values.problems == []


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"kind": "docker"}, "jobEnvironment.kind: needs one of container, venv, modules"),
        ({"kind": "venv", "vnev": "/shared"}, "jobEnvironment.vnev: unknown key; did you mean 'venv'?"),
        ("container", "jobEnvironment: needs an object"),
    ],
)
def test_another_kind_and_a_misspelt_key_are_refused(section: object, problem: str) -> None:
    """Machines that prepare for another kind of job than was meant would show it only when a job fails."""
    values = Values(values={"jobEnvironment": section})
    read_job_environment(values)
    assert len(values.problems) == 1
    assert values.problems[0].startswith(problem)
