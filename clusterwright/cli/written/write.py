"""The commands that write deliverables: build, stack, onprem, report. Each says where the files are."""

import sys
from pathlib import Path

from clusterwright.blueprint.rules.hardware import CLOUDS
from clusterwright.blueprint.shared import lists_workloads
from clusterwright.cli.answer import exit_code, show_warnings
from clusterwright.cli.planning import planned, progress_display, say_quotes
from clusterwright.cli.render.text_table import fitted
from clusterwright.errors import InputError
from clusterwright.interface.places import placed, placing
from clusterwright.interface.results import PlanResult
from clusterwright.outputs import folder
from clusterwright.outputs.folder import File
from clusterwright.plan.text.currency import money_as_asked


def build(
    path: Path,
    output: Path,
    set_values: list[str] | None,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    only: str = "",
    pdf: bool = False,
    force: bool,
    quiet: bool,
) -> int:
    """Write everything for every target, or the named parts of it; return the exit code."""
    from clusterwright.cli.render.answer import plan_text
    from clusterwright.outputs.deliverables import everything, parts_of

    with progress_display(quiet=quiet) as progress:
        made = planned(path, set_values, "all", quotes, rates, progress=progress)
        plan = made.plan
        with placing(made.blueprint):
            money = money_as_asked(plan)
            parts = parts_of(plan, [name.strip() for name in only.split(",")] if only else [])
            printed = _can_print(asked=pdf)
            files = everything(plan, made.facts, parts=parts, pdf=printed, progress=progress, money=money)
            shown = plan_text(plan, path, set_values or (), written=(str(output), files), money=money)
        progress(f"writing {len(files)} files")
        written = folder.write(output, files, parts=parts, force=force)
    print(fitted(shown))
    _say(written)
    say_quotes(made)
    return exit_code(made)


def stack(path: Path, output: Path, on: str, set_values: list[str] | None, *, force: bool) -> int:
    """Write one cloud's project; return the exit code."""
    from clusterwright.outputs.project.stack import project_lines

    if on not in CLOUDS:
        raise InputError(f"there is no cloud {on!r}", help=f"one of {', '.join(CLOUDS)}")
    made = without_failures(path, set_values, on)
    files = made.target_files(on)
    code = _write(made, output, files, force=force)
    for line in project_lines(made.options[0], files):
        print(fitted(line))
    return code


def onprem(
    path: Path,
    output: Path,
    set_values: list[str] | None,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    pdf: bool = False,
    force: bool,
) -> int:
    """Write the on-premises documents; return the exit code."""
    made = planned(path, set_values, "onprem", quotes, rates)
    _refuse_failures(made)
    code = _write(made, output, made.target_files("onprem", pdf=_can_print(asked=pdf)), force=force)
    say_quotes(made)
    return code


def report(
    path: Path,
    output: Path,
    set_values: list[str] | None,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    pdf: bool = False,
    force: bool,
) -> int:
    """Write the cost report and the workbook; return the exit code."""
    if lists_workloads(path):
        from clusterwright.cli import sharing

        sharing.refuse({"--quotes": quotes, "--pdf": pdf})
        return sharing.report(path, output, set_values, force=force)
    from clusterwright.outputs.deliverables import report_files

    made = planned(path, set_values, "all", quotes, rates)
    with placing(made.blueprint):
        money = money_as_asked(made.plan)
        files = report_files(made.plan, made.facts, pdf=_can_print(asked=pdf), money=money)
    code = _write(made, output, files, force=force, money=True)
    say_quotes(made)
    return code


def without_failures(path: Path, set_values: list[str] | None, on: str) -> PlanResult:
    """Return a plan; refuse to write files of a cluster that does not do what was asked.

    Raises:
        BlueprintError: a rule failed.
    """
    made = planned(path, set_values, on)
    _refuse_failures(made)
    return made


def _refuse_failures(made: PlanResult) -> None:
    if made.findings:
        show_warnings(made.blueprint, made.plan)
        raise placed(made.blueprint, made.findings)


def _can_print(*, asked: bool) -> bool:
    """Tell whether PDF files are to be printed; say on stderr if they cannot."""
    if not asked:
        return False
    from clusterwright.outputs.printing import missing_browser

    reason = missing_browser()
    if reason:
        print(f"PDF files are skipped: {reason}", file=sys.stderr)
    return not reason


def _write(made: PlanResult, output: Path, files: dict[str, File], *, force: bool, money: bool = False) -> int:
    _say(folder.write(output, files, force=force))
    return exit_code(made, money=money)


def _say(written: folder.Written) -> None:
    what = "nothing changed" if written.changed == 0 else f"{written.changed} written"
    print(f"\n{written.folder}: {written.files} files, {what}")
    for line in written.kept:
        print(f"  kept  {line}")
