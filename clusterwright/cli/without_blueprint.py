"""Commands that need no blueprint: facts, prices, fabrics, runs, schemas. `main` puts them on the command line.

Heavy modules are imported inside the commands that need them, so that `--help` answers at once.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from clusterwright.cli.options import AsJson, Output, OutputFile, Quiet, Runs, SetValues, refuse_dash
from clusterwright.cli.render.help_text import Application


class RailGroups(StrEnum):
    """Which leaves share spines where a fabric has three levels."""

    ALL_UNITS = "all-units"
    PER_UNIT = "per-unit"


def fabric(
    *,
    system: Annotated[str, typer.Option(metavar="SYSTEM", help="for example dgx-h100")],
    switch: Annotated[str, typer.Option(metavar="SWITCH", help="for example qm9700")],
    units: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help="scalable units whose leaves and spines are bought now, for growth"),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="systems of today; all that the units hold by default")
    ] = None,
    topology: Annotated[
        str, typer.Option(metavar="NAME", help="rail: a leaf per rail; plain: all ports of a node on one leaf")
    ] = "rail",
    rail_groups: Annotated[
        RailGroups | None, typer.Option(help="three levels with leaves grouped by rail, over all units or in each")
    ] = None,
    management_ports: Annotated[
        int | None, typer.Option(min=0, max=64, help="leaf ports of subnet managers; 4 if there is room by default")
    ] = None,
    oversubscription: Annotated[
        float, typer.Option(max=64, help="the most downlinks over uplinks of a leaf, for example 2")
    ] = 1.0,
    spine_oversubscription: Annotated[float, typer.Option(max=64, help="the same of a spine, in three levels")] = 1.0,
    planes: Annotated[
        int, typer.Option(min=1, max=8, help="equal fabrics: Ethernet ports are split, InfiniBand rails shared out")
    ] = 1,
    as_needed: Annotated[bool, typer.Option("--as-needed", help="buy only what the nodes need of one unit")] = False,
    proven: Annotated[
        bool, typer.Option("--prove", help="route it with OpenSM (InfiniBand) or walk its equal ways (Ethernet)")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Size a compute fabric without a blueprint."""
    from clusterwright.cli.written import fabric as command

    raise typer.Exit(
        command.fabric(
            system=system,
            switch=switch,
            units=units,
            nodes=nodes,
            rail_groups=rail_groups.value if rail_groups else None,
            management_ports=management_ports,
            oversubscription=oversubscription,
            spine_oversubscription=spine_oversubscription,
            topology=topology,
            planes=planes,
            as_needed=as_needed,
            as_json=as_json,
            proven=proven,
        )
    )


def facts(
    name: Annotated[str | None, typer.Argument(help="accelerator, system, instance, switch or model")] = None,
    conflicts: Annotated[bool, typer.Option("--conflicts", help="only facts that sources dispute")] = False,
    as_json: AsJson = False,
) -> None:
    """List and show the catalogue's facts with their sources."""
    from clusterwright.cli.reference import lookups

    raise typer.Exit(lookups.facts(name, conflicts=conflicts, as_json=as_json))


