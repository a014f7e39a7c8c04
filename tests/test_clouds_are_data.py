"""Providers differ in data: outside the modules that are about one of them, no code asks for a provider by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

from clusterwright import assets
from clusterwright.clouds import CLOUDS

_PACKAGE = assets.root() / "clusterwright"
#: What speaks to one provider at a time: its prices, and questions to its interface.
_OF_ONE_PROVIDER = ("feeds/", "checks/preflight/online/")


def _compared(path: Path) -> Iterator[int]:
    """Yield the lines on which something is compared with a provider's name, alone or in a collection."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            sides = [one for side in (node.left, *node.comparators) for one in ast.walk(side)]
            if any(isinstance(one, ast.Constant) and one.value in CLOUDS for one in sides):
                yield node.lineno
        elif isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant) and node.value.value in CLOUDS:
            yield node.value.lineno


def test_no_code_asks_for_a_provider_by_its_name() -> None:
    """Nothing is compared with `aws`, `azure` or `gcp`: a fourth cloud would have to find the place."""
    found = [
        f"{name}:{line}"
        for path in sorted(_PACKAGE.rglob("*.py"))
        if not (name := path.relative_to(_PACKAGE).as_posix()).startswith(_OF_ONE_PROVIDER)
        for line in _compared(path)
    ]
    assert found == []


def test_the_check_sees_every_form_of_a_comparison(tmp_path: Path) -> None:
    """Equality, membership and match are comparisons; a key of a table is none."""
    path = tmp_path / "module.py"
    path.write_text(
        'a = x == "aws"\nb = "gcp" != y\nc = x in ("azure", "onprem")\nd = (x, y) == ("aws", "slurm")\n'
        'match x:\n    case "gcp":\n        pass\ne = {"aws": 1}[x]\n'
    )
    assert sorted(_compared(path)) == [1, 2, 3, 4, 6]
