"""The commands as people and programs use them: what is printed, in which form, and with which exit code."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from clusterwright import __version__, assets
from clusterwright.cli.main import app
from clusterwright.cli.render.help_text import EXAMPLES
from clusterwright.outputs.folder import MANIFEST
from clusterwright.plan.document import loads

from .conftest import Command

COMMANDS = (
    "init",
    "check",
    "plan",
    "sweep",
    "build",
    "stack",
    "onprem",
    "preflight",
    "export",
    "prove",
    "compare",
    "diff",
    "actual",
    "report",
    "explain",
    "fabric",
    "facts",
    "fit",
    "prices",
    "schema",
    "validate",
    "web",
    "mcp",
    "docs",
    "probe",
    "calibrate",
    "software",
)


def started(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from clusterwright.cli.main import run; run()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_help_and_version(command: Command) -> None:
    """Every promised command has help with its own options, and nothing else is offered."""
    single = {entry.name or entry.callback.__name__ for entry in app.registered_commands if entry.callback}
    assert single | {entry.name for entry in app.registered_groups} == set(COMMANDS)
    assert command("--version").out == f"clusterwright {__version__}\n"
    overview = command("--help")
    assert overview.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in overview.out
        ended = command(name, "--help")
        assert ended.code == 0
        assert f"Usage: clusterwright {name}" in ended.out
        assert "..." not in ended.out.partition("\n\n")[2].partition("\n")[0]
    assert "...\n" not in overview.out.partition("Decide:")[2]


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - of typer
    for name, entry in group.commands.items():
        yield from _commands(entry, (*path, name)) if hasattr(entry, "commands") else [(*path, name)]


def test_help_shows_what_to_write(command: Command) -> None:
    """No Python type shows in any help; every command has an example, which the command line understands."""
    paths = list(_commands(get_command(app)))
    assert set(EXAMPLES) == {" ".join(path) for path in paths}
    for path in paths:
        shown = command(*path, "--help").out
        assert not re.search(r"[<>{}]|\[\[", shown), shown
        example = EXAMPLES[" ".join(path)]
        assert shown.endswith(f"Example:\n  clusterwright {example}\n")
        group: Any = get_command(app)
        words, parent = shlex.split(example), None
        while hasattr(group, "commands"):
            parent = group.make_context("clusterwright", words, parent=parent)
            _, group, words = group.resolve_command(parent, [*parent._protected_args, *parent.args])
        group.make_context(path[-1], words, parent=parent)


def test_unknown_command_and_option(command: Command) -> None:
    """Usage errors end with 2 and suggest what is close."""
    assert command("plann").code == 2
    assert "'plan'" in command("plann").err
    assert command("plan", "x.yaml", "--jsn").code == 2


def test_init_writes_a_blueprint_that_plans(command: Command, tmp_path: Path) -> None:
    """The commented blueprint starts with the schema line, is fine as it stands, and is never overwritten."""
    path = tmp_path / "mine.yaml"
    ended = command("init", "train", "-o", path)
    assert ended.code == 0
    assert path.read_text().startswith("# yaml-language-server: $schema=./blueprint.schema.json\n")
    assert path.read_text() == command("init").out
    assert command("check", path).out == f"{path}: fine\n"
    again = command("init", "-o", path)
    assert again.code == 2
    assert "exists" in again.err
    assert command("init", "finetune").out.startswith("# yaml-language-server: $schema=")
    assert "no kind 'trian'" in command("init", "trian").err
    assert "cannot be written" in command("init", "-o", tmp_path / "none" / "x.yaml").err


def test_a_dash_is_standard_output(
    command: Command, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that write a text file print it for `-o -`, those that write a folder refuse, and no file is made."""
    monkeypatch.chdir(tmp_path)
    assert command("init", "-o", "-") == command("init")
    bill = ("export", small, "--to", "focus")
    assert command(*bill, "-o", "-").out == command(*bill).out
    cluster = ("export", small, "--to", "parallelcluster", "--on", "aws")
    assert command(*cluster, "--output=-").out.startswith(command(*cluster).out[:200])
    runs = tmp_path / "runs.csv"
    runs.write_text("")
    for refused in (
        ("build", small, "-o", "-"),
        ("stack", small, "--on", "aws", "-o", "-"),
        ("report", small, "-o", "-"),
        ("onprem", small, "-o", "-"),
        ("calibrate", runs, "-o", "-"),
        ("validate", "training", runs, "--predictions", "-"),
        ("validate", "serving", runs, "--predictions", "-"),
        ("validate", "finetune", runs, "--predictions", "-"),
    ):
        ended = command(*refused)
        assert ended.code == 2, refused
        assert "- is standard output, which this option cannot write to" in ended.err
    assert {path.name for path in tmp_path.iterdir()} == {small.name, runs.name}


