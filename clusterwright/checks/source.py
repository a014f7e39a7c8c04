"""What the project's own program says, read without running it: calls, and the arguments they are given."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.checks.results import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of the program: the last name of what is called, its keyword arguments, and where it stands.

    Attributes:
        arguments: source text of each keyword argument.
        literals: values of those that are literals.
    """

    name: str
    arguments: Mapping[str, str]
    literals: Mapping[str, object]
    file: str
    line: int
    column: int

    def place(self, shown: str) -> Place:
        """Return where the call stands, its file under the name that people see."""
        return Place(file=shown, line=self.line, column=self.column)


def calls(files: Mapping[str, str]) -> Iterator[Call]:
    """Yield the calls of every Python module of the project's own program: its package and its layers.

    Modules that are not valid Python are left out; Pulumi says so at once.
    """
    for file, content in files.items():
        if not file.endswith(".py") or file.startswith(("tests/", "policy/", "launch/")):
            continue
        try:
            tree = ast.parse(content)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield _call(node, file)


def _call(node: ast.Call, file: str) -> Call:
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    function = node.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return Call(
        name=name,
        arguments={key: ast.unparse(value) for key, value in named.items()},
        literals={key: literal for key, value in named.items() if (literal := _literal(value)) is not _NONE},
        file=file,
        line=node.lineno,
        column=node.col_offset + 1,
    )


_NONE = object()


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NONE
