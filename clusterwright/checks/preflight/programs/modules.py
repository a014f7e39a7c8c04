"""Is the program whole: every module valid Python, every part that it imports of its own package there."""

import ast
from collections.abc import Iterator, Mapping

from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject

PACKAGE = "gpu_cluster"


def whole_program(subject: Subject) -> Iterator[Outcome]:
    """Read every module of layers, package and policy pack, without running any."""
    project = subject.project
    trees: dict[str, ast.Module] = {}
    good = True
    for file, content in project.files.items():
        if not file.endswith(".py") or file.startswith(("tests/", "launch/")):
            continue
        try:
            trees[file] = ast.parse(content)
        except SyntaxError as error:
            good = False
            yield Outcome(
                status="FAIL",
                message=f"{file} is not valid Python: {error.msg}",
                fix="correct the line",
                place=Place(file=project.shown(file), line=error.lineno or 0, column=error.offset or 0),
            )
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (missing := _missing(node, project.files, trees)):
                good = False
                yield Outcome(
                    status="FAIL",
                    message=f"{file} imports {missing}, which is not there",
                    fix="put the file back: `clusterwright stack` writes it again into another folder",
                    place=Place(file=project.shown(file), line=node.lineno, column=node.col_offset + 1),
                )
    if good and trees:
        yield passed(f"{len(trees)} modules, each valid, each import of the package found")


def _missing(node: ast.ImportFrom, files: Mapping[str, str], trees: Mapping[str, ast.Module]) -> str:
    """Return what of one import of the project's own package does not exist, empty if all does or it is another's."""
    module = node.module or ""
    if node.level or module.partition(".")[0] != PACKAGE:
        return ""
    path = module.replace(".", "/")
    file = next((name for name in (f"{path}.py", f"{path}/__init__.py") if name in files), None)
    inside = any(name.startswith(f"{path}/") for name in files)
    if file is None and not inside:
        return module
    defined = _names(trees[file]) if file is not None and file in trees else set()
    for alias in node.names:
        found = alias.name in defined or alias.name == "*"
        if not found and f"{path}/{alias.name}.py" not in files and f"{path}/{alias.name}/__init__.py" not in files:
            return f"{module}.{alias.name}"
    return ""


def _names(tree: ast.Module) -> set[str]:
    """Return the names that a module binds anywhere outside its functions and classes, and those of both."""
    found: set[str] = set()
    open_nodes: list[ast.AST] = list(tree.body)
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        open_nodes += ast.iter_child_nodes(node)
    return found
