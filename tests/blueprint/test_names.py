"""Names: editors and the loader agree, and nothing that could break a file, a shell or a cloud gets through."""

import re
from collections.abc import Callable
from functools import cache

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusterwright.blueprint import names
from clusterwright.blueprint.schema import json_schema

BLUEPRINT = {
    "name": "small",
    "workload": {
        "kind": "train",
        "model": "llama-2-7b",
        "tokens": "100e9",
        "sequence_length": 2048,
        "global_batch": 512,
    },
    "targets": {"onprem": {"system": "dgx-h100"}},
}
KINDS: dict[str, Callable[[str], str]] = {
    "name": names.cluster_name,
    "partition": names.partition_name,
    "host_prefix": names.host_prefix,
}
DANGEROUS = ["a b", "a;b", "$(id)", "a\nb", "a: b", "#a", "-a", "a-", "", "Ab", "ä", "a" * 32, "a/../b", "a\n", "=1+1"]
_TEXT = st.one_of(st.text(max_size=40), st.from_regex(r"\A[a-zA-Z0-9-]{1,34}\Z"))


@cache
def editor() -> jsonschema.Draft7Validator:
    """Return what an editor holds a blueprint against; writing the schema takes longer than using it."""
    return jsonschema.Draft7Validator(json_schema())


def accepted_by_schema(kind: str, text: str) -> bool:
    """Tell whether an editor accepts a name of the cluster section."""
    return editor().is_valid({**BLUEPRINT, "cluster": {kind: text}})


def accepted(check: Callable[[str], str], text: str) -> bool:
    """Tell whether the loader accepts a name."""
    try:
        return check(text) == text
    except ValueError:
        return False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", DANGEROUS)
def test_dangerous_names_are_refused(kind: str, text: str) -> None:
    """What could break YAML, shell, Slurm files or host names is no name."""
    assert not accepted(KINDS[kind], text)


@pytest.mark.parametrize("kind", KINDS)
@given(text=_TEXT)
@example("default")
@example("node1")
@example("gpu")
def test_editors_and_loader_agree(kind: str, text: str) -> None:
    """The pattern of the JSON Schema accepts what the loader accepts; a newline at the end is Python's to refuse."""
    if text.endswith("\n"):
        return
    assert accepted(KINDS[kind], text) == accepted_by_schema(kind, text)


@given(st.dictionaries(_TEXT, _TEXT, max_size=14))
def test_tags_fit_every_cloud(pairs: dict[str, str]) -> None:
    """Accepted tags are few enough, keep out of the stacks' own, and have only characters that all clouds take."""
    try:
        names.tags(pairs)
    except ValueError:
        return
    assert len(pairs) <= names.MOST_TAGS
    for key, value in pairs.items():
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,62}", key)
        assert re.fullmatch(r"[A-Za-z0-9 ._@-]{0,63}", value)
        assert key.lower() not in names.RESERVED_TAGS


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ({"role": "x"}, "stacks set themselves"),
        ({"Clusterwright-Cluster": "x"}, "stacks set themselves"),
        ({f"k{number}": "" for number in range(13)}, "too many"),
        ({"a b": "x"}, "cannot be a tag's key"),
        ({"a": "=cmd()"}, "cannot be a tag's value"),
    ],
)
def test_tags_that_are_refused(pairs: dict[str, str], said: str) -> None:
    """Each refusal says why."""
    with pytest.raises(ValueError, match=said):
        names.tags(pairs)


@pytest.mark.parametrize(
    "text", ["p5.48xlarge", "Standard_ND96isr_H100_v5", "us-central1-a", "/subscriptions/a/b", "cr-01"]
)
def test_ids_of_clouds_are_taken(text: str) -> None:
    """Ids as the clouds write them pass; spaces and shell characters do not."""
    assert names.identifier(text) == text
    with pytest.raises(ValueError, match="is not an id"):
        names.identifier(f"{text} $x")
