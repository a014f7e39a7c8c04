"""The commands before an answer: init, check, schema."""

import json
import sys
from pathlib import Path

from clusterwright import assets
from clusterwright.errors import EXIT_FINE, ClusterwrightError, InputError

_SCHEMA_LINE = "# yaml-language-server: $schema="


def init(kind: str, output: Path | None) -> None:
    """Write (or print) a commented blueprint of a kind.

    Raises:
        InputError: no such kind, or the file exists or cannot be written.
    """
    templates = assets.root() / "templates" / "blueprint"
    source = templates / f"{kind}.yaml"
    known = sorted(path.stem for path in templates.glob("*.yaml"))
    if kind not in known:
        later = kind in ("finetune", "serve")
        raise InputError(
            f"blueprints of kind {kind!r} are not supported yet" if later else f"there is no kind {kind!r}",
            help=f"supported: {', '.join(known)}",
        )
    schema = (assets.root() / "blueprints" / "blueprint.schema.json").as_uri()
    text = f"{_SCHEMA_LINE}{schema}\n" + source.read_text()
    if output is None:
        print(text, end="")  # noqa: T201 - the result
        return
    try:
        with output.open("x") as stream:
            stream.write(text)
    except FileExistsError:
        raise InputError(f"{output} exists", help="name another file with -o; nothing was changed") from None
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from None
    print(f"wrote {output}\nnext: clusterwright plan {output}", file=sys.stderr)  # noqa: T201


def check(paths: list[Path], set_values: list[str] | None, *, as_json: bool) -> int:
    """Check blueprints' form, names and feasibility; return the worst exit code.

    Every file is checked even if an earlier one fails.
    """
    from clusterwright.cli.answer import plan_of
    from clusterwright.cli.main import show_error

    worst = EXIT_FINE
    results = []
    for path in paths:
        try:
            plan = plan_of(path, set_values)
            code = EXIT_FINE if not plan.findings else 1
            messages = [f"{finding.id}: {finding.message}" for finding in plan.findings]
        except ClusterwrightError as error:
            code, messages = error.exit_code, [error.message]
            if not as_json:
                show_error(error)
        worst = max(worst, code)
        results.append({"file": str(path), "ok": code == EXIT_FINE, "exit_code": code, "problems": messages})
        if not as_json:
            print(f"{path}: {'fine' if code == EXIT_FINE else '; '.join(messages)}")  # noqa: T201
    if as_json:
        print(json.dumps({"schema": 1, "blueprints": results}, indent=2))  # noqa: T201
    return worst


def schema(of: str) -> None:
    """Print the JSON Schema of the blueprint or of the plan.

    Raises:
        InputError: no such schema.
    """
    if of == "blueprint":
        from clusterwright.blueprint.schema import json_schema
    elif of == "plan":
        from clusterwright.plan.document import json_schema
    else:
        raise InputError(f"there is no schema of {of!r}", help="blueprint or plan")
    print(json.dumps(json_schema(), indent=2))  # noqa: T201
