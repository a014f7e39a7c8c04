"""Options that several commands share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

#: What a FILE is called that is standard input or output.
STANDARD_STREAM = Path("-")


def standard_output_if_dash(path: Path | None) -> Path | None:
    """Return the file of an option that takes `-` for standard output, which is None."""
    return None if path == STANDARD_STREAM else path


def refuse_dash(path: Path | None) -> Path | None:
    """Return the file or folder of an option that cannot be standard output.

    Raises:
        InputError: it is `-`.
    """
    from clusterwright.errors import InputError

    if path == STANDARD_STREAM:
        raise InputError(
            "- is standard output, which this option cannot write to",
            help="name a file or folder",
        )
    return path


Blueprint = Annotated[Path, typer.Argument(metavar="BLUEPRINT", help="the blueprint, a YAML file; - is standard input")]
SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="replace one value, e.g. --set workload.tokens=2e12 (repeatable)"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON (versioned, units in the keys) instead of text")]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="folder to write", callback=refuse_dash)]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="file to write; - is standard output",
        callback=standard_output_if_dash,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="replace files even if you changed them; values of a project's configuration are kept"
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="print results only, no progress")]
Quotes = Annotated[
    Path | None,
    typer.Option("--quotes", metavar="FILE", help="bill of materials with a vendor's prices, CSV or XLSX"),
]
Rates = Annotated[
    list[str] | None,
    typer.Option("--rate", metavar="EUR=1.08@DAY", help="USD for one EUR on a day (repeatable)"),
]
Pdf = Annotated[
    bool, typer.Option("--pdf", help="print drawings and report as PDF files too, if Chromium is installed")
]
Runs = Annotated[
    Path, typer.Argument(metavar="RUNS.csv", help="measured runs; clusterwright docs accuracy lists the columns")
]


def refuse_with(name: str, others: Mapping[str, bool]) -> None:
    """Refuse options that an option has no form for.

    Raises:
        InputError: one of them is given.
    """
    from clusterwright.errors import InputError

    for other, given in others.items():
        if given:
            raise InputError(f"{name} has no form with {other}", help="leave out one of the two")
