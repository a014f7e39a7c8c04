"""`clusterwright sweep` as a user meets it: table, JSON, files, exit codes."""

import json
import re
from pathlib import Path

import duckdb
import pytest

from .conftest import SMALL, Command

ONE = ("--instances", "p5.48xlarge,dgx-h100", "--jobs", "1")


@pytest.fixture
def blueprint(tmp_path: Path) -> Path:
    """A small job's blueprint."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_the_table_names_every_node_type(command: Command, blueprint: Path) -> None:
    """What meets the goal has lines with place, days and cost; rented and bought stand apart."""
    ended = command("sweep", blueprint, *ONE)
    assert ended.code == 0
    assert "small · Llama 2 7B · within 30 days at 90 % confidence" in ended.out
    lines = [line for line in ended.out.splitlines() if line.startswith(("  p5.48xlarge", "  dgx-h100"))]
    assert any("us-east-1" in line and "$" in line for line in lines)
    assert any("on premises" in line and "$" in line for line in lines)
    assert "to buy" in ended.out
    assert "misses the goal" not in ended.out
    assert "points; prices on demand as of" in ended.out


def test_three_answers_come_first(command: Command, blueprint: Path) -> None:
    """Cheapest to rent, fastest and fewest GPUs among the points of the JSON document that meet the goal."""
    points = json.loads(command("sweep", blueprint, *ONE, "--json").out)["points"]
    good = [point for point in points if point["meets_goal"]]
    cheapest = min((point for point in good if point["region"]), key=lambda point: point["run_usd"])
    fastest = min(good, key=lambda point: point["calendar_days"])
    fewest = min(good, key=lambda point: point["gpus"])
    lines = command("sweep", blueprint, *ONE).out.splitlines()
    for line, title, point in zip(
        lines[2:5], ("Cheapest to rent", "Fastest", "Fewest GPUs"), (cheapest, fastest, fewest), strict=True
    ):
        assert line.strip().startswith(title)
        assert f"{point['nodes']:,} × {point['node_type']} ({point['gpus']:,} GPUs)" in line


def test_what_misses_the_goal_is_named_not_listed(command: Command, blueprint: Path) -> None:
    """A goal that no size meets is said first; `--all` still shows the points."""
    late = ("--set", "goals.finish_within=1 hour")
    ended = command("sweep", blueprint, *ONE, *late)
    assert ended.out.splitlines()[2].strip() == "No size of any node type meets the goal."
    assert "at no size within the goal: p5.48xlarge, dgx-h100" in ended.out
    assert "misses the goal" in command("sweep", blueprint, *ONE, *late, "--all").out


def test_all_shows_every_point(command: Command, blueprint: Path) -> None:
    """`--all` has a line per point of the JSON document; without it, fewer, and the number that is left out."""
    points = json.loads(command("sweep", blueprint, *ONE, "--json").out)["points"]
    every = [line for line in command("sweep", blueprint, *ONE, "--all").out.splitlines() if "TP" in line]
    assert len(every) == len(points) > 3
    assert f"of {len(points)} points" in command("sweep", blueprint, *ONE).out


def test_json_is_the_same_each_time(command: Command, blueprint: Path) -> None:
    """Two runs give the same bytes."""
    first = command("sweep", blueprint, *ONE, "--json")
    assert first.out == command("sweep", blueprint, *ONE, "--json").out
    assert first.err == ""


def test_variations_are_tables_of_their_own(command: Command, blueprint: Path) -> None:
    """Each value has its heading, and its points carry it in the document."""
    vary = ("--vary", "workload.global_batch=256,512")
    out = command("sweep", blueprint, *ONE, *vary).out
    assert "small, workload.global_batch=256 ·" in out
    assert "small, workload.global_batch=512 ·" in out
    points = json.loads(command("sweep", blueprint, *ONE, *vary, "--json").out)["points"]
    assert {point["varied"]["workload.global_batch"] for point in points} == {"256", "512"}


def test_several_blueprints_are_swept(command: Command, blueprint: Path, tmp_path: Path) -> None:
    """Blueprints of different names share one document."""
    other = tmp_path / "other.yaml"
    other.write_text(SMALL.replace("name: small", "name: other"))
    document = json.loads(command("sweep", blueprint, other, *ONE, "--json").out)
    assert [entry["blueprint"] for entry in document["scenarios"]] == ["small", "other"]


def test_what_is_not_sized_is_listed_with_its_reason(command: Command, blueprint: Path) -> None:
    """Node types that are sized alone, and accelerators without a node type, are named below the table."""
    out = command("sweep", blueprint, "--accelerators", "A10G,max-1550-128gb", "--jobs", "1").out
    assert "Not sized" in out
    assert "no bandwidth between several … is known, so one is sized" in " ".join(out.split())
    assert "g5.xlarge, g5.2xlarge, g5.4xlarge" in out
    assert "no instance type or system of the catalogue has it" in out
    assert "max-1550-128gb" in out


def test_nothing_sized_is_exit_code_one(command: Command, blueprint: Path) -> None:
    """If no node type can be sized, the reasons are the result and the exit code says that it failed."""
    ended = command("sweep", blueprint, "--instances", "g5.xlarge", "--jobs", "1")
    assert ended.code == 1
    assert "no node type could be sized" in ended.out
    assert "does not fit on g5.xlarge" in ended.out
    assert "no bandwidth between several g5.xlarge is known" in " ".join(ended.out.split())


def test_parquet_holds_the_points_and_the_reasons(command: Command, blueprint: Path, tmp_path: Path) -> None:
    """The table has a row per point, typed, and one per node type that was not sized; variations are a map."""
    path = tmp_path / "sweep.parquet"
    options = ("--instances", "p5.48xlarge,g5.xlarge", "--jobs", "1", "--vary", "workload.global_batch=512,256")
    document = json.loads(command("sweep", blueprint, *options, "--json", "--parquet", path).out)
    found = duckdb.sql(
        f"""select varied['workload.global_batch'] as batch, count(nodes) as points, count(not_sized_reason) as reasons,
        sum(run_usd) as usd, min(tensor_parallel) as tensor_parallel
        from '{path}' group by all order by batch"""  # noqa: S608 - our own file
    ).fetchall()
    for batch, points, reasons, usd, tensor_parallel in found:
        told = [point for point in document["points"] if point["varied"]["workload.global_batch"] == batch]
        assert (points, reasons) == (len(told), 1)
        assert usd == pytest.approx(sum(point["run_usd"] for point in told))
        assert tensor_parallel == min(point["layout"]["tp"] for point in told)
    assert [row[0] for row in found] == ["256", "512"]


def test_parquet_without_variations(command: Command, blueprint: Path, tmp_path: Path) -> None:
    """An empty map of variations is written as such."""
    path = tmp_path / "sweep.parquet"
    assert command("sweep", blueprint, *ONE, "--parquet", path).code == 0
    assert duckdb.sql(f"select max(cardinality(varied)) from '{path}'").fetchall() == [(0,)]  # noqa: S608
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["small.yaml", "sweep.parquet"]


def test_the_chart_has_a_line_per_accelerator(command: Command, blueprint: Path, tmp_path: Path) -> None:
    """Each accelerator is a labelled line, and the goal is drawn across."""
    path = tmp_path / "sweep.svg"
    options = ("--accelerators", "H100,A100", "--jobs", "1", "--chart", path)
    assert command("sweep", blueprint, *options).code == 0
    svg = path.read_text()
    assert svg.startswith("<svg")
    assert "h100-sxm-80gb" in svg
    assert "a100-sxm-80gb" in svg
    assert "goal: 30 days" in svg


def test_a_chart_of_scenarios_names_what_tells_them_apart(command: Command, blueprint: Path, tmp_path: Path) -> None:
    """Colours are accelerators and patterns scenarios; a name that all lines share is left out."""
    path = tmp_path / "sweep.svg"
    options = ("--instances", "p5.48xlarge,p4d.24xlarge", "--jobs", "1", "--chart", path)
    assert command("sweep", blueprint, *options, "--vary", "workload.global_batch=256,512").code == 0
    drawn = r'<polyline [^>]*?stroke="([^"]+)" stroke-width="[^"]*"(?: stroke-dasharray="([^"]+)")?><title>([^<]+)'
    lines = re.findall(drawn, path.read_text())
    styles = {name: (colour, dash) for colour, dash, name in lines}
    chips, batches = ("a100-sxm-40gb", "h100-sxm-80gb"), ("256", "512")
    assert set(styles) == {f"{chip}, global batch {batch}" for chip in chips for batch in batches}
    for chip in chips:
        assert len({styles[f"{chip}, global batch {batch}"][0] for batch in batches}) == 1
    for batch in batches:
        assert len({styles[f"{chip}, global batch {batch}"][1] for chip in chips}) == 1
    assert len(set(styles.values())) == 4


def test_a_chart_of_too_many_lines_is_refused_before_the_work(
    command: Command, blueprint: Path, tmp_path: Path
) -> None:
    """A chart that nobody could read is refused, with the way out, and nothing is written."""
    many = ",".join(str(number) for number in range(8, 520, 8))
    path = tmp_path / "sweep.svg"
    ended = command("sweep", blueprint, *ONE, "--vary", f"workload.global_batch={many}", "--chart", path)
    assert ended.code == 2
    assert "lines cannot be read" in ended.err
    assert "--accelerators" in ended.err
    assert not path.exists()


def test_a_sweep_beyond_memory_is_refused(command: Command, blueprint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More fronts than memory holds are refused before the work."""
    monkeypatch.setattr("clusterwright.interface.sweeping.MOST_FRONTS", 1)
    ended = command("sweep", blueprint, *ONE)
    assert ended.code == 2
    assert "more than 1 fronts" in ended.err


