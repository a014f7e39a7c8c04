"""The command line's entry: the commands of a blueprint, and where the others join them.

Heavy modules are imported inside the commands that need them, so that `--help` answers at once.
"""

import gc
import sys
from pathlib import Path
from typing import Annotated

import typer

from clusterwright import __version__
from clusterwright.cli import ending, web, without_blueprint, written_commands
from clusterwright.cli.options import AsJson, Blueprint, Force, OutputFile, Quiet, Quotes, Rates, SetValues, refuse_with
from clusterwright.cli.prices.commands import prices
from clusterwright.cli.render.help_text import Application
from clusterwright.cli.render.terminal import protect_streams

app = Application(
    name="clusterwright",
    cls=ending.Commands,
    help="One blueprint of an AI workload in; the sized cluster, its code, its documents and its cost out.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"clusterwright {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and stop")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="show a full traceback when something fails")] = False,
) -> None:
    del version, debug  # acted on by the callback and by `run`


@app.command()
def init(
    kind: Annotated[str, typer.Argument(help="train, finetune or serve")] = "train",
    output: OutputFile = None,
) -> None:
    """Write a commented blueprint to start from."""
    from clusterwright.cli import start

    start.init(kind, output)


@app.command()
def check(
    blueprints: Annotated[list[Path], typer.Argument(metavar="BLUEPRINT", help="one or more blueprints")],
    set_values: SetValues = None,
    as_json: AsJson = False,
) -> None:
    """Check blueprints: form, names, feasibility.

    For editors and CI: every file is checked, the exit code is the worst one.
    """
    from clusterwright.cli import start

    raise typer.Exit(start.check(blueprints, set_values, as_json=as_json))


@app.command()
def plan(
    *,
    blueprint: Blueprint,
    on: Annotated[str, typer.Option(metavar="TARGET", help="aws, azure, gcp, onprem or all")] = "all",
    details: Annotated[
        bool, typer.Option("--details", help="layout, memory, every assumption and what is not counted")
    ] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="of a service: run single requests through the replicas of each target")
    ] = False,
    quotes: Quotes = None,
    rates: Rates = None,
    set_values: SetValues = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Size the cluster for every target, and compare."""
    from clusterwright.cli import answer

    raise typer.Exit(
        answer.plan(
            blueprint,
            on,
            set_values,
            quotes=quotes,
            rates=rates,
            as_json=as_json,
            quiet=quiet,
            details=details,
            simulate=simulate,
        )
    )


@app.command()
def compare(
    *,
    blueprint: Annotated[Path | None, typer.Argument(metavar="BLUEPRINT", help="the blueprint, a YAML file")] = None,
    finance: Annotated[
        bool, typer.Option("--finance", help="every term, returns, and how sure the ranking is")
    ] = False,
    draws: Annotated[int, typer.Option(min=1, max=1_000_000, help="--finance: draws of the assumptions")] = 10_000,
    seed: Annotated[int, typer.Option(help="--finance: of the draws")] = 20261121,
    scenarios: Annotated[
        bool, typer.Option("--scenarios", help="price for performance: a guide's table, calculated again")
    ] = False,
    one_node: Annotated[
        bool, typer.Option("--one-node", help="'breakeven in 6 to 12 months', at documented prices")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DAY", help="--scenarios, --one-node: prices of this day")
    ] = None,
    why: Annotated[
        str | None, typer.Option("--why", metavar="NAME", help="why this instance type or system is not chosen")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="every way as CSV, amounts in USD")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="for a pull request: answer, table, caveats")] = False,
    details: Annotated[
        bool, typer.Option("--details", help="how to plan each ranked row again, and every warning whole")
    ] = False,
    quotes: Quotes = None,
    rates: Rates = None,
    set_values: SetValues = None,
    as_json: AsJson = False,
) -> None:
    """Compare renting and owning: this run, the horizon, breakeven.

    --scenarios and --one-node need no blueprint; with one, they take its day of prices.
    """
    if scenarios or one_node or blueprint is None:
        from clusterwright.cli.compare import general

        raise typer.Exit(
            general.compare(
                blueprint,
                set_values,
                as_of,
                scenarios=scenarios,
                one_node=one_node,
                other=finance or markdown or details or as_csv or why is not None,
                as_json=as_json,
            )
        )
    if why is not None:
        from clusterwright.cli.compare import why as command_why

        refuse_with("--why", {"--finance": finance, "--csv": as_csv, "--markdown": markdown, "--details": details})
        raise typer.Exit(command_why.why(blueprint, set_values, why, quotes=quotes, rates=rates, as_json=as_json))
    if finance:
        from clusterwright.cli.compare import finance as command

        refuse_with("--finance", {"--csv": as_csv, "--markdown": markdown, "--details": details})
        raise typer.Exit(
            command.compare(blueprint, set_values, quotes=quotes, rates=rates, draws=draws, seed=seed, as_json=as_json)
        )
    from clusterwright.cli import answer

    raise typer.Exit(
        answer.compare(
            blueprint,
            set_values,
            quotes=quotes,
            rates=rates,
            as_json=as_json,
            as_csv=as_csv,
            markdown=markdown,
            details=details,
        )
    )


@app.command()
def sweep(
    *,
    blueprints: Annotated[list[Path], typer.Argument(metavar="BLUEPRINT", help="one or more blueprints")],
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="PATH=V1,V2", help="sweep over values, e.g. workload.precision=bf16,fp8"),
    ] = None,
    accelerators: Annotated[
        list[str] | None, typer.Option("--accelerators", metavar="NAMES", help="only node types with these, by comma")
    ] = None,
    instances: Annotated[
        list[str] | None, typer.Option("--instances", metavar="NAMES", help="only these instance types or systems")
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="A..B", help="cluster sizes; up to 16,384 GPUs if left out")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="show every point of each front")] = False,
    parquet: Annotated[Path | None, typer.Option(metavar="FILE", help="also write every point as Parquet")] = None,
    chart: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="also draw days against GPUs")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, max=1024, help="processes; one per core if left out")] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="run on the Dask cluster of this scheduler")
    ] = None,
    set_values: SetValues = None,
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Size every node type of the catalogue: fronts with costs."""
    from clusterwright.cli import sweep as command
    from clusterwright.interface.sweeping import Request

    request = Request(
        sources=blueprints,
        set_values=set_values or (),
        vary=vary or (),
        accelerators=accelerators or (),
        instances=instances or (),
        nodes=nodes,
    )
    raise typer.Exit(
        command.sweep(
            request,
            jobs=jobs,
            dask=dask,
            as_json=as_json,
            every=every,
            parquet=parquet,
            chart=chart,
            force=force,
            quiet=quiet,
        )
    )


