"""The frame of the policy packs: what its rules see of a resource, through the pack's own server and the protocol."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clusterwright.checks.preflight.records import SECRET, UNKNOWN

from .policies import policy_python, violations

FRAME = Path(__file__).resolve().parents[2] / "stacks" / "every_cloud" / "policy"
#: A rule that says what it sees.
RULES = '''
"""A rule for tests."""
import json
from rule import UNKNOWN, Rule, StackRule

def check(token, inputs):
    if token != "test:index:Seen":
        return []
    return [json.dumps(inputs, sort_keys=True)] + (["not known"] if inputs.get("key") == UNKNOWN else [])

RULES = (Rule(name="show-inputs", description="Inputs are shown.", check=check),)

def whole(resources):
    first = resources[0]
    return [(first.urn, json.dumps([[one.type, one.inputs.get("key"), dict(one.behind)] for one in resources]))]

STACK_RULES = (StackRule(name="show-stack", description="The stack is shown.", check=whole),)
'''


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Return a policy pack with one rule."""
    if policy_python() is None:
        message = "the policy packs' environment is not installed (make .venv-policy/installed)"
        if os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") == "1":
            pytest.fail(message)
        pytest.skip(message)
    folder = tmp_path / "policy"
    shutil.copytree(FRAME, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "rules.py").write_text(RULES)
    return folder


def resource(token: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return a registration as the monitor records it."""
    return {"urn": f"urn:pulumi:small::test::{token}::one", "type": token, "name": "one", "inputs": inputs}


def test_rules_see_plain_values(pack: Path) -> None:
    """Nested inputs are dicts and lists, a secret is its value, and what is not known yet is said to be so."""
    inputs = {
        "key": {UNKNOWN: True},
        "password": {SECRET: "hidden"},
        "rules": [{"ports": [22, {UNKNOWN: True}], "open": False}],
    }
    found = violations(pack, [resource("test:index:Seen", inputs), resource("test:index:Other", inputs)])
    assert {(one["policy"], one["level"]) for one in found} == {("show-inputs", "MANDATORY")}
    assert all("test:index:Seen" in one["urn"] for one in found)
    shown, unknown = (one["message"].removeprefix("Inputs are shown.\n") for one in found)
    assert json.loads(shown) == {
        "key": "unknown until deployed",
        "password": "hidden",
        "rules": [{"ports": [22, "unknown until deployed"], "open": False}],
    }
    assert unknown == "not known"


def test_rules_of_stacks_see_all_resources_and_what_is_behind_their_inputs(pack: Path) -> None:
    """Only resources of one stack are looked at together; what is not known yet is said to be so."""
    first = resource("test:index:First", {"key": {UNKNOWN: True}}) | {"stack": "a", "behind": {}}
    second = resource("test:index:Second", {"key": 1}) | {"stack": "a", "behind": {"key": [first["urn"]]}}
    other = resource("test:index:Second", {"key": 2}) | {"stack": "b", "behind": {}}
    found = violations(pack, [first, second, other])
    assert [(one["policy"], one["urn"]) for one in found] == [
        ("show-stack", first["urn"]),
        ("show-stack", other["urn"]),
    ]
    shown = [json.loads(one["message"].removeprefix("The stack is shown.\n")) for one in found]
    assert shown == [
        [["test:index:First", "unknown until deployed", {}], ["test:index:Second", 1, {"key": [first["urn"]]}]],
        [["test:index:Second", 2, {}]],
    ]


def test_a_pack_without_rules_does_not_start(pack: Path) -> None:
    """A pack that checks nothing is a mistake, not a pass."""
    (pack / "rules.py").write_text("RULES = ()\nSTACK_RULES = ()\n")
    with pytest.raises(subprocess.CalledProcessError):
        violations(pack, [])
