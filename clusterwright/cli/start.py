"""The commands before an answer: init, check, schema."""

import json
import sys
from pathlib import Path
from typing import Any

from clusterwright import assets
from clusterwright.blueprint.reading.problems import LOOK_IT_UP, BlueprintError, Problem
from clusterwright.blueprint.shared import lists_workloads
from clusterwright.errors import EXIT_FINE, ClusterwrightError, InputError

#: Commands whose JSON has a schema; `finance` is compare --finance.
ANSWERS = ("compare", "finance", "diff", "actual")
#: The schema's file beside the blueprints that name it: it goes where they go, to other machines too.
SCHEMA_FILE = "blueprint.schema.json"
_SCHEMA_LINE = f"# yaml-language-server: $schema=./{SCHEMA_FILE}\n"


def init(kind: str, output: Path | None) -> None:
    """Write (or print) a commented blueprint of a kind, and beside it the schema that its first line names.

    A schema that is there already stays as it is.

    Raises:
        InputError: no such kind, or a file exists or cannot be written.
    """
    templates = assets.root() / "templates" / "blueprint"
    source = templates / f"{kind}.yaml"
    known = sorted(path.stem for path in templates.glob("*.yaml"))
    if kind not in known:
        raise InputError(f"there is no kind {kind!r}", help=f"supported: {', '.join(known)}")
    text = _SCHEMA_LINE + source.read_text()
    if output is None:
        print(text, end="")
        return
    try:
        with output.open("x") as stream:
            stream.write(text)
    except FileExistsError:
        raise InputError(f"{output} exists", help="name another file with -o; nothing was changed") from None
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from None
    beside = output.with_name(SCHEMA_FILE)
    print(f"wrote {output}{_schema_beside(beside)}\nnext: clusterwright plan {output}", file=sys.stderr)


def _schema_beside(path: Path) -> str:
    """Write the schema that editors read unless there is one, and return what to say of it.

    The blueprint is there whatever becomes of the schema: without it only the editor knows less.
    """
    shipped = (assets.root() / "blueprints" / SCHEMA_FILE).read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(shipped)
    except FileExistsError:
        try:
            current = path.read_text(encoding="utf-8") == shipped
        except (OSError, UnicodeDecodeError):
            current = False
        again = f"; {path} is another one: clusterwright schema prints that of this version"
        return "" if current else again
    except OSError as error:
        return f"; {path} cannot be written ({error.strerror}): clusterwright schema prints it"
    return f"\nwrote {path}, from which editors complete the blueprint"


def check(paths: list[Path], set_values: list[str] | None, *, as_json: bool) -> int:
    """Check blueprints' form, names and feasibility; return the worst exit code.

    Every file is checked even if an earlier one fails.
    """
    from clusterwright.cli.ending import show_error

    worst = EXIT_FINE
    results = []
    for path in paths:
        error, warning = _checked(path, set_values)
        code = EXIT_FINE if error is None else error.exit_code
        problems = [] if error is None else _problems(error)
        warnings = [] if warning is None else _problems(warning)
        worst = max(worst, code)
        results.append(
            {
                "file": str(path),
                "ok": code == EXIT_FINE,
                "exit_code": code,
                "problems": problems,
                "warnings": warnings,
            }
        )
        if as_json:
            continue
        if warning is not None:
            show_error(warning)
        if error is not None:
            show_error(error)
        said = "fine" if error is None else f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        beside = f", {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else ""
        print(f"{path}: {said}{beside}")
    if as_json:
        print(json.dumps({"schema": 1, "blueprints": results}, indent=2))
    return worst


def _checked(path: Path, set_values: list[str] | None) -> tuple[ClusterwrightError | None, ClusterwrightError | None]:
    """Return what is wrong with a blueprint and what it is warned of, each with places in the file, or None."""
    from clusterwright.cli.answer import warned
    from clusterwright.cli.planning import planned
    from clusterwright.interface.places import placed
    from clusterwright.plan.findings.price_evidence import OLD_PRICES

    try:
        if lists_workloads(path):
            from clusterwright.interface.sharing import plan_shared

            return plan_shared(path, overrides=tuple(set_values or ())).error, None
        made = planned(path, set_values)
    except ClusterwrightError as error:
        return error, None
    # A blueprint is not at fault where the sources of prices are old: commands that print dollars say that.
    warnings = tuple(warning for warning in made.warnings if warning.id != OLD_PRICES)
    return (
        placed(made.blueprint, made.findings) if made.findings else None,
        warned(made.blueprint, warnings) if warnings else None,
    )


def _problems(error: ClusterwrightError) -> list[dict[str, Any]]:
    found = (
        error.problems
        if isinstance(error, BlueprintError)
        else (Problem(path=(), message=error.message, help=error.help or LOOK_IT_UP),)
    )
    return [problem.to_dict() for problem in found]


def schema(of: str) -> None:
    """Print the JSON Schema of the blueprint, of the plan, of a TCO case, or of what a command prints with --json.

    Raises:
        InputError: no such schema.
    """
    if of == "blueprint":
        from clusterwright.blueprint.schema import json_schema
    elif of == "plan":
        from clusterwright.plan.document import json_schema
    elif of == "case":
        from clusterwright.evidence.cost_cases.case import json_schema
    else:
        from clusterwright.cli import answer_schemas

        if of not in ANSWERS:
            raise InputError(f"there is no schema of {of!r}", help=f"blueprint, plan, case, {', '.join(ANSWERS)}")
        print(json.dumps(answer_schemas.json_schema(of), indent=2))
        return
    print(json.dumps(json_schema(), indent=2))