def test_files_are_not_replaced_without_force(command: Command, blueprint: Path, tmp_path: Path) -> None:
    """An existing file stops the command before the work; `--force` replaces it."""
    path = tmp_path / "sweep.svg"
    path.write_text("mine")
    ended = command("sweep", blueprint, *ONE, "--chart", path)
    assert (ended.code, path.read_text()) == (2, "mine")
    assert "exists" in ended.err
    assert command("sweep", blueprint, *ONE, "--chart", path, "--force").code == 0
    assert path.read_text() != "mine"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--nodes", "9..8"), "empty range"),
        (("--nodes", "lots"), "is not a range"),
        (("--vary", "workload.tokens"), "is not path=v1,v2"),
        (("--vary", "workload.tokns=1,2"), "there is no key 'tokns' here"),
        (("--vary", "workload.precision=bf16,fp9"), "fp9"),
        (("--accelerators", "h1000"), "no accelerator is called 'h1000'"),
        (("--accelerators", "H100,"), "has an empty name"),
        (("--instances", "p5.48xlarge", "--accelerators", "H100"), "both given"),
        (("--set", "workload.model=nobody"), "no model is called 'nobody'"),
        (("--parquet", "/"), "is a folder"),
        (("--chart", "/nowhere/at/all.svg"), "there is no folder"),
        (("--jobs", "0"), "'--jobs'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_ends_in_a_sentence(command: Command, blueprint: Path, options: tuple[str, ...], said: str) -> None:
    """Each mistake is named on stderr, with exit code 2, and nothing on stdout."""
    ended = command("sweep", blueprint, *options)
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""


def test_a_file_that_cannot_be_written_is_told(command: Command, blueprint: Path, tmp_path: Path) -> None:
    """A name that the file system refuses ends in a sentence, not in a bug."""
    for option in ("--parquet", "--chart"):
        ended = command("sweep", blueprint, *ONE, option, tmp_path / ("x" * 300))
        assert ended.code == 2
        assert "cannot be written" in ended.err


def test_a_model_file_can_be_swept(command: Command, blueprint: Path, tmp_path: Path) -> None:
    """A config.json beside the blueprint is sized like a model of the catalogue of the same dimensions."""
    config = {
        "model_type": "llama",
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "intermediate_size": 11008,
        "vocab_size": 32000,
        "max_position_embeddings": 4096,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    other = tmp_path / "file.yaml"
    other.write_text(SMALL.replace("model: llama-2-7b", "model: {config: config.json}"))
    told, read = (json.loads(command("sweep", path, *ONE, "--json").out)["points"] for path in (blueprint, other))
    assert told == read
