"""Problems in a blueprint, and how they are shown: file:line:col, the line, a caret, what to do."""

from dataclasses import dataclass

from clusterwright.errors import EXIT_BAD_INPUT, ClusterwrightError

Path = tuple[str | int, ...]
#: What to do where nothing better is known.
LOOK_IT_UP = "clusterwright schema describes every key and what it takes"


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
    """

    path: Path
    message: str
    help: str = LOOK_IT_UP
    id: str | None = None
    position: Position | None = None
    warning: bool = False
    exit_code: int = EXIT_BAD_INPUT


class BlueprintError(ClusterwrightError):
    """Everything that is wrong with one blueprint, ready to be shown at once."""

    def __init__(self, *, name: str, text: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(f"{name}: {len(problems)} problem{'s' if len(problems) != 1 else ''}")
        self.name = name
        self.text = text
        self.problems = problems
        # What the user can put right comes first: only if nothing is wrong with the input is a fact missing.
        self.exit_code = min((problem.exit_code for problem in problems), default=EXIT_BAD_INPUT)

    def render(self) -> str:
        """Return the text for the terminal, problems in the order of their lines."""
        ordered = sorted(self.problems, key=lambda problem: problem.position.line if problem.position else 0)
        return "\n".join(render(problem, name=self.name, text=self.text) for problem in ordered)


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
            shown = source[at.line - 1].replace("\t", " ")
            caret = "^" * max(1, min(at.length, len(shown) - at.column + 1))
            lines += [gutter + shown, " " * 5 + " | " + " " * (at.column - 1) + caret]
    lines.append(f"  help: {problem.help or LOOK_IT_UP}")
    return "\n".join(lines)