@app.command()
def explain(
    blueprint: Annotated[
        Path,
        typer.Argument(metavar="BLUEPRINT|CODE", help="the blueprint, a YAML file; or the id of a rule, as PLC010"),
    ],
    number: Annotated[str | None, typer.Argument(help="name of a number; without it, the numbers are listed")] = None,
    on: Annotated[
        str | None, typer.Option(metavar="TARGET", help="aws, azure, gcp or onprem; the recommended one by default")
    ] = None,
    set_values: SetValues = None,
    as_json: AsJson = False,
) -> None:
    """Trace one number to its equation, inputs and sources; or explain a rule: what, why, fix, example."""
    from clusterwright.cli import answer
    from clusterwright.cli.reference import rules

    code = rules.code_in(blueprint, number)
    if code is not None:
        raise typer.Exit(rules.explain(code, as_json=as_json))
    raise typer.Exit(answer.explain(blueprint, number, on, set_values, as_json=as_json))


for command in (*written_commands.COMMANDS, *web.COMMANDS, *without_blueprint.COMMANDS):
    app.command()(command)
app.add_typer(without_blueprint.validate, name="validate")
app.add_typer(prices, name="prices")


def run() -> None:
    """Run the command line and end with the exit code of the house."""
    # A command makes records, keeps them and ends: looking for cycles as often as Python does took 5 % of its time.
    gc.set_threshold(50_000)
    protect_streams()
    debug = "--debug" in sys.argv[1:]
    if debug:
        sys.argv.remove("--debug")
    ending.run_to_the_end(lambda: app(prog_name="clusterwright"), debug=debug)
