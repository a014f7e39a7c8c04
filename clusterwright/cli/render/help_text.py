"""How `--help` reads: names in place of Python types, bounds in words, an example at the end."""

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

#: An example of each command, by its path below `clusterwright`.
EXAMPLES = {
    "init": "init -o mine.yaml",
    "check": "check mine.yaml --set workload.tokens=2e12",
    "plan": "plan mine.yaml --on aws",
    "compare": "compare mine.yaml --finance",
    "sweep": "sweep mine.yaml --accelerators h100,b200 --chart days.svg",
    "explain": "explain mine.yaml memory --on onprem",
    "build": "build mine.yaml -o cluster",
    "stack": "stack mine.yaml --on gcp -o cluster",
    "preflight": "preflight cluster/aws --online",
    "export": "export mine.yaml --to focus -o focus.csv --begin 2027-01-01",
    "actual": "actual mine.yaml june.csv july.parquet --cost billed",
    "onprem": "onprem mine.yaml -o cluster --quotes bill_of_materials.csv --rate EUR=1.08@2026-10-01",
    "prove": "prove cluster --strict",
    "report": "report mine.yaml -o cost --pdf",
    "diff": "diff HEAD~1:mine.yaml mine.yaml --markdown",
    "web": "web --open",
    "mcp": "mcp",
    "docs": "docs contracts",
    "fabric": "fabric --system dgx-h100 --switch qm9700 --units 4 --prove",
    "facts": "facts h100-sxm-80gb --conflicts",
    "fit": "fit llama-3.1-8b --finetune --on l40s",
    "software": "software --slices h100",
    "probe": "probe -o h100.csv --seconds 60",
    "calibrate": "calibrate runs.csv h100.csv -o calibrated",
    "schema": "schema blueprint",
    "validate serving": "validate serving runs.csv --models models.csv",
    "validate finetune": "validate finetune runs.csv --models models.csv",
    "validate training": "validate training runs.csv",
    "validate tco": "validate tco case.yaml --all",
    "prices show": "prices dgx-h100 --history",
    "prices cheapest": "prices cheapest h100 --term spot --as-of 2026-06-01",
    "prices discounts": "prices discounts p5.48xlarge --region us-east-1",
    "prices volatility": "prices volatility h100",
    "prices index": "prices index h100",
    "prices history": "prices history p5.48xlarge --chart",
    "prices months": "prices months h100 --from 2026-01 --to 2026-09",
    "prices services": "prices services storage --provider aws",
    "prices breakeven": "prices breakeven h100 --server dgx-h100 --utilisation 0.6",
    "prices coverage": "prices coverage b200 --csv",
    "prices import": "prices import quotes.csv --source 'offer 4711'",
    "prices fetch": "prices fetch azure --region eastus --region westeurope",
    "prices export": "prices export lake",
    "prices restore": "prices restore lake --store new.duckdb",
    "prices rate": "prices rate EUR 1.08 --day 2026-10-01 --source ECB",
    "prices quarantine": "prices quarantine --gate 09_price_jump",
    "prices release": "prices release 1 2 --reason 'the provider confirmed it'",
}
#: Commands by what they are for, in the order of a project; `--help` lists them so.
GROUPS = {
    "Decide": ("init", "check", "plan", "compare", "sweep", "explain", "diff", "web"),
    "Build": ("build", "stack", "onprem", "report", "export", "preflight", "prove"),
    "Run": ("actual", "probe", "calibrate"),
    "Data": ("prices", "facts", "software"),
    "Advanced": ("fit", "fabric", "validate", "schema", "mcp", "docs"),
}
_TYPE = re.compile(r"<([^>]*)>")
_BOUNDS = re.compile(r"(?:(\d+)<=)?x(?:<=(\d+)|>=(\d+))")


class Command(TyperCommand):
    """A command whose help names what to write, and ends in an example."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own context
        """Return the words of the usage line: what may be left out is in brackets."""
        names = [
            (_named(param) if param.required else f"[{_named(param)}]") + ("..." if param.nargs != 1 else "")
            for param in self.get_params(ctx)
            if param.param_type_name == "argument"
        ]
        return ["[OPTIONS]", *names]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the arguments and the options."""
        for kind in ("argument", "option"):
            params = [param for param in self.get_params(ctx) if param.param_type_name == kind]
            rows = [_row(param, *record) for param in params if (record := param.get_help_record(ctx))]
            if rows:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the example."""
        path = ctx.command_path.partition(" ")[2]
        if path in EXAMPLES:
            with formatter.section("Example"):
                formatter.write(f"  clusterwright {EXAMPLES[path]}\n")


class Application(typer.Typer):
    """Commands that explain themselves as `Command` does."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - typer's own
        """Return the decorator that adds a command."""
        return super().command(name, **({"cls": Command} | settings))


def _named(param: Any) -> str:  # noqa: ANN401 - a parameter of typer
    return str(param.metavar or param.name.upper())


def _row(param: Any, name: str, words: str) -> tuple[str, str]:  # noqa: ANN401
    """Return what is left and right of a parameter's line."""
    words = _BOUNDS.sub(_bounds, words)
    if param.param_type_name == "argument":
        return _named(param), re.sub(r"  \[required\]|; required", "", words)
    return _TYPE.sub(lambda kind: _wanted(kind[1], _named(param)), name), words


def _wanted(kind: str, name: str) -> str:
    """Return what an option takes: one of several words, a number, or what its name says."""
    return kind if "|" in kind else "NUMBER" if re.match(r"(int|float)\b", kind) else name


def _bounds(found: re.Match[str]) -> str:
    low, high, least = (f"{int(number):,}" if number else "" for number in found.groups())
    return f"{low} to {high}" if low else f"at least {least}" if least else f"at most {high}"
