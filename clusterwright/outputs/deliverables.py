"""Which files belong to a plan, by path within the output folder."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace

from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.summary import readme
from clusterwright.plan.document import dumps
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import MoneyFormat

Progress = Callable[[str], None]
#: The part of the files that holds the money, and its folder.
REPORT, _REPORT_FOLDER = "report", "tco"


def parts_of(plan: Plan, only: Sequence[str]) -> tuple[str, ...]:
    """Return the sub-folders of the parts of a plan's files that are asked for.

    Args:
        plan: the decision.
        only: names of targets, or `report`.

    Raises:
        InputError: the plan has no such part.
    """
    folders = {option.target: option.target for option in plan.options} | {REPORT: _REPORT_FOLDER}
    unknown = [name for name in only if name not in folders]
    if unknown:
        raise InputError(f"the plan has no part {unknown[0]!r}", help=f"it has {', '.join(folders)}")
    return tuple(dict.fromkeys(folders[name] for name in only))


def everything(
    plan: Plan,
    facts: Facts,
    *,
    money: MoneyFormat,
    parts: Sequence[str] = (),
    pdf: bool = False,
    progress: Progress = lambda _: None,
) -> dict[str, File]:
    """Return every file of a plan: plan.json, README, a folder per target, and the cost report.

    Args:
        plan: the decision.
        facts: that it was made with.
        parts: sub-folders, of `parts_of`, to which the files are limited, with plan.json and without README.
        pdf: print the drawings and the report too.
        progress: called with what is being done.
        money: how amounts are written.

    Raises:
        ClusterwrightError: the drawings cannot be printed.
    """
    files = {"plan.json": text(dumps(plan))}
    if not parts:
        files["README.md"] = text(readme(plan, money))
    for option in plan.options:
        if parts and option.target not in parts:
            continue
        progress(f"writing {option.target}")
        if option.design.facility is None:
            files |= _under(option.target, cloud_files(plan, option, facts.catalogue, money))
        else:
            files |= _under(option.target, onprem_files(plan, option, facts.catalogue, pdf=pdf))
    if parts and _REPORT_FOLDER not in parts:
        return files
    progress("drawing the report")
    return files | _under(_REPORT_FOLDER, report_files(plan, facts, pdf=pdf, money=money))


def _under(folder: str, files: dict[str, File]) -> dict[str, File]:
    return {f"{folder}/{name}": file for name, file in files.items()}


def cloud_files(plan: Plan, option: Option, catalogue: Catalogue, money: MoneyFormat) -> dict[str, File]:
    """Return a cloud's project and the files that start the work."""
    from clusterwright.outputs.kinds import outputs_of  # noqa: PLC0415 - only what is asked for is loaded
    from clusterwright.outputs.project.stack import stack_files  # noqa: PLC0415

    project = stack_files(plan, option, catalogue, money)
    return project | outputs_of(plan).launch(plan, option, catalogue, project)


def onprem_files(plan: Plan, option: Option, catalogue: Catalogue, *, pdf: bool = False) -> dict[str, File]:
    """Return the on-premises documents, the files of its scheduler and those that start the work.

    Args:
        plan: the decision.
        option: on premises.
        catalogue: the facts.
        pdf: print the drawings too.

    Raises:
        ClusterwrightError: the drawings cannot be printed.
    """
    from clusterwright.outputs.onprem.documents import onprem_documents  # noqa: PLC0415
    from clusterwright.outputs.onprem.software_page import software_documents  # noqa: PLC0415

    files = onprem_documents(plan, option, catalogue) | _scheduler_files(plan, option, catalogue)
    files |= software_documents(plan, option)
    files |= _provisioning_files(plan, option, catalogue, files)
    if option.deployment.scheduler == "kubernetes":
        files |= _control_plane_files(plan, option, catalogue, files)
    if not pdf:
        return files
    from clusterwright.outputs import printing  # noqa: PLC0415

    pages = printing.drawing_pages(plan, option, catalogue, files)
    printed = printing.drawings_pdf(pages, made_on=dt.date.fromisoformat(plan.as_of))
    return files | {printing.FILE: File(content=printed)}


