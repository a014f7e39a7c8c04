"""What an answer is counted with is passed to it: no module below the commands opens prices or keeps a hook."""

import ast
from collections.abc import Iterator

from clusterwright import assets

_PACKAGE = assets.root() / "clusterwright"
#: The commands, and the record that the Python interface opens once.
_OPENS_PRICES = ("cli", "plan/facts.py")
_COLLECTS = (ast.List, ast.Dict, ast.Set)


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        yield path.relative_to(_PACKAGE).as_posix(), ast.parse(path.read_text())


def test_prices_are_opened_by_commands_and_facts_alone() -> None:
    """A price book that was opened on the way would have other prices than the rest of the answer."""
    opened = [
        f"{name}:{node.lineno}"
        for name, module in _modules()
        if not name.startswith(_OPENS_PRICES)
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "PriceBook.open"
    ]
    assert opened == []


def test_no_module_keeps_what_another_one_sets() -> None:
    """A module's private list or dict that a function of it fills is a hook; the way to storage is passed instead."""
    set_later = [
        f"{name}:{node.lineno} {target}"
        for name, module in _modules()
        for node in ast.walk(module)
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in _replaced(node)
        if target in _empty_collections(module)
    ]
    assert set_later == []


def test_no_module_has_a_context_variable() -> None:
    """In which currency money is written, and all else that an answer depends on, is an argument."""
    found = [
        f"{name}:{node.lineno}"
        for name, module in _modules()
        for node in ast.walk(module)
        if isinstance(node, ast.Import | ast.ImportFrom) and "contextvars" in ast.unparse(node)
    ]
    assert found == []


def _empty_collections(module: ast.Module) -> set[str]:
    found = set()
    for node in module.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, _COLLECTS):
            empty = not (getattr(node.value, "elts", None) or getattr(node.value, "keys", None))
            found |= {node.target.id} if empty else set()
    return found


def _replaced(node: ast.Assign | ast.AugAssign) -> Iterator[str]:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            yield target.value.id
