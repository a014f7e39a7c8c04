"""What is asked for differently: values by their paths, resources that came or went, and other names."""

from typing import Any

from clusterwright.checks.preflight.programs.changes import differing


def resource(
    name: str, *, kind: str = "aws:ec2/instance:Instance", protect: bool = False, **inputs: object
) -> dict[str, Any]:
    """A resource as rules see it."""
    urn = f"urn:pulumi:s::p::{kind}::{name}"
    return {"urn": urn, "type": kind, "inputs": inputs, "behind": {}, "protect": protect, "ignores": []}


def said(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    """Return what is said of two runs."""
    return list(differing({one["urn"]: one for one in before}, {one["urn"]: one for one in after}))


def test_a_value_is_named_by_its_path() -> None:
    """Both values are shown, one that is left out too, and the packed boot scripts are not."""
    before = resource("one", metadataOptions={"hops": 1, "tokens": "required"}, groups=[{"id": "a"}], userData="x")
    after = resource("one", metadataOptions={"hops": 64}, groups=[{"id": "b"}], userData="y")
    (message,) = said([before], [after])
    assert message == (
        "one (Instance): metadataOptions.hops is 64, was 1; metadataOptions.tokens is left out, was required; "
        "groups[0].id is b, was a"
    )


def test_what_came_and_went_is_named() -> None:
    """A resource that is no longer asked for, one in addition, and protection that was taken away."""
    kept, gone, new = resource("kept", protect=True), resource("gone", a=1), resource("new", a=2)
    assert said([kept, gone], [{**kept, "protect": False}, new]) == [
        "gone (Instance) is no longer asked for",
        "new (Instance) is asked for in addition",
        "kept (Instance): protect is False, was True",
    ]


def test_another_name_is_no_difference() -> None:
    """A resource that is renamed and otherwise the same, as by a function around it, is nothing to look at."""
    assert said([resource("one", a=1)], [resource("two", a=1)]) == []
