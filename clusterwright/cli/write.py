"""The commands that write deliverables: build, stack, onprem, report. Each says where the files are."""

from pathlib import Path

from clusterwright.blueprint.hardware import CLOUDS
from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.answer import exit_code, load_and_decide, placed, progress_display, show_warnings
from clusterwright.errors import InputError
from clusterwright.outputs import folder
from clusterwright.outputs.folder import File, text
from clusterwright.plan.document import dumps
from clusterwright.plan.record import Plan


def build(path: Path, output: Path, set_values: list[str] | None, *, force: bool, quiet: bool) -> int:
    """Write everything for every target; return the exit code."""
    from clusterwright.cli.show import plan_text
    from clusterwright.outputs.deliverables import everything

    with progress_display(quiet=quiet) as progress:
        loaded, plan = load_and_decide(path, set_values, progress=progress)
        files = everything(plan, load_catalogue(), progress=progress)
        progress(f"writing {len(files)} files")
        written = folder.write(output, files, force=force)
    print(plan_text(plan, path, set_values or (), written=True))  # noqa: T201 - the result
    _say(written)
    return exit_code(loaded, plan)


def stack(path: Path, output: Path, on: str, set_values: list[str] | None, *, force: bool) -> int:
    """Write one cloud's project; return the exit code."""
    from clusterwright.outputs.deliverables import cloud_files
    from clusterwright.outputs.stack import project_lines

    if on not in CLOUDS:
        raise InputError(f"there is no cloud {on!r}", help=f"one of {', '.join(CLOUDS)}")
    loaded, plan = without_failures(path, set_values, on)
    files = cloud_files(plan, plan.options[0], load_catalogue())
    code = _write(loaded, plan, output, files, force=force)
    for line in project_lines(plan.options[0], files):
        print(line)  # noqa: T201
    return code


def onprem(path: Path, output: Path, set_values: list[str] | None, *, force: bool) -> int:
    """Write the on-premises documents; return the exit code."""
    from clusterwright.outputs.deliverables import onprem_files

    loaded, plan = without_failures(path, set_values, "onprem")
    files = {"plan.json": text(dumps(plan))} | onprem_files(plan, plan.options[0], load_catalogue())
    return _write(loaded, plan, output, files, force=force)


def report(path: Path, output: Path, set_values: list[str] | None, *, force: bool) -> int:
    """Write the cost report and the workbook; return the exit code."""
    from clusterwright.outputs.deliverables import report_files

    loaded, plan = load_and_decide(path, set_values)
    return _write(loaded, plan, output, report_files(plan), force=force)


def without_failures(path: Path, set_values: list[str] | None, on: str) -> tuple[LoadedBlueprint, Plan]:
    """Return a plan; refuse to write files of a cluster that does not do what was asked.

    Raises:
        BlueprintError: a rule failed.
    """
    loaded, plan = load_and_decide(path, set_values, on)
    if plan.findings:
        show_warnings(loaded, plan)
        raise placed(loaded, plan.findings)
    return loaded, plan


def _write(loaded: LoadedBlueprint, plan: Plan, output: Path, files: dict[str, File], *, force: bool) -> int:
    _say(folder.write(output, files, force=force))
    return exit_code(loaded, plan)


def _say(written: folder.Written) -> None:
    what = "nothing changed" if written.changed == 0 else f"{written.changed} written"
    print(f"\n{written.folder}: {written.files} files, {what}")  # noqa: T201
