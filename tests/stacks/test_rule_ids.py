"""Ids of the rules for recorded stacks: each stands for one requirement, in one module."""

import ast
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent


def test_an_id_belongs_to_one_module() -> None:
    """No id of a problem is given by two modules: a listed mistake would pass for another one's."""
    given: dict[str, set[str]] = defaultdict(set)
    for path in HERE.glob("rules*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Problem":
                for keyword in node.keywords:
                    if keyword.arg == "id" and isinstance(keyword.value, ast.Constant):
                        given[str(keyword.value.value)].add(path.name)
    assert len(given) > 100
    assert {one: modules for one, modules in given.items() if len(modules) > 1} == {}