def test_the_schema_of_a_new_blueprint_goes_where_it_goes(command: Command, tmp_path: Path) -> None:
    """Line and file name no place of this machine; a schema that stands there is left alone, and told if it is old."""
    path, schema = tmp_path / "a" / "mine.yaml", tmp_path / "a" / "blueprint.schema.json"
    path.parent.mkdir()
    ended = command("init", "train", "-o", path)
    assert f"wrote {schema}" in ended.err
    assert json.loads(schema.read_text()) == json.loads(command("schema").out)
    named = path.read_text().splitlines()[0].partition("$schema=")[2]
    moved = path.parent.rename(tmp_path / "elsewhere")
    assert json.loads((moved / named).read_text())["title"]
    assert str(tmp_path) not in (moved / "mine.yaml").read_text()
    second = command("init", "serve", "-o", moved / "second.yaml")
    assert (second.code, "another" in second.err) == (0, False)
    (moved / named).write_text("{}")
    third = command("init", "finetune", "-o", moved / "third.yaml")
    assert (third.code, "is another one: clusterwright schema" in third.err) == (0, True)
    assert (moved / named).read_text() == "{}"


def test_check_looks_at_every_file(command: Command, small: Path, tmp_path: Path) -> None:
    """A bad file does not hide the others; the worst exit code is returned, and JSON carries the places."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(small.read_text().replace("llama-2-7b", "nope").replace("tokens", "tokenz"))
    ended = command("check", bad, small, tmp_path / "none.yaml")
    assert ended.code == 2
    assert ended.out == f"{bad}: 3 problems\n{small}: fine\n{tmp_path / 'none.yaml'}: 1 problem\n"
    told = json.loads(command("check", bad, small, "--json").out)
    assert [entry["ok"] for entry in told["blueprints"]] == [False, True]
    assert {(entry["line"], entry["path"]) for entry in told["blueprints"][0]["problems"]} == {
        (5, "workload.tokenz"),
        (2, "workload.tokens"),
        (4, "workload.model"),
    }
    late = command("check", small, "--set", "goals.finish_within=1 hour", "--json")
    assert late.code == 1
    assert {entry["id"] for entry in json.loads(late.out)["blueprints"][0]["problems"]} == {"GOAL001"}


def test_plan_prints_the_answer_first(command: Command, shipped: Path) -> None:
    """The run, the horizon, the comparison, what to check and the next command, in this order, on one screen."""
    ended = command("plan", shipped)
    assert ended.code == 0
    assert ended.err.startswith("warning[TCO002]: ")
    assert len(ended.err.splitlines()) == 1
    order = ("One run", "36 months", "Beware", "Ranked", "Check", "Next")
    places = [ended.out.index(f"  {title}") for title in order]
    assert places == sorted(places)
    assert len(ended.out.splitlines()) <= 24
    hardware = {"AWS": "p5.48xlarge", "Azure": "Standard_ND96isr_H100_v5", "Google Cloud": "a3-highgpu-8g"}
    for name, instance in hardware.items():
        assert re.search(rf"^  {name}, on demand +{instance} ", ended.out, re.MULTILINE), name
    assert f"clusterwright build {shipped}" in ended.out
    beware = ended.out.partition("  Beware")[2].partition("\n\n")[0]
    assert re.search(
        r"cheaper offers, from \$[\d,.]+ \(.*\), not ranked: GPUs alone, .* \(\d of \d\)", beware, re.DOTALL
    )
    assert "\x1b[" not in ended.out


def test_details_are_sorted_by_dollars(command: Command, shipped: Path) -> None:
    """`--details` shows layout, memory and every assumed price, the most dollars of the horizon first."""
    ended = command("plan", shipped, "--details")
    for title in ("Answer", "Cheaper on paper", "Breakeven", "Basis", "Layout", "Memory", "Limited by", "Not counted"):
        assert f"  {title}" in ended.out
    assert "help: last seen more than 180 days before" in ended.err
    lines = ended.out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  Assumed price"))
    listed = lines[start + 1 : lines.index("", start)]
    found = [match for line in listed if (match := re.search(r"\$([\d,.]+)( M)?", line))]
    dollars = [float(match[1].replace(",", "")) * (1e6 if match[2] else 1.0) for match in found]
    assert len(dollars) > 30
    assert dollars == sorted(dollars, reverse=True)
    assert "Managed Lustre" in listed[0]
    count = len({line.split("  ")[1] for line in listed if line.strip()})
    assert f"assumed: {count} prices" in command("plan", shipped).out


def test_plan_prose_is_wrapped(command: Command, small: Path) -> None:
    """Prose keeps to a readable width even where the output is no terminal."""
    lines = command("plan", small, "--details").out.splitlines()
    end = next(index for index, line in enumerate(lines) if line.startswith("  Next"))
    assert max(len(line) for line in lines[:end]) <= 120


def test_json_is_the_plan_that_build_writes(command: Command, small: Path, tmp_path: Path) -> None:
    """`plan --json` and `build`'s plan.json are the same bytes, and so are two runs."""
    out = tmp_path / "out"
    built = command("build", small, "-o", out)
    assert built.code == 0
    printed = command("plan", small, "--json").out
    assert (out / "plan.json").read_text() == printed
    assert command("plan", small, "--json").out == printed
    assert loads(printed).name == "small"
    assert str(out) in built.out
    again = command("build", small, "-o", out)
    assert "nothing changed" in again.out


