"""Planted mistakes are caught by what a user runs, and legitimate edits raise no FAIL."""

import os
from collections import Counter

import pytest

from clusterwright.checks.preflight.results import Result
from tests.sampling import sampled
from tests.stacks.projects import stacks_python

from .planting import Edit, batches, edits, preflight

PLANTED = edits("planted.yaml")
#: Of another hand than the rules'; in projects of their own, since both lists edit the same lines.
BLIND = edits("planted_blind.yaml")
#: Planted when both lists were there, in other places and by other means; of the 21, preflight saw 9 by itself.
THIRD = edits("planted_third.yaml")
#: Of the named kinds in other spellings, by a hand that had read none of the lists above.
FOURTH = edits("planted_fourth.yaml")
#: Of a walk through projects: what a boot, a start of the job or the whole cluster shows.
FIFTH = edits("planted_fifth.yaml")
#: Of an operator's eye on projects of training and of services, by a hand that had read neither rules nor lists.
SIXTH = edits("planted_sixth.yaml")
#: What the lists before left out: slices, networks of the account, directories, arrays of Slurm, copies in manifests.
SEVENTH = edits("planted_seventh.yaml")
LEGITIMATE, OF_SEVENTH = edits("legitimate.yaml"), edits("legitimate_seventh.yaml")
#: Edits in the order of their projects, so that workers which share the tests out seldom judge one twice.
TABLES = (PLANTED, BLIND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, LEGITIMATE, OF_SEVENTH)
#: By every second project of a table; `make every-fault` plants all.
TOGETHER = {edit: batch for table in TABLES for batch in sampled(batches(table), 2) for edit in batch}
PROJECTS = [(cloud, scheduler) for cloud in ("aws", "azure", "gcp") for scheduler in ("slurm", "kubernetes")]


@pytest.fixture(autouse=True)
def _environment() -> None:
    """Skip where the SDKs are not installed, and fail where every engine has to be there."""
    if stacks_python() is not None:
        return
    message = "the stacks' environment is not installed (make .venv-stacks/installed)"
    if os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") == "1":
        pytest.fail(message)
    pytest.skip(message)


def results_of(edit: Edit) -> tuple[Result, ...]:
    """Return what preflight says of the project that an edit is made in, with those that go together with it."""
    return preflight(TOGETHER[edit], edit.cloud, edit.scheduler)


def failed(found: tuple[Result, ...]) -> list[tuple[str, str]]:
    """Return what fails, but for where the tests run: outside the network of a private API server."""
    return [(one.check, one.outcome.message) for one in found if one.outcome.status == "FAIL" and one.check != "PRE041"]


def is_caught(one: Edit, found: tuple[Result, ...]) -> bool:
    """Tell whether the check that a mistake is meant for says so."""
    return any(
        result.check == one.caught and result.outcome.status == "FAIL" and one.said in result.outcome.message
        for result in found
    )


@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_an_untouched_project_passes_by_what_was_recorded(cloud: str, scheduler: str) -> None:
    """No check fails, and those of fabric and placement name the recorded resources."""
    found = preflight((), cloud, scheduler)
    assert failed(found) == []
    said = {one.check: one.outcome for one in found if one.check in ("PRE013", "PRE016", "PRE036", "PRE039")}
    assert {outcome.status for outcome in said.values()} == {"PASS"}
    assert said["PRE013"].message.startswith("let through by small")


def test_there_are_three_of_each_kind() -> None:
    """Each kind is planted three times or more, in more than one place."""
    kinds = Counter(one.name for one in edits("planted.yaml"))
    assert {kind: count for kind, count in kinds.items() if count < 3} == {}
    assert {one.cloud for one in PLANTED} == {"aws", "azure", "gcp"}


@pytest.mark.parametrize("planted", [one for one in TOGETHER if one.caught], ids=str)
def test_a_planted_mistake_is_caught(planted: Edit) -> None:
    """The check that the table names fails, with the words that the table has."""
    found = results_of(planted)
    said = [f"{one.check} {one.outcome.message}" for one in found if one.outcome.status == "FAIL"]
    assert is_caught(planted, found), "\n".join(said)


@pytest.mark.parametrize("edit", [one for one in TOGETHER if not one.caught], ids=str)
def test_a_legitimate_edit_raises_no_fail(edit: Edit) -> None:
    """Settings, values of one's own, comments, larger disks, other images and more rules are nobody's mistake."""
    found = results_of(edit)
    assert failed(found) == []
