"""Every mistake in the configuration is found, with its path and what would be right."""

from collections.abc import Callable

import pytest

from gpu_cluster.config_values import ConfigError, Values

Read = Callable[[Values], object]

ACCEPTED: tuple[tuple[object, Read, object], ...] = (
    ("gpt3", lambda v: v.text("key", r"[a-z0-9]+", "a name"), "gpt3"),
    (12, lambda v: v.text("key"), "12"),
    (None, lambda v: v.text("key", default="gpu"), "gpu"),
    ("", lambda v: v.optional_text("key"), None),
    ("spot", lambda v: v.choice("key", ("on-demand", "spot")), "spot"),
    ("48", lambda v: v.whole("key", 0, 64), 48),
    (48.0, lambda v: v.whole("key", 0, 64), 48),
    (None, lambda v: v.optional_whole("key", 1, 64), None),
    ("1.5", lambda v: v.amount("key"), 1.5),
    ("true", lambda v: v.flag("key"), True),
    (False, lambda v: v.flag("key", default=True), False),
    ("10.0.0.0/16", lambda v: str(v.private_network("key", 8, 24, "10.1.0.0/16")), "10.0.0.0/16"),
    ({"inner": "x"}, lambda v: v.section("key").text("inner"), "x"),
    (None, lambda v: v.optional_section("key"), None),
    (["a", "b"], lambda v: v.texts("key"), ("a", "b")),
    (None, lambda v: v.texts("key"), ()),
    ({"owner": "me"}, lambda v: v.text_map("key"), {"owner": "me"}),
)
REFUSED: tuple[tuple[object, Read, str], ...] = (
    ("GPT 3", lambda v: v.text("key", r"[a-z]+", "a name"), 'key: needs a name, got "GPT 3"'),
    (None, lambda v: v.text("key", r"[a-z]+", "a name"), "key: needs a name, got nothing"),
    (True, lambda v: v.text("key"), "key: needs text, got true"),
    (" ", lambda v: v.text("key"), 'key: needs text, got " "'),
    ("spott", lambda v: v.choice("key", ("spot", "reserved")), "did you mean 'spot'?"),
    ("65", lambda v: v.whole("key", 0, 64), "key: needs a whole number from 0 to 64, got"),
    (True, lambda v: v.whole("key", 0, 64), "got true"),
    (1.5, lambda v: v.whole("key", 0, 64), "got 1.5"),
    ("-1", lambda v: v.whole("key", 0, 64), "whole number"),
    (0, lambda v: v.amount("key"), "key: needs a number above 0, got 0"),
    ("yes", lambda v: v.flag("key"), 'key: needs true or false, got "yes"'),
    ("8.8.8.0/24", lambda v: v.private_network("key", 8, 24, "10.0.0.0/16"), "private IPv4 range from /8 to /24"),
    ("10.0.0.1/16", lambda v: v.private_network("key", 8, 24, "10.0.0.0/16"), "private IPv4 range"),
    ("10.0.0.0/28", lambda v: v.private_network("key", 8, 24, "10.0.0.0/16"), "private IPv4 range"),
    ("text", lambda v: v.section("key"), 'key: needs an object, got "text"'),
    ({"inner": 0}, lambda v: v.section("key").whole("inner", 1, 2), "key.inner: needs a whole number"),
    (["a", "B"], lambda v: v.texts("key", r"[a-z]", "a letter"), 'key.1: needs a letter, got "B"'),
    ("a", lambda v: v.texts("key"), "key: needs a list"),
    ({"Owner": "me"}, lambda v: v.text_map("key", keys="[a-z]+", meaning="a label"), "key.Owner: needs a label as key"),
)


@pytest.mark.parametrize(("value", "read", "expected"), ACCEPTED)
def test_accepted(value: object, read: Read, expected: object) -> None:
    """Text from the command line and typed values from objects are both read."""
    values = Values(values={"key": value})
    assert read(values) == expected
    assert values.problems == []


@pytest.mark.parametrize(("value", "read", "message"), REFUSED)
def test_refused(value: object, read: Read, message: str) -> None:
    """One mistake is one problem, which says what is wanted and what was found."""
    values = Values(values={"key": value})
    read(values)
    assert len(values.problems) == 1
    assert message in values.problems[0]


def test_a_missing_section_is_one_problem() -> None:
    """Fields of an object that is not there are not listed one by one."""
    values = Values(values={})
    section = values.section("nodeType")
    section.text("instanceType")
    section.whole("gpusPerNode", 1, 8)
    assert values.problems == ["nodeType: needs an object, got nothing"]


def test_unknown_keys_are_refused() -> None:
    """A misspelt key is named with the nearest known one."""
    values = Values(values={"nodeCount": 1, "nodeCuont": 2, "partition": "gpu"})
    values.whole("nodeCount", 0, 9)
    values.refuse_unknown(("partition",))
    assert values.problems == ["nodeCuont: unknown key; did you mean 'nodeCount'?; known are nodeCount, partition"]


def test_all_problems_are_in_the_message() -> None:
    """The user sees every mistake at once."""
    error = ConfigError(["a: is wrong", "b: is wrong"])
    assert str(error) == "2 problem(s) in the stack's configuration:\n  - a: is wrong\n  - b: is wrong"
