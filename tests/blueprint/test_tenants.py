"""The section `tenants`: what excludes itself is refused at its place, and shares become whole GPUs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright import assets
from clusterwright.blueprint.load import load, load_text
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.plan.tenants import Tenant, gpus_of

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
USERS = "cluster.users=[{name: ada, uid: 2001, ssh_keys: []}, {name: bob, uid: 2002, ssh_keys: []}]"


def found(tenants: str) -> list[tuple[str | None, tuple[Any, ...]]]:
    """Return ids and places of the problems of a blueprint with these tenants."""
    loaded = load(GPT3, (USERS, f"tenants={tenants}"))
    problems = resolve(loaded.blueprint, load_catalogue())
    assert isinstance(problems, tuple), "nothing was refused"
    return [(problem.id, problem.path) for problem in problems]


@pytest.mark.parametrize(
    ("tenants", "rule", "place"),
    [
        ("[{name: a, share: 70 %}, {name: b, share: 40 %}]", "TEN001", ("tenants", 1, "share")),
        ("[{name: a, share: 10 %}, {name: a, share: 10 %}]", "TEN002", ("tenants", 1, "name")),
        ("[{name: a, share: 10 %, users: [ada, eve]}]", "TEN003", ("tenants", 0, "users", 1)),
        ("[{name: a, share: 10 %, users: [ada, ada]}]", "TEN003", ("tenants", 0, "users", 1)),
        (
            "[{name: a, share: 10 %, max_gpus: 8, max_gpus_per_user: 9}]",
            "TEN004",
            ("tenants", 0, "max_gpus_per_user"),
        ),
        ("[{name: a, share: 0 %, when_free: keep}]", "TEN004", ("tenants", 0, "share")),
    ],
)
def test_what_excludes_itself_is_refused_at_its_place(tenants: str, rule: str, place: tuple[Any, ...]) -> None:
    """Each mistake is found once, at the key to change."""
    assert found(tenants) == [(rule, place)]


def test_the_partition_of_all_nodes_is_no_tenant() -> None:
    """A tenant with the partition's name would replace it."""
    loaded = load(GPT3, ("cluster.partition=big", "tenants=[{name: big, share: 10 %}]"))
    problems = resolve(loaded.blueprint, load_catalogue())
    assert isinstance(problems, tuple)
    assert [problem.id for problem in problems] == ["TEN002"]


@pytest.mark.parametrize("name", ["default", "normal", "root", "workload", "A", "a b"])
def test_names_that_mean_something_are_refused(name: str) -> None:
    """The scheduler's own words, and what is no name, are refused as they are read."""
    text = GPT3.read_text() + f"tenants: [{{name: '{name}', share: 10 %}}]\n"
    with pytest.raises(BlueprintError) as error:
        load_text(text, name="bad.yaml")
    assert [problem.path for problem in error.value.problems] == [("tenants", 0, "name")]


def test_tenths_that_add_up_to_all_are_taken() -> None:
    """Ten shares of 10 % are 100 %, whatever binary fractions make of them."""
    tenants = ", ".join(f"{{name: t{number}, share: 10 %}}" for number in range(10))
    loaded = load(GPT3, (f"tenants=[{tenants}]",))
    assert not isinstance(resolve(loaded.blueprint, load_catalogue()), tuple)


def tenant(name: str, share: float) -> Tenant:
    """Return a tenant with a share and no limits."""
    return Tenant(
        name=name,
        share=share,
        borrows=True,
        users=(),
        most_gpus=None,
        most_gpus_per_user=None,
        longest_job_s=None,
        weight=share,
    )


@given(st.lists(st.integers(0, 100), min_size=1, max_size=12), st.integers(1, 20_000))
def test_shares_are_whole_and_never_more_than_the_cluster(parts: list[int], gpus: int) -> None:
    """Every share is within one GPU of its exact part, and all that is shared out is given."""
    total = max(100, sum(parts))
    tenants = [tenant(f"t{number}", part / total) for number, part in enumerate(parts)]
    own = gpus_of(tenants, gpus)
    assert all(abs(own[one.name] - one.share * gpus) < 1 for one in tenants)
    assert sum(own.values()) <= gpus
    if sum(parts) == total:
        assert sum(own.values()) == gpus
