"""The commands that write deliverables: build, stack, onprem, report. Each says where the files are."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.blueprint.hardware import CLOUDS
from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.cli.answer import (
    exit_code,
    load_and_decide,
    placed,
    planned_catalogue,
    progress_display,
    show_warnings,
)
from clusterwright.errors import InputError
from clusterwright.outputs import folder
from clusterwright.outputs.folder import File, text
from clusterwright.plan.decide import Progress
from clusterwright.plan.document import dumps
from clusterwright.plan.record import Plan

if TYPE_CHECKING:
    from clusterwright.feeds.vendor_quotes import VendorQuotes


def build(
    path: Path,
    output: Path,
    set_values: list[str] | None,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    pdf: bool = False,
    force: bool,
    quiet: bool,
) -> int:
    """Write everything for every target; return the exit code."""
    from clusterwright.cli.show import plan_text
    from clusterwright.outputs.deliverables import everything

    with progress_display(quiet=quiet) as progress:
        loaded, plan, quoted = quoted_plan(path, set_values, "all", quotes, rates, progress=progress)
        files = everything(plan, planned_catalogue(plan), pdf=_can_print(asked=pdf), progress=progress)
        progress(f"writing {len(files)} files")
        written = folder.write(output, files, force=force)
    print(plan_text(plan, path, set_values or (), written=True))  # noqa: T201 - the result
    _say(written)
    _say_quotes(quoted)
    return exit_code(loaded, plan)


def stack(path: Path, output: Path, on: str, set_values: list[str] | None, *, force: bool) -> int:
    """Write one cloud's project; return the exit code."""
    from clusterwright.outputs.deliverables import cloud_files
    from clusterwright.outputs.stack import project_lines

    if on not in CLOUDS:
        raise InputError(f"there is no cloud {on!r}", help=f"one of {', '.join(CLOUDS)}")
    loaded, plan = without_failures(path, set_values, on)
    files = cloud_files(plan, plan.options[0], planned_catalogue(plan))
    code = _write(loaded, plan, output, files, force=force)
    for line in project_lines(plan.options[0], files):
        print(line)  # noqa: T201
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
    from clusterwright.outputs.deliverables import onprem_files

    loaded, plan, quoted = quoted_plan(path, set_values, "onprem", quotes, rates)
    _refuse_failures(loaded, plan)
    files = {"plan.json": text(dumps(plan))} | onprem_files(
        plan, plan.options[0], planned_catalogue(plan), pdf=_can_print(asked=pdf)
    )
    code = _write(loaded, plan, output, files, force=force)
    _say_quotes(quoted)
    return code


def report(path: Path, output: Path, set_values: list[str] | None, *, pdf: bool = False, force: bool) -> int:
    """Write the cost report and the workbook; return the exit code."""
    from clusterwright.outputs.deliverables import report_files

    loaded, plan = load_and_decide(path, set_values)
    return _write(loaded, plan, output, report_files(plan, pdf=_can_print(asked=pdf)), force=force)


def without_failures(path: Path, set_values: list[str] | None, on: str) -> tuple[LoadedBlueprint, Plan]:
    """Return a plan; refuse to write files of a cluster that does not do what was asked.

    Raises:
        BlueprintError: a rule failed.
    """
    loaded, plan = load_and_decide(path, set_values, on)
    _refuse_failures(loaded, plan)
    return loaded, plan


def _refuse_failures(loaded: LoadedBlueprint, plan: Plan) -> None:
    if plan.findings:
        show_warnings(loaded, plan)
        raise placed(loaded, plan.findings)


def quoted_plan(
    path: Path,
    set_values: list[str] | None,
    on: str,
    quotes: Path | None,
    rates: list[str] | None,
    *,
    progress: Progress = lambda _: None,
) -> tuple[LoadedBlueprint, Plan, "VendorQuotes | None"]:
    """Return the plan that is priced with a vendor's quotes, and those; without a file the plan as it is.

    Raises:
        InputError: the file or a rate cannot be read; BlueprintError: a line of it is wrong, or prices another bill.
    """
    if quotes is None:
        if rates:
            raise InputError("--rate is for quotes", help="add --quotes FILE, or leave out --rate")
        return *load_and_decide(path, set_values, on, progress=progress), None
    from clusterwright.feeds.exchange_rates import parse_rates
    from clusterwright.feeds.vendor_quotes import read_vendor_quotes

    read = read_vendor_quotes(quotes, parse_rates(rates or ()))
    loaded, plan = load_and_decide(path, set_values, on, quotes=read.prices, progress=progress)
    option = plan.option("onprem")
    if option is None or option.facility is None:
        raise InputError("quotes price a cluster on premises, the plan has none", help="add targets.onprem")
    read.check(option.facility.bill.lines, {priced.line.sku: priced.unit_usd for priced in option.lines})
    return loaded, plan, read


def _can_print(*, asked: bool) -> bool:
    """Tell whether PDF files are to be printed; say on stderr if they cannot."""
    if not asked:
        return False
    from clusterwright.outputs.printing import missing_browser

    reason = missing_browser()
    if reason:
        print(f"PDF files are skipped: {reason}", file=sys.stderr)  # noqa: T201 - diagnostics
    return not reason


def _say_quotes(quoted: "VendorQuotes | None") -> None:
    if quoted is not None:
        vendors = ", ".join(dict.fromkeys(price.vendor for price in quoted.prices))
        lines = f"{len(quoted.rows)} of {len(quoted.table.rows)} lines"
        print(f"{quoted.table.name}: {lines} quoted by {vendors}; the others keep their prices")  # noqa: T201


def _write(loaded: LoadedBlueprint, plan: Plan, output: Path, files: dict[str, File], *, force: bool) -> int:
    _say(folder.write(output, files, force=force))
    return exit_code(loaded, plan)


def _say(written: folder.Written) -> None:
    what = "nothing changed" if written.changed == 0 else f"{written.changed} written"
    print(f"\n{written.folder}: {written.files} files, {what}")  # noqa: T201
