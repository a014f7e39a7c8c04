"""Problems in a blueprint, and how they are shown: file:line:col, the line, a caret, what to do."""

from dataclasses import dataclass, replace

from clusterwright.errors import EXIT_BAD_INPUT, ClusterwrightError, shortened

Path = tuple[str | int, ...]
#: What to do where nothing better is known.
LOOK_IT_UP = "clusterwright schema describes every key and what it takes"
#: Of a line of the source, this many columns are shown, from this many before the place that is meant.
_COLUMNS, _BEFORE = 300, 60
#: A file of another kind has a problem in every line.
_MOST_SHOWN = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """A place in the text: line and column from one, and how many characters are meant."""

    line: int
    column: int
    length: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        path: where in the blueprint, for example `("workload", "tokens")`.
        message: what is wrong; help: what to do.
        id: stable rule id for problems that rules find, None for mistakes of form.
        position: set where the text itself is broken, else derived from the path; None for what `--set` gave.
        warning: it is allowed and may still be wrong.
        exit_code: 3 where the catalogue lacks a fact and the blueprint is right.
        unknown_key: no section has a key of that name.
    """

    path: Path
    message: str
    help: str = LOOK_IT_UP
    id: str | None = None
    position: Position | None = None
    warning: bool = False
    exit_code: int = EXIT_BAD_INPUT
    unknown_key: bool = False

    def to_dict(self) -> dict[str, str | int | None]:
        """Return the problem as JSON holds it; line and column are None where it is in no text."""
        return {
            "id": self.id,
            "path": dotted(self.path),
            "line": self.position.line if self.position else None,
            "column": self.position.column if self.position else None,
            "message": self.message,
            "help": self.help,
        }


class BlueprintError(ClusterwrightError):
    """Everything that is wrong with one blueprint, ready to be shown at once."""

    def __init__(self, *, name: str, text: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(f"{name}: {len(problems)} problem{'s' if len(problems) != 1 else ''}")
        self.name = name
        self.text = text
        self.problems = tuple(
            replace(problem, message=shortened(problem.message), help=shortened(problem.help or LOOK_IT_UP))
            for problem in problems
        )
        # What the user can put right comes first: only if nothing is wrong with the input is a fact missing.
        self.exit_code = min((problem.exit_code for problem in problems), default=EXIT_BAD_INPUT)

    def __str__(self) -> str:
        """Return how many problems there are, and each of them with its place."""
        return f"{self.message}\n{self.render()}"

    def render(self) -> str:
        """Return the text for the terminal, problems in the order of their lines."""
        ordered = sorted(self.problems, key=lambda problem: problem.position.line if problem.position else 0)
        more = [f"and {len(ordered) - _MOST_SHOWN:,} more problems"] if len(ordered) > _MOST_SHOWN else []
        shown = (render(problem, name=self.name, text=self.text) for problem in ordered[:_MOST_SHOWN])
        return "\n".join([*shown, *more])


def dotted(path: Path) -> str:
    """Return a path as people write it: `targets.aws.region`."""
    return ".".join(str(part) for part in path)


def render(problem: Problem, *, name: str, text: str) -> str:
    """Return one problem as a block of lines: what, where, the line itself with a caret, help."""
    tag = f"[{problem.id}]" if problem.id else ""
    lines = [f"{'warning' if problem.warning else 'error'}{tag}: {problem.message}"]
    source = text.splitlines()
    if problem.position is None:
        lines.append(f"  --> {name}, with --set {dotted(problem.path)}")
    else:
        at = problem.position
        lines.append(f"  --> {name}:{at.line}:{at.column}")
        if at.line <= len(source):
            gutter = f"{at.line:>5} | "
            shown, column = _excerpt(source[at.line - 1].replace("\t", " "), at.column)
            caret = "^" * max(1, min(at.length, len(shown) - column + 1))
            lines += [gutter + shown, " " * 5 + " | " + " " * (column - 1) + caret]
    lines.append(f"  help: {problem.help or LOOK_IT_UP}")
    return "\n".join(lines)


def _excerpt(line: str, column: int) -> tuple[str, int]:
    """Return what is shown of a line, and the column in it of the place that is meant."""
    if len(line) <= _COLUMNS:
        return line, column
    start = max(0, min(column - 1 - _BEFORE, len(line) - _COLUMNS))
    before, after = "…" if start else "", "…" if start + _COLUMNS < len(line) else ""
    return f"{before}{line[start : start + _COLUMNS]}{after}", column - start + len(before)
