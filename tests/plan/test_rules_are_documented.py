"""`catalog/rules.csv` explains every rule that the code names; `explain CODE` and the page of codes come from it."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterwright import assets
from clusterwright.catalog.rules import ID, rules, rules_named
from clusterwright.checks.preflight.table import CHECKS
from clusterwright.cli.reference.rules import code_in, explain
from clusterwright.errors import InputError

_OF_REQUIREMENTS = "SFT1"
#: Given by the scripts of a generated project, which holds no part of the package; ids of preflight there are its own.
_OF_STATES = re.compile(r"\bSTA[0-9]{3}\b")


def test_every_id_in_the_code_has_its_row_and_no_other_has() -> None:
    """A rule that can be raised is explained; a rule that is explained can be raised."""
    listed = [(rule.about, rule.id) for rule in rules() if not rule.id.startswith(_OF_REQUIREMENTS)]
    assert len(listed) == len(set(listed))
    assert {rule_id for _, rule_id in listed} == _ids_in_the_code() | _ids_of_states()


def test_what_a_project_refuses_is_explained() -> None:
    """Every id of `cluster.sh` about its state can be looked up, and is an error of a project."""
    assert len(_ids_of_states()) >= 6
    assert {rule.id for rule in rules() if rule.about == "project"} == _ids_of_states()
    assert {rule.severity for rule in rules() if rule.about == "project"} == {"error"}


def test_an_id_has_one_meaning() -> None:
    """No finding of `prove` has the id of a finding of blueprints or projects."""
    proof = set(_ids(assets.root() / "clusterwright" / "checks" / "prove"))
    others = _ids_in_the_code(without="prove")
    assert not proof & others
    assert {rule.id for rule in rules() if rule.about == "proof"} == proof
    assert not _ids_of_states() & (proof | others)
    of_the_package = ("blueprint", "preflight")
    assert {rule.id for rule in rules() if rule.about in of_the_package and not rule.id.startswith("SFT1")} == others


@pytest.mark.parametrize("page", sorted({rule.page for rule in rules()}))
def test_the_place_of_a_rule_is_a_heading(page: str) -> None:
    """Every rule names a page that exists and one of its headings."""
    headings = set(re.findall(r"^#+ (.+)$", (assets.root() / page).read_text(), re.M))
    assert {rule.section for rule in rules() if rule.page == page} - {""} <= headings


def test_explain_prints_what_why_fix_example_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    """The command shows every cell of the rule's row, and the page as `clusterwright docs` takes it."""
    assert code_in(Path("plc010"), None) == "PLC010"
    assert explain("PLC010", as_json=False) == 0
    (rule,) = rules_named("PLC010")
    flat = " ".join(capsys.readouterr().out.split())
    for text in (rule.what, rule.why, rule.fix, rule.example, f"clusterwright docs {Path(rule.page).stem}"):
        assert text in flat


def test_an_unknown_rule_is_refused_with_the_nearest() -> None:
    """`PLC013` does not exist, and `PLC012` is near it; an id of an unknown subject names others, with exit code 2."""
    with pytest.raises(InputError, match="no rule PLC013") as raised:
        rules_named("plc013")
    assert "PLC01" in (raised.value.help or "")
    with pytest.raises(InputError) as far:
        explain("XYZ999", as_json=False)
    assert far.value.exit_code == 2
    assert "nearest" in (far.value.help or "")


def _ids_of_states() -> set[str]:
    scripts = assets.root() / "stacks" / "every_cloud"
    sources = [scripts / "cluster.sh", *(scripts / "gpu_cluster").rglob("*.py")]
    return {found for source in sources for found in _OF_STATES.findall(source.read_text())}


def _ids_in_the_code(without: str | None = None) -> set[str]:
    package = assets.root() / "clusterwright"
    paths = (path for path in package.rglob("*.py") if without not in path.parts)
    return {each for path in paths for each in _ids(path)} | {check.id for check in CHECKS}


def _ids(path: Path) -> Iterator[str]:
    for each in [path] if path.is_file() else sorted(path.rglob("*.py")):
        for node in ast.walk(ast.parse(each.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and ID.fullmatch(node.value):
                yield node.value
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "no_effect":
                number = node.args[0]
                assert isinstance(number, ast.Constant)
                assert isinstance(number.value, int)
                yield f"EFF{number.value:03}"


def test_examples_and_fixes_name_keys_that_a_blueprint_has() -> None:
    """A dotted path in a rule of blueprints leads through the schema."""
    schema = json.loads((assets.root() / "blueprints" / "blueprint.schema.json").read_text())
    path = re.compile(rf"(?<![\w/.])(?:{'|'.join(_keys(schema, schema))})(?:\.[a-z][a-z0-9_]*)+")
    for rule in rules():
        if rule.about != "blueprint":
            continue
        for found in path.findall(f"{rule.what} {rule.why} {rule.fix} {rule.example}"):
            node = schema
            for key in found.split("."):
                below = _keys(node, schema)
                assert key in below, f"{rule.id}: {found}"
                node = below[key]


def _keys(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target: Any = schema
        for key in node["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        return _keys(target, schema)
    below = dict(node.get("properties", {}))
    for choice in (*node.get("anyOf", ()), *node.get("oneOf", ()), *([node["items"]] if "items" in node else ())):
        below |= _keys(choice, schema)
    return below