def test_single_commands_write_what_build_writes(command: Command, small: Path, tmp_path: Path) -> None:
    """`stack`, `onprem` and `report` write the same files as `build` does into its folders."""
    out = tmp_path / "out"
    command("build", small, "-o", out)
    for arguments, folder in ((("stack", "--on", "aws"), "aws"), (("onprem",), "onprem"), (("report",), "tco")):
        single = tmp_path / folder
        assert command(arguments[0], small, "-o", single, *arguments[1:]).code == 0
        files = {path.relative_to(single) for path in single.rglob("*") if path.is_file()}
        if folder == "onprem":
            # What `prove` holds the files against; build writes it one folder above.
            assert Path("plan.json") in files
        files -= {Path(MANIFEST), Path("plan.json")}
        assert files == {path.relative_to(out / folder) for path in (out / folder).rglob("*") if path.is_file()}
        if folder == "aws":
            assert all((single / name).read_bytes() == (out / folder / name).read_bytes() for name in files)


def test_compare_as_csv(command: Command, small: Path) -> None:
    """`--csv` has every way of the ranking with the figures of `--json`, and excludes other forms."""
    found = list(csv.DictReader(io.StringIO(command("compare", small, "--csv").out)))
    ranking = json.loads(command("compare", small, "--json").out)["ranking"]
    ways = [*ranking["ranked"], *ranking["not_ranked"]]
    assert [row["key"] for row in found] == [way["key"] for way in ways]
    for row, way in zip(found, ways, strict=True):
        assert (int(row["nodes"]), row["ranked"] == "1") == (way["nodes"], way["ranked"])
        for name in ("run_usd", "npv_usd"):
            assert (row[name] == "") is (way[name] is None)
            assert way[name] is None or float(row[name]) == pytest.approx(way[name], rel=1e-9)
    for other in ("--json", "--markdown", "--finance"):
        assert command("compare", small, "--csv", other).code == 2