def fit(
    model: Annotated[str, typer.Argument(help="for example llama-3.1-8b, or the path of its config.json")],
    on: Annotated[str | None, typer.Option(metavar="GPU", help="one accelerator; all without it")] = None,
    context: Annotated[
        int | None,
        typer.Option(min=1, max=100_000_000, help="tokens of a sequence; 8,192, or 2,048 to fine-tune"),
    ] = None,
    finetune: Annotated[bool, typer.Option("--finetune", help="memory of fine-tuning by method and precision")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which cards hold a model, to serve it or to fine-tune it."""
    from clusterwright.cli.measured import fit as command

    raise typer.Exit(command.fit(model, on=on, context=context, finetune=finetune, as_json=as_json))


validate = Application(help="Hold the engines against published figures.", no_args_is_help=True, rich_markup_mode=None)


@validate.command("training")
def validate_training(
    runs: Runs,
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="OUT.csv", help="write the prediction of every row, with its band", callback=refuse_dash),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict every run of a CSV file and print the errors."""
    from clusterwright.cli.measured import validate as command

    raise typer.Exit(command.training(runs, as_json=as_json, predictions_to=predictions))


@validate.command("serving")
def validate_serving(
    runs: Runs,
    models: Annotated[
        Path | None, typer.Option(metavar="MODELS.csv", help="a table of models that goes before the catalogue")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="OUT.csv", help="write every metric of every row, with its band", callback=refuse_dash),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict every serving measurement of a CSV file and print the errors."""
    from clusterwright.cli.measured import validate_serving as command

    raise typer.Exit(command.serving(runs, models=models, predictions_to=predictions, as_json=as_json))


@validate.command("finetune")
def validate_finetune(
    runs: Runs,
    models: Annotated[
        Path | None, typer.Option(metavar="MODELS.csv", help="a table of models that goes before the catalogue")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="OUT.csv", help="write every metric of every row, with its band", callback=refuse_dash),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict every fine-tuning measurement of a CSV file and print the errors."""
    from clusterwright.cli.measured import validate_serving as command

    raise typer.Exit(command.finetune(runs, models=models, predictions_to=predictions, as_json=as_json))


@validate.command("tco")
def validate_tco(
    cases: Annotated[
        list[Path],
        typer.Argument(metavar="CASE.yaml", help="one or more, or folders; see clusterwright docs tco-cases"),
    ],
    every: Annotated[bool, typer.Option("--all", help="also show every figure that can be expected")] = False,
    as_json: AsJson = False,
) -> None:
    """Run published cost calculations through the engine."""
    from clusterwright.cli.measured import validate_tco as command

    raise typer.Exit(command.tco(cases, every=every, as_json=as_json))


def probe(
    *,
    output: OutputFile = Path("probe.csv"),
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="auto, torch or numpy; auto is torch where it sees an accelerator")
    ] = "auto",
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="bound of the whole measurement")] = 180.0,
    accelerator: Annotated[
        str | None, typer.Option(metavar="NAME", help="of the catalogue, where the driver's name does not tell it")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace the file if it exists")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure this machine's accelerators, for calibrate."""
    from clusterwright.cli.measured import probe as command

    raise typer.Exit(
        command.probe(
            output,
            backend=backend,
            seconds=seconds,
            accelerator=accelerator,
            force=force,
            as_json=as_json,
            quiet=quiet,
        )
    )


def calibrate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE.csv",
            help="measured runs (clusterwright docs calibrate leads to their columns), or files of probe",
        ),
    ],
    output: Output,
    anew: Annotated[bool, typer.Option("--anew", help="fit everything from the file alone, and judge it")] = False,
    models: Annotated[
        Path | None, typer.Option("--models", help="models of measured serving that go before the catalogue's")
    ] = None,
) -> None:
    """Adjust the engines to runs and probes of your own."""
    from clusterwright.cli.measured import validate as command

    raise typer.Exit(command.calibrate(runs, output, anew=anew, models=models))


def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="blueprint, plan.json, or REVISION:path in git")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="the same")],
    markdown: Annotated[bool, typer.Option("--markdown", help="for a comment of a pull request")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell what changed between two plans, and why."""
    from clusterwright.cli.written import diff as command

    raise typer.Exit(command.diff(before, after, as_json=as_json, markdown=markdown))


def schema(
    of: Annotated[str, typer.Argument(help="blueprint, plan, case, compare, finance, diff or actual")] = "blueprint",
) -> None:
    """Print a JSON Schema: of files, or of what commands print."""
    from clusterwright.cli import start

    start.schema(of)


def software(
    blueprint: Annotated[Path | None, typer.Argument(metavar="BLUEPRINT", help="the blueprint, a YAML file")] = None,
    slices: Annotated[
        str | None,
        typer.Option(metavar="ACCELERATOR", help="MIG profiles of a GPU and what fills it, for example h100"),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="what is true between two kinds of software, by id")] = False,
    set_values: SetValues = None,
    as_json: AsJson = False,
) -> None:
    """Show which releases the nodes have, and why."""
    from clusterwright.cli.reference import software as command

    raise typer.Exit(command.software(blueprint, set_values, slices=slices, rules=rules, as_json=as_json))


def docs(
    topic: Annotated[
        str | None,
        typer.Argument(metavar="TOPIC", help="a page by its name, such as contracts; without it, all are listed"),
    ] = None,
) -> None:
    """Show a page of the documentation, as messages name it."""
    from clusterwright.cli.reference.pages import show

    show(topic)


COMMANDS = (diff, fabric, facts, fit, probe, calibrate, schema, software, docs)
