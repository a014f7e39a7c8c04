"""The generated pages are current, and what they are made from is whole."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

import clusterwright as cw
from clusterwright import assets
from clusterwright.blueprint.schema import json_schema
from clusterwright.catalog.rules import rules
from clusterwright.documentation import written_files
from clusterwright.documentation.blueprint_keys import keys
from clusterwright.documentation.environment import variables
from clusterwright.documentation.reference import PAGES
from clusterwright.documentation.rule_codes import SUBJECTS

_REFERENCE = assets.root() / "docs" / "reference"
_KEYS = list(keys())


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_current(name: str) -> None:
    """A page says what the program has; `python -m clusterwright.documentation` writes it again."""
    path, text = _REFERENCE / name, PAGES[name]()
    if os.environ.get("CLUSTERWRIGHT_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    else:
        assert path.read_text(encoding="utf-8") == text, "python -m clusterwright.documentation"


def test_every_key_has_a_meaning_and_an_example() -> None:
    """No key of the schema is left out, and each says what it sets and shows how it is written."""
    plain = [key for key in _KEYS if not key.kind.startswith(("section", "list of sections"))]
    assert len(_KEYS) > 500
    assert [key.path for key in plain if not key.example] == []
    assert [key.path for key in _KEYS if not key.meaning] == []


def _choices(node: dict[str, Any], definitions: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a node may be, with references followed."""
    if "$ref" in node:
        return _choices(definitions[node["$ref"].rpartition("/")[2]], definitions)
    inside = [choice for key in ("anyOf", "oneOf") for choice in node.get(key, ()) if "required" not in choice]
    return [found for choice in inside for found in _choices(choice, definitions)] or [node]


def _nodes(path: str, schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of the schema that a path names."""
    found = [schema]
    for name in path.split("."):
        below = [choice for node in found for choice in _choices(node, schema["definitions"])]
        found = [
            node["properties"][bare]
            for node in below
            if (bare := name.removesuffix("[]")) in node.get("properties", {})
        ]
        if name.endswith("[]"):
            lists = [choice for node in found for choice in _choices(node, schema["definitions"])]
            found = [node["items"] for node in lists if "items" in node]
    return found


def test_an_example_is_what_the_schema_takes() -> None:
    """What a reader copies from the page is no mistake."""
    schema = json_schema()
    wrong = []
    for key in _KEYS:
        if not key.example or "…" in key.example:
            continue
        value = json.loads(json.dumps(YAML(typ="safe", pure=True).load(key.example), default=str))
        nodes = _nodes(key.path, schema)
        assert nodes, key.path
        checks = [jsonschema.Draft7Validator({**node, "definitions": schema["definitions"]}) for node in nodes]
        if not any(check.is_valid(reading) for check in checks for reading in (value, key.example)):
            wrong.append(f"{key.path}: {key.example!r} is not {key.kind}")
    assert not wrong


def test_every_subject_of_a_code_has_a_title() -> None:
    """Codes are grouped by their letters, each of which is explained; none is left over."""
    assert {rule.id[:-3] for rule in rules()} == set(SUBJECTS)


def test_every_written_file_is_explained() -> None:
    """What `build` writes for each kind of workload and scheduler is in one group, and no group is of nothing."""
    plans = (
        ("train-gpt3-175b", {"targets.gcp": None}),
        (
            "train-gpt3-175b",
            dict.fromkeys(("targets.aws", "targets.azure")) | {"targets.onprem.scheduler": "kubernetes"},
        ),
        ("serve-llama3-70b", dict.fromkeys(("targets.azure", "targets.gcp")) | {"targets.aws.scheduler": "kubernetes"}),
        ("finetune-llama3-8b-qlora", {"targets.onprem": None}),
    )
    used = set()
    for name, overrides in plans:
        result = cw.plan(assets.root() / "blueprints" / f"{name}.yaml", overrides=overrides)
        for path in result.files():
            group = written_files.group_of(path)
            assert group is not None, f"{path} is in no group of clusterwright/documentation/written_files.py"
            used.add(group.files)
    never = {group.files for group in written_files.GROUPS} - used
    # Written with --pdf, beside a record, or with parts of the user's own.
    assert never == {("tco/*.pdf",), (".written.json",), ("onprem/drawings.pdf",), ("onprem/own_parts.md",)}


def test_every_variable_that_the_program_reads_is_listed() -> None:
    """A variable of the environment that is read by name stands on the page."""
    listed = {name.strip() for names, _ in variables() for name in names.split(",")}
    package = Path(assets.root()) / "clusterwright"
    read = set()
    for path in package.rglob("*.py"):
        if "recorder" in path.parts:
            continue
        for part in path.read_text(encoding="utf-8").split("os.environ")[1:]:
            name = part.removeprefix(".get(").removeprefix("[").split('"')
            if part.startswith(('.get("', '["')) and name[1].isupper():
                read.add(name[1])
    # Of a script that preflight runs in a copy of a project.
    assert read - {"PATH", "CALLS", "TUNNEL_PORT"} <= listed
