"""Constraints that exclude each other are found before anything is sized, all at once, each at its place."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.blueprint.load import LoadedBlueprint, load
from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.rules.contradictions import _any_holds
from clusterwright.blueprint.sizes import Multiple, read_multiple
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.records import Catalogue

SHIPPED = Path(__file__).resolve().parents[2] / "blueprints" / "train-gpt3-175b.yaml"


def problems_of(*overrides: str) -> tuple[Problem, ...]:
    """Return what is wrong with the shipped blueprint, some of its values replaced."""
    found = resolve(load(SHIPPED, overrides).blueprint, load_catalogue())
    return () if isinstance(found, Resolved) else found


@pytest.mark.parametrize(
    ("overrides", "path", "said"),
    [
        (("targets.aws.min_nodes=9", "targets.aws.max_nodes=8"), "targets.aws.min_nodes", "9 is more than max_nodes 8"),
        (
            ("targets.aws.nodes_must_be=multiple of 16", "targets.aws.max_nodes=8"),
            "targets.aws.nodes_must_be",
            "no number of nodes from 1 to 8 is a multiple of 16",
        ),
        (
            ("targets.onprem.nodes_must_be=power of two", "targets.onprem.min_nodes=5", "targets.onprem.max_nodes=7"),
            "targets.onprem.nodes_must_be",
            "no number of nodes from 5 to 7 is a power of two",
        ),
        (
            ("workload.parallelism={tensor: 8, max_tensor: 4}",),
            "workload.parallelism.tensor",
            "tensor 8 is more than max_tensor 4",
        ),
        (
            ("workload.parallelism={data: 12, data_must_be: power of two}",),
            "workload.parallelism.data",
            "data 12 is not a power of two",
        ),
        (
            ("workload.parallelism.data=5",),
            "workload.parallelism.data",
            "does not divide into 5 data-parallel replicas",
        ),
        (("workload.parallelism.micro_batch=7",), "workload.parallelism.micro_batch", "micro-batches of 7"),
        (
            ("workload.parallelism={data: 512, micro_batch: 6}",),
            "workload.parallelism.micro_batch",
            "micro-batches of 6 on 512",
        ),
        (
            ("workload.parallelism.data_must_be=multiple of 10",),
            "workload.parallelism.data_must_be",
            "a multiple of 10 of data-parallel replicas",
        ),
        (
            ("workload.parallelism.context=32", "workload.sequence_length=2080"),
            "workload.parallelism.context",
            "two equal parts",
        ),
        (("workload.parallelism.expert=8",), "workload.parallelism.expert", "GPT-3 175B has no experts"),
        (
            ("workload.parallelism.expert=3", "workload.model=mixtral-8x7b"),
            "workload.parallelism.expert",
            "8 experts, which do not divide over 3 GPUs",
        ),
    ],
)
def test_each_contradiction_is_told_where_it_stands(overrides: tuple[str, ...], path: str, said: str) -> None:
    """The message has both sides, the place is that of the one to change, and there is help."""
    (problem,) = problems_of(*overrides)
    assert ".".join(map(str, problem.path)) == path
    assert said in problem.message
    assert problem.help


def test_all_contradictions_at_once() -> None:
    """Targets and layout are checked together with names."""
    found = problems_of(
        "targets.aws.min_nodes=9",
        "targets.aws.max_nodes=8",
        "targets.gcp.instance=a3-ultra",
        "workload.parallelism={tensor: 8, max_tensor: 4, data: 5}",
    )
    assert len(found) == 4


def test_what_agrees_is_no_contradiction() -> None:
    """Constraints that some cluster meets pass."""
    assert not problems_of(
        "targets.aws.min_nodes=8",
        "targets.aws.max_nodes=8",
        "targets.aws.nodes_must_be=power of two",
        "workload.parallelism={tensor: 4, max_tensor: 4, data: 16, data_must_be: multiple of 8, micro_batch: 2}",
    )


@given(least=st.integers(1, 60), most=st.integers(1, 60), of=st.integers(1, 60), power=st.booleans())
def test_a_rule_holds_somewhere_in_a_range_by_counting(least: int, most: int, of: int, power: bool) -> None:
    """The closed form agrees with trying every number."""
    rule = Multiple(power_of_two=True) if power else Multiple(of=of)
    assert _any_holds(rule, least, most) == any(rule.holds(number) for number in range(least, most + 1))


@given(st.integers(1, 999_999))
def test_a_rule_reads_what_it_writes(of: int) -> None:
    """The text of a rule is read as that rule."""
    for rule in (Multiple(of=of), Multiple(power_of_two=True)):
        assert read_multiple(str(rule)) == rule


def loaded(tmp_path: Path, old: str, new: str) -> LoadedBlueprint:
    """Return the shipped blueprint with a text replaced."""
    path = tmp_path / "job.yaml"
    text = SHIPPED.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return load(path)


@pytest.mark.parametrize(
    ("new", "place", "said"),
    [
        ("allowed_instances: [p5.48xlarge, p5.49xlarge]", "19:38", "no aws instance type is called 'p5.49xlarge'"),
        ("allowed_instances: [p5.48xlarge, P5.48XLARGE]", "19:38", "'P5.48XLARGE' is given twice"),
        ("allowed_instances: [a3-highgpu-8g]", "19:25", "no aws instance type is called 'a3-highgpu-8g'"),
    ],
)
def test_names_to_choose_from_are_placed_in_their_list(tmp_path: Path, new: str, place: str, said: str) -> None:
    """Each wrong name of a list is shown with line, column and caret."""
    job = loaded(tmp_path, "instance: p5.48xlarge", new)
    problems = resolve(job.blueprint, load_catalogue())
    assert isinstance(problems, tuple)
    text = job.error(problems).render()
    assert said in text
    assert f"job.yaml:{place}\n" in text


def without_memory(*names: str) -> Catalogue:
    """Return the catalogue without the memory of some instances and their accelerators."""
    shipped = load_catalogue()
    instances = {name: replace(shipped.instances[name], visible_hbm_bytes_per_gpu=None) for name in names}
    chips = {entry.accelerator for entry in instances.values()}
    changed = {key: replace(shipped.accelerators[key], hbm_bytes=None) for key in chips}
    return replace(shipped, accelerators=shipped.accelerators | changed, instances=shipped.instances | instances)


def test_what_cannot_be_used_of_a_choice_is_kept_with_its_reason(tmp_path: Path) -> None:
    """A missing fact, a region and a precision exclude hardware without ending the plan."""
    job = loaded(
        tmp_path, "instance: p5.48xlarge", "allowed_instances: [p5.48xlarge, g6.xlarge, p5e.48xlarge, dl1.24xlarge]"
    )
    resolved = resolve(job.blueprint, without_memory("g6.xlarge"))
    assert isinstance(resolved, Resolved)
    assert [target.node.id for target in resolved.targets if target.target == "aws"] == ["p5.48xlarge"]
    reasons: dict[str, Any] = {entry.name: entry.reason for entry in resolved.unusable}
    assert "the memory of NVIDIA L4" in reasons["g6.xlarge"]
    assert "no source lists p5e.48xlarge in 'us-east-1'" in reasons["p5e.48xlarge"]
    assert "bf16" in reasons["dl1.24xlarge"]


def test_a_choice_of_nothing_usable_is_refused_with_the_reasons(tmp_path: Path) -> None:
    """Exit code 3 where only facts are missing, else 2; each name with its reason."""
    job = loaded(tmp_path, "instance: p5.48xlarge", "allowed_instances: [g6.xlarge, g5.xlarge]")
    problems = resolve(job.blueprint, without_memory("g6.xlarge", "g5.xlarge"))
    assert isinstance(problems, tuple)
    assert problems[0].exit_code == 3
    assert "g6.xlarge: the memory of" in problems[0].message
    job = loaded(tmp_path, "instance: p5.48xlarge", "allowed_instances: [p5e.48xlarge]")
    problems = resolve(job.blueprint, load_catalogue())
    assert isinstance(problems, tuple)
    assert problems[0].exit_code == 2


def test_any_stands_for_all_of_a_cloud(tmp_path: Path) -> None:
    """Every instance type of the cloud is a target or has a reason."""
    job = loaded(tmp_path, "instance: p5.48xlarge", "allowed_instances: any")
    resolved = resolve(job.blueprint, load_catalogue())
    assert isinstance(resolved, Resolved)
    named = {target.node.id for target in resolved.targets if target.target == "aws"}
    named |= {entry.name for entry in resolved.unusable}
    assert named == {key for key, entry in load_catalogue().instances.items() if entry.cloud == "aws"}