def test_compare_says_why_hardware_is_not_chosen(command: Command, small: Path) -> None:
    """`--why` plans a target with both to choose from; what no target has, or it has alone, is refused."""
    chosen = loads(command("plan", small, "--json").out).options[0].cluster.instance
    told = json.loads(command("compare", small, "--why", "g6.xlarge", "--json").out)
    assert (told["number"], told["target"], told["value"]) == ("hardware", "aws", chosen)
    assert [entry["name"] for entry in told["inputs"]] == [chosen, "g6.xlarge"]
    assert "no bandwidth between several g6.xlarge is known" in told["inputs"][1]["source"]
    for name, words in (
        (chosen, "is the hardware of AWS"),
        ("p99.huge", "no instance type is called"),
        ("a3-highgpu-8g", "no target gcp"),
    ):
        ended = command("compare", small, "--why", name)
        assert (ended.code, words in ended.err) == (2, True)
    assert "--why has no form with --csv" in command("compare", small, "--why", "g6.xlarge", "--csv").err


def test_build_of_parts(command: Command, small: Path, tmp_path: Path) -> None:
    """`--only` writes the plan and the folders asked for, as the whole build does, and refuses what is no part."""
    assert command("build", small, "-o", tmp_path / "out").code == 0
    assert command("build", small, "-o", tmp_path / "parts", "--only", "aws, report").code == 0
    assert {path.name for path in (tmp_path / "parts").iterdir()} == {"aws", "tco", "plan.json", MANIFEST}
    for name in ("plan.json", "aws/cluster.sh", "tco/report.html"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    again = command("build", small, "-o", tmp_path / "out", "--only", "onprem")
    assert "nothing changed" in again.out
    for text in ("tpu", "aws,", ","):
        ended = command("build", small, "-o", tmp_path / "none", "--only", text)
        assert (ended.code, "the plan has no part" in ended.err) == (2, True)
    assert not (tmp_path / "none").exists()


def test_what_comes_after_a_build(command: Command, small: Path, tmp_path: Path) -> None:
    """The next commands check what was written: of a cloud, of the documents, or of both."""
    folder = str(tmp_path / "out")
    whole = command("build", small, "-o", folder).out
    assert f"clusterwright preflight {folder}/aws" in whole
    assert f"clusterwright prove {folder}/onprem" in whole
    part = command("build", small, "-o", tmp_path / "part", "--only", "onprem").out
    assert "clusterwright prove" in part
    assert "clusterwright preflight" not in part


def test_stack_of_what_is_no_cloud(command: Command, small: Path, tmp_path: Path) -> None:
    """Only clouds have a project."""
    ended = command("stack", small, "--on", "onprem", "-o", tmp_path / "x")
    assert ended.code == 2
    assert "no cloud 'onprem'" in ended.err


def test_set_replaces_a_value(command: Command, small: Path) -> None:
    """`--set` changes one value and adds missing sections."""
    told = json.loads(command("plan", small, "--json", "--set", "workload.tokens=2e11", "--set", "name=other").out)
    assert told["workload"]["tokens"] == 2e11
    assert told["name"] == "other"
    assert (
        json.loads(command("plan", small, "--json", "--set", "economics.utilisation=50 %").out)["economics"][
            "utilisation"
        ]
        == 0.5
    )


def test_one_target(command: Command, small: Path) -> None:
    """`--on` plans one target alone."""
    told = json.loads(command("plan", small, "--json", "--on", "onprem").out)
    assert [option["target"] for option in told["options"]] == ["onprem"]


def test_markdown_of_a_comparison_ranks_contracts(command: Command, small: Path) -> None:
    """A contract, which is no target of the plan, is in the comment of a pull request; without one nothing is added."""
    assert "| best in |" not in command("compare", small, "--markdown").out
    contract = "tco.contracts=[{target: aws, discount: 60 %}]"
    told = command("compare", small, "--markdown", "--set", contract).out
    assert "| best in |" in told
    assert "| AWS, on demand, contract |" in told


def test_compare(command: Command, small: Path) -> None:
    """Renting and owning stand side by side, as text and as JSON with units in the keys."""
    text = command("compare", small)
    assert text.code == 0
    assert "the same work for all" in text.out
    told = json.loads(command("compare", small, "--json").out)
    assert told["schema"] == 1
    assert {option["target"] for option in told["options"]} == {"aws", "onprem"}
    with_unit = ("usd", "share", "fraction", "days", "nodes", "gpus", "runs")
    texts = {"target", "instance", "basis"}
    assert all(any(unit in key for unit in with_unit) for key in told["options"][0].keys() - texts)
    basis = told["options"][0]["basis"]
    numbers = {key for key, value in basis.items() if isinstance(value, int | float) and not isinstance(value, bool)}
    assert "half_run_usd" in numbers
    assert all(any(unit in key for unit in with_unit) for key in numbers)


def test_explain_is_about_the_plan_that_was_printed(command: Command, small: Path) -> None:
    """What is explained of one target is what `plan` prints with all of them."""
    plan = json.loads(command("plan", small, "--json").out)
    for option in plan["options"]:
        told = json.loads(command("explain", small, "horizon_usd", "--on", option["target"], "--json").out)
        assert told["equation"][-1].endswith(f"{option['money']['horizon_usd']:,.2f} USD")
    listed = command("explain", small).out
    assert "calendar_days " in listed
    assert "aws/p5.48xlarge" in listed
    assert json.loads(command("explain", small, "--json").out)["numbers"]["mfu"]
    assert "did you mean mfu" in command("explain", small, "mfuu").err
    assert command("explain", small, "mfu", "--on", "gcp").code == 2


def test_facts(command: Command) -> None:
    """Facts are listed, shown with their source, disputed ones with the reason."""
    assert "h100-sxm-80gb" in command("facts").out
    shown = command("facts", "h100-sxm-80gb").out
    assert "989.4 TFLOP/s" in shown
    assert "rejected" in command("facts", "h100-sxm-80gb", "--conflicts").out
    told = json.loads(command("facts", "p5.48xlarge", "--json").out)
    assert told["schema"] == 1
    assert told["record"]["gpus"] == 8
    assert json.loads(command("facts", "--json").out)["accelerators"]
    assert command("facts", "nope").code == 2


def test_prices(command: Command) -> None:
    """Without a name a page, with `--all` the list; a product's prices name term, day and source."""
    page = command("prices").out
    assert len(page.splitlines()) <= 30
    assert "h100-sxm-80gb" in page
    assert "aws/dl1.24xlarge" in command("prices", "--all").out
    assert len(json.loads(command("prices", "--json").out)["prices"]) > 500
    short, full = command("prices", "p5.48xlarge"), command("prices", "aws/p5.48xlarge")
    assert short.out == full.out
    assert "on_demand" in full.out
    history = json.loads(command("prices", "aws/p5.48xlarge", "--history", "--json").out)["prices"]
    assert len({row["effective_from"] for row in history if row["term"] == "on_demand"}) > 1
    assert command("prices", "aws/p5.48xlarge", "--as-of", "2015-01-01").code == 3
    assert command("prices", "--as-of", "yesterday").code == 2
    assert "did you mean" in command("prices", "aws/p5.48xl").err


def test_prices_of_an_accelerator(command: Command) -> None:
    """`prices h100` answers: the lowest price of each provider and term, the newest first, with source and day."""
    ended = command("prices", "h100")
    assert ended.code == 0
    rows = json.loads(command("prices", "h100", "--json").out)["rows"]
    lowest: dict[tuple[str, str], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row["usd_per_gpu_hour"]):
        lowest.setdefault((row["provider"], row["term"]), row)
    newest = sorted(lowest.values(), key=lambda row: row["usd_per_gpu_hour"])
    newest.sort(key=lambda row: row["last_seen"], reverse=True)
    lines = ended.out.splitlines()[2:-2]
    assert len(lines) == len(newest) > 15
    for line, row in zip(lines, newest, strict=True):
        assert all(word in line for word in (row["term"], f"{row['usd_per_gpu_hour']:.2f}", row["last_seen"]))
        assert row["source"] in line
    assert command("prices", "h100", "--as-of", "2015-01-01").code == 3


def test_a_mistyped_question_is_not_taken_for_a_product(command: Command) -> None:
    """Two words of which the first is no question end in a suggestion."""
    ended = command("prices", "chepest", "h100")
    assert ended.code == 2
    assert "did you mean cheapest?" in ended.err


def test_schemas(command: Command) -> None:
    """Both schemas are printed as the shipped files have them."""
    root = assets.root()
    assert command("schema").out == (root / "blueprints" / "blueprint.schema.json").read_text()
    assert command("schema", "plan").out == (root / "docs" / "plan.schema.json").read_text()
    assert command("schema", "moon").code == 2


def test_process_with_missing_file() -> None:
    """The real process ends with 2 and keeps stdout free."""
    ended = started("plan", "none.yaml")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: there is no file none.yaml\n  help: ")


def test_process_whose_reader_goes_away(shipped: Path) -> None:
    """A reader that takes the first line only (`| head -1`) is no failure and causes no noise."""
    program = [sys.executable, "-c", "from clusterwright.cli.main import run; run()", "plan", str(shipped), "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "{\n"
        process.stdout.close()
        noise = process.stderr.read()
    assert noise == ""
    assert process.returncode == 0


def test_process_with_completion() -> None:
    """The shell's completion is printed for the shell that asks."""
    script = Path(sys.executable).with_name("clusterwright")
    ended = subprocess.run(
        ["bash", "-c", f"'{script}' --show-completion; exit $?"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0
    assert "_clusterwright_completion" in ended.stdout


def test_the_module_is_the_command() -> None:
    """`python -m clusterwright` is the same program."""
    ran = subprocess.run(
        [sys.executable, "-m", "clusterwright", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"clusterwright {__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("plan", "--help"), ("build", "--help")])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """Help answers at once because the engine is imported by the commands that need it."""
    check = (
        "import sys\nfrom clusterwright.cli.main import run\n"
        "try:\n    run()\nfinally:\n"
        "    heavy = {'duckdb', 'numpy', 'ruamel.yaml', 'jinja2', 'xlsxwriter', 'rich'} & set(sys.modules)\n"
        "    print(sorted(heavy), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", check, *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert ended.stderr.splitlines()[-1] == "[]"


def test_debug_shows_the_traceback() -> None:
    """Only with `--debug` does the user see where in the program something failed."""
    assert "Traceback" in started("plan", "none.yaml", "--debug").stderr
    assert "Traceback" not in started("plan", "none.yaml").stderr


def test_a_missing_price_leaves_a_total_unknown_and_an_asked_price_missing(command: Command, shipped: Path) -> None:
    """A plan answers without a price: it ranks no way that needs it, and names it. Asked for alone: exit 3."""
    unpriced = ("--set", "targets.aws.capacity=spot", "--set", "targets.aws.region=us-west-2")
    ended = command("plan", shipped, *unpriced, "--json")
    plan = loads(ended.out)
    option = plan.option("aws")
    assert option is not None
    assert (ended.code, option.money.run_usd, plan.recommended == "aws") == (0, None, False)
    assert [entry.sku for entry in option.money.missing] == ["aws/p5.48xlarge"]
    ended = command("plan", shipped, *unpriced)
    assert ended.code == 0
    ranked = ended.out.partition("\n  Ranked")[2].partition("\n\n")[0]
    assert "Azure, on demand" in ranked
    assert "AWS" not in ranked
    assert "no documented spot price" in " ".join(ended.out.split())
    whole = command("plan", shipped, *unpriced, "--details").out
    assert "AWS, spot: no price of GPU node p5.48xlarge" in " ".join(whole.split())
    assert command("prices", "aws/p5.48xlarge", "--as-of", "2015-01-01").code == 3


def test_plans_of_schema_1_are_refused(command: Command, tmp_path: Path) -> None:
    """Each command that reads a plan names the file, its schema, and how to make a new plan."""
    plan, export = tmp_path / "plan.json", tmp_path / "export.csv"
    plan.write_text('{"schema": 1, "workload": {"kind": "train"}}')
    for arguments in (("actual", plan, export), ("diff", plan, plan), ("prove", tmp_path)):
        ended = command(*arguments)
        said = " ".join(ended.err.split())
        assert ended.code == 2, arguments
        assert f"{plan} is a plan of schema 1, of an older version of the program" in said, arguments
        assert "clusterwright plan BLUEPRINT --json > plan.json" in said, arguments
