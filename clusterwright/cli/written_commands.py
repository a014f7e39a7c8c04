"""Commands that write deliverables of a blueprint, or look at what was written. `main` puts them on the command line.

Heavy modules are imported inside the commands that need them, so that `--help` answers at once.
"""

from pathlib import Path
from typing import Annotated

import typer

from clusterwright.cli.options import AsJson, Blueprint, Force, Output, OutputFile, Pdf, Quiet, Quotes, Rates, SetValues
from clusterwright.errors import InputError


def build(
    *,
    blueprint: Blueprint,
    output: Output,
    quotes: Quotes = None,
    rates: Rates = None,
    only: Annotated[
        str, typer.Option("--only", metavar="PARTS", help="of aws, azure, gcp, onprem, report: these, with commas")
    ] = "",
    pdf: Pdf = False,
    set_values: SetValues = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write all: plan, stacks, on-premises files, cost report.

    --only writes single parts, and leaves the others of the same plan in the folder as they are.
    """
    from clusterwright.cli.written import write

    raise typer.Exit(
        write.build(
            blueprint, output, set_values, quotes=quotes, rates=rates, only=only, pdf=pdf, force=force, quiet=quiet
        )
    )


def stack(
    blueprint: Blueprint,
    output: Output,
    on: Annotated[str, typer.Option(metavar="TARGET", help="aws, azure or gcp")],
    set_values: SetValues = None,
    force: Force = False,
) -> None:
    """Write one cloud's Pulumi project, in three layers."""
    from clusterwright.cli.written import write

    raise typer.Exit(write.stack(blueprint, output, on, set_values, force=force))


def preflight(
    *,
    path: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="a generated project, or a blueprint")],
    on: Annotated[str, typer.Option(metavar="TARGET", help="of a blueprint: aws, azure, gcp or all")] = "all",
    stack: Annotated[str | None, typer.Option(metavar="NAME", help="of a project: which of its stacks")] = None,
    online: Annotated[bool, typer.Option("--online", help="ask the provider too, read-only, with your login")] = False,
    every: Annotated[bool, typer.Option("--all", help="also show the checks that passed")] = False,
    run: Annotated[bool, typer.Option("--run/--no-run", help="of a project: run its program, without a login")] = True,
    python: Annotated[
        Path | None, typer.Option(metavar="FILE", help="of a project: Python with its SDKs; .venv by default")
    ] = None,
    set_values: SetValues = None,
    as_json: AsJson = False,
) -> None:
    """Check a cloud project before `pulumi up`."""
    from clusterwright.cli.written import preflight as command

    raise typer.Exit(
        command.preflight(
            path,
            on=on,
            stack=stack,
            set_values=set_values,
            online=online,
            as_json=as_json,
            every=every,
            python=python,
            run=run,
        )
    )


def export(  # noqa: PLR0917 - options of the command line
    blueprint: Blueprint,
    to: Annotated[
        str, typer.Option("--to", metavar="TOOL", help="parallelcluster, cluster-toolkit, skypilot or focus")
    ],
    on: Annotated[
        str | None, typer.Option(metavar="TARGET", help="aws, azure or gcp, where the tool has several")
    ] = None,
    output: OutputFile = None,
    begin: Annotated[
        str | None, typer.Option(metavar="DAY", help="focus: first day of the horizon, the first of a month")
    ] = None,
    set_values: SetValues = None,
    force: Force = False,
) -> None:
    """Write the plan for another tool, or its bill as FOCUS rows."""
    from clusterwright.cli.written import export

    raise typer.Exit(export.export(blueprint, to, on, output, set_values, begin=begin, force=force))


def actual(
    *,
    plan: Annotated[Path, typer.Argument(metavar="BLUEPRINT|PLAN", help="the blueprint, or its plan.json")],
    exports: Annotated[
        list[Path] | None, typer.Argument(metavar="EXPORT", help="FOCUS exports of one provider, CSV or Parquet")
    ] = None,
    serving: Annotated[
        Path | None, typer.Option(metavar="RESULTS", help="of a load test instead of a bill; see serving/loadtest")
    ] = None,
    on: Annotated[str | None, typer.Option(metavar="TARGET", help="with --serving: the target that was tested")] = None,
    replicas: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="with --serving: that answered, where the results do not say")
    ] = None,
    tag: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE", help="of the cluster's resources; gpu-cluster=NAME by default")
    ] = None,
    cost: Annotated[str, typer.Option(metavar="effective|billed", help="amortised, or cash")] = "effective",
    rates: Rates = None,
    count_repeated: Annotated[
        bool, typer.Option("--count-repeated", help="count rows that are the same in every column each time")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print the lines as CSV")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare a bill, or a load test, with the plan."""
    from clusterwright.cli.written import actual as command

    if serving is not None:
        from clusterwright.cli.written import actual as actual_serving

        if exports:
            raise InputError("a bill and a load test are compared one at a time", help="leave out one of them")
        raise typer.Exit(
            actual_serving.serving(plan, serving, on=on, replicas=replicas, as_json=as_json, as_csv=as_csv)
        )
    raise typer.Exit(
        command.actual(
            plan,
            exports or [],
            tag=tag,
            cost=cost,
            rates=rates or [],
            count_repeated=count_repeated,
            as_json=as_json,
            as_csv=as_csv,
        )
    )


def onprem(
    *,
    blueprint: Blueprint,
    output: Output,
    quotes: Quotes = None,
    rates: Rates = None,
    pdf: Pdf = False,
    set_values: SetValues = None,
    force: Force = False,
) -> None:
    """Write the on-premises files.

    Bill of materials, racks, fabric, cables, power and cooling, Slurm.
    """
    from clusterwright.cli.written import write

    raise typer.Exit(write.onprem(blueprint, output, set_values, quotes=quotes, rates=rates, pdf=pdf, force=force))


def prove(
    *,
    path: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="a written folder, or a blueprint")],
    strict: Annotated[bool, typer.Option("--strict", help="of a folder: what is skipped is not proven")] = False,
    route: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="fabrics that OpenSM routes: compute or p1, p2, …, storage; all by default"),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="for OpenSM in all, for example 30min; what is not routed is unknown"),
    ] = None,
    set_values: SetValues = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Prove a written folder, or a planned fabric, with real engines.

    A folder: OpenSM routes its fabrics one by one, LibreOffice calculates its workbooks, slurmctld starts with
    its files, every file is parsed. A blueprint: OpenSM routes its compute fabric.
    """
    from clusterwright.cli.written.prove import prove_path

    raise typer.Exit(
        prove_path(path, set_values, as_json=as_json, strict=strict, quiet=quiet, route=route, within=within)
    )


def report(
    *,
    blueprint: Blueprint,
    output: Output,
    quotes: Quotes = None,
    rates: Rates = None,
    set_values: SetValues = None,
    pdf: Pdf = False,
    force: Force = False,
) -> None:
    """Write the cost report (HTML) and the workbook (XLSX)."""
    from clusterwright.cli.written import write

    raise typer.Exit(write.report(blueprint, output, set_values, quotes=quotes, rates=rates, pdf=pdf, force=force))


COMMANDS = (build, stack, preflight, export, actual, onprem, prove, report)
