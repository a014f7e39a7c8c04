"""Providers differ in data: outside the modules that are about one of them, no code asks for a provider by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

from clusterwright import assets
from clusterwright.clouds import CLOUDS

_PACKAGE = assets.root() / "clusterwright"
#: What speaks to one provider at a time: its prices, and questions to its interface.
_OF_ONE_PROVIDER = ("feeds/", "checks/preflight/online/")
#: Comparisons that are still there, by module. The number of a module may fall, and no module may be added.
_LEFT = {
    "blueprint/node_software.py": 1,
    "catalog/offerings.py": 1,
    "checks/preflight/addresses.py": 1,
    "checks/preflight/api_server.py": 2,
    "checks/preflight/capacity.py": 1,
    "checks/preflight/node_types.py": 4,
    "checks/preflight/quotas.py": 2,
    "checks/preflight/spending.py": 1,
    "checks/preflight/versions.py": 1,
    "outputs/project/fill_ins.py": 4,
    "plan/candidates/cloud_addresses.py": 1,
}


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
    """Comparisons with `aws`, `azure` or `gcp` are those of the table above, and no more."""
    found = {}
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = path.relative_to(_PACKAGE).as_posix()
        if not name.startswith(_OF_ONE_PROVIDER) and (lines := list(_compared(path))):
            found[name] = lines
    assert {name: len(lines) for name, lines in found.items()} == _LEFT, found


def test_the_check_sees_every_form_of_a_comparison(tmp_path: Path) -> None:
    """Equality, membership and match are comparisons; a key of a table is none."""
    path = tmp_path / "module.py"
    path.write_text(
        'a = x == "aws"\nb = "gcp" != y\nc = x in ("azure", "onprem")\nd = (x, y) == ("aws", "slurm")\n'
        'match x:\n    case "gcp":\n        pass\ne = {"aws": 1}[x]\n'
    )
    assert sorted(_compared(path)) == [1, 2, 3, 4, 6]