#: Tables that the files of machines and switches are made from; a site without a border has no uplinks.
_PROVISIONED_FROM = ("dhcp-hosts.csv", "ip-networks.csv", "ip-plan.csv", "cables.csv", "uplinks.csv")


def _provisioning_files(plan: Plan, option: Option, catalogue: Catalogue, files: dict[str, File]) -> dict[str, File]:
    from clusterwright.outputs.onprem.provisioning.documents import provisioning_documents  # noqa: PLC0415

    assert option.design.facility is not None  # noqa: S101 - on premises
    inventory, software = option.design.facility.inventory, plan.software_of(option.target)
    system = catalogue.systems[inventory.system]
    tables = {name: files[name].content.decode() for name in _PROVISIONED_FROM if name in files}
    return provisioning_documents(
        replace(inventory, host_prefix=plan.cluster.host_prefix),
        tables,
        cluster=plan.cluster.name,
        scheduler=option.deployment.scheduler,
        architecture=(software and software.version("host_architecture")) or "x86_64",
        accelerator=catalogue.accelerators[system.accelerator],
        system=system,
    )


def _control_plane_files(plan: Plan, option: Option, catalogue: Catalogue, files: dict[str, File]) -> dict[str, File]:
    from clusterwright.outputs.onprem.kubernetes import control_plane, rails  # noqa: PLC0415

    tables = {name: files[name].content.decode() for name in ("dhcp-hosts.csv", "ip-networks.csv", "ip-plan.csv")}
    placed = control_plane(plan, option, catalogue, tables) | rails(plan, option, catalogue, tables)
    return _under("kubernetes", placed)


def _scheduler_files(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    if option.deployment.scheduler == "kubernetes":
        from clusterwright.outputs.onprem.kubernetes import kubernetes_files  # noqa: PLC0415

        return _under("kubernetes", kubernetes_files(plan, option, catalogue))
    from clusterwright.outputs.kinds import outputs_of  # noqa: PLC0415
    from clusterwright.outputs.onprem.slurm.configuration import slurm_files  # noqa: PLC0415
    from clusterwright.outputs.onprem.slurm.jobs import job_documents, user_documents  # noqa: PLC0415

    documents = slurm_files(plan, option, catalogue) | job_documents(plan, option, catalogue) | user_documents(plan)
    return documents | outputs_of(plan).launch(plan, option, catalogue, documents)


def report_files(plan: Plan, facts: Facts, *, money: MoneyFormat, pdf: bool = False) -> dict[str, File]:
    """Return the cost report, the workbook, and the plan's bill as FOCUS rows.

    Args:
        plan: the decision.
        facts: that it was made with.
        pdf: print the report too.
        money: how amounts are written.

    Raises:
        ClusterwrightError: the report cannot be printed.
    """
    from clusterwright.outputs.exports.focus import focus_csv, focus_rows  # noqa: PLC0415
    from clusterwright.outputs.report.page import report_html  # noqa: PLC0415
    from clusterwright.outputs.report.ranking import counted, ranked  # noqa: PLC0415
    from clusterwright.outputs.workbook.book import workbook_xlsx  # noqa: PLC0415

    found = ranked(plan, facts.book)
    cash_flow = counted(plan, found)
    html = report_html(plan, found, cash_flow, money)
    files = {
        "report.html": text(html),
        "tco.xlsx": File(content=workbook_xlsx(plan, found, money.currency)),
        "focus.csv": text(focus_csv(focus_rows(plan, cash_flow, found=found, money=money))),
    }
    if not pdf:
        return files
    from clusterwright.outputs import printing  # noqa: PLC0415

    printed = printing.page_pdf(html, made_on=dt.date.fromisoformat(plan.as_of))
    return files | {printing.REPORT: File(content=printed)}
