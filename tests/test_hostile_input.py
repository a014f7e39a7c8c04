"""Hostile input: whatever a file holds ends in a result or in a short message with its place, never as a bug."""

import importlib.util
import math
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from clusterwright.blueprint.reading.document import parse
from clusterwright.blueprint.reading.parts_file import read_parts
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import ClusterwrightError, InputError, shortened
from clusterwright.evidence.cost_cases.reading import read_case
from clusterwright.evidence.training.calibrate import read as read_runs
from clusterwright.feeds.quotes import read_quotes
from clusterwright.feeds.vendor_quotes import read_vendor_quotes

ROOT = Path(__file__).parents[1]
#: Python's csv module reads no larger cell.
LARGE = "9" * 131_073
DIGITS = "9" * 5000


@pytest.fixture(scope="module")
def fuzz() -> Iterator[ModuleType]:
    """The benchmark's module, loaded as it is when it is run: with the modules beside it."""
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "benchmarks" / "fuzz.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def surroundings(fuzz: ModuleType) -> Iterator[Path]:
    """A folder whose content must stay as it is."""
    with fuzz.surroundings() as root:
        yield root


@pytest.mark.parametrize(
    ("kind", "cases"),
    [
        ("blueprint", 120),
        ("parts", 40),
        ("quote", 40),
        ("workbook", 10),
        ("price list", 40),
        ("training runs", 40),
        ("service", 40),
        ("serving runs", 25),
        ("fine-tuning runs", 25),
        ("trace", 30),
        ("cost case", 30),
        ("bill", 5),
        ("model", 40),
        ("plan", 4),
        ("feed file", 20),
        ("answer", 40),
        ("manifest", 40),
    ],
)
def test_no_input_is_a_bug(fuzz: ModuleType, surroundings: Path, kind: str, cases: int) -> None:
    """A share of the fuzz program's cases: none fails."""
    ended = {number: fuzz.run_case(kind, number, surroundings) for number in range(1, cases + 1)}
    assert not {number: how for number, how in ended.items() if how.startswith("FAILED")}


def runs_with(column: str, value: str) -> str:
    """Return a file of one run with a cell replaced."""
    header, first = (ROOT / "tests" / "published" / "training_runs.csv").read_text(encoding="utf-8").splitlines()[:2]
    cells = first.split(",")
    cells[header.split(",").index(column)] = value
    return f"{header}\n{','.join(cells)}\n"


@pytest.mark.parametrize("place", ["header", "cell"])
def test_a_cell_larger_than_any_is_bad_input(tmp_path: Path, place: str) -> None:
    """Every CSV file that is read: the message names the file and the line, and says what to do."""
    header, row = ("sku," + LARGE, "a,b") if place == "header" else ("part,sku", f"a,{LARGE}")
    line = 1 if place == "header" else 2
    path = tmp_path / "large.csv"
    path.write_text(f"{header}\n{row}\n", encoding="utf-8")
    readers = (
        lambda: read_parts(path, load_catalogue()),
        lambda: read_vendor_quotes(path, {}),
        lambda: read_runs(path, load_catalogue()),
    )
    for read in readers:
        with pytest.raises(InputError, match=rf"large\.csv:{line}: .*field larger than field limit") as caught:
            read()
        assert caught.value.help
    if place == "cell":
        columns = "sku,term,charge,unit,amount,effective_from"
        path.write_text(f"{columns}\n{LARGE},on_demand,hourly,node,1,2026-10-01\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"large\.csv:{line}: field larger"):
        read_quotes(path)


@pytest.mark.parametrize("column", ["n_gpus", "layers", "tokens_per_s_per_gpu", "gpu", "precision"])
@pytest.mark.parametrize("value", [DIGITS, "9" * 300, "1e300", "0x" + "f" * 5000])
def test_overlong_numbers_of_runs_are_refused_in_short(tmp_path: Path, column: str, value: str) -> None:
    """A number of 5,000 digits, or one that overflows, is no run; what is said of it fits on a few lines."""
    path = tmp_path / "runs.csv"
    path.write_text(runs_with(column, value), encoding="utf-8")
    runs, skipped = read_runs(path, load_catalogue())
    assert not runs
    assert len(skipped) == 1
    assert len(skipped[0].reason) < 500
    assert skipped[0].wrong == (column not in ("gpu", "precision"))


@pytest.mark.parametrize("value", [DIGITS, "0x" + "f" * 5000, "-" + DIGITS, "1_" + DIGITS, '"' + "x" * 20_000 + '"'])
@pytest.mark.parametrize("key", ["gpus", "horizon_months", "case"])
def test_overlong_values_are_shown_in_short(tmp_path: Path, value: str, key: str) -> None:
    """A value that Python converts to no text is refused where it stands; message and excerpt stay short."""
    path = tmp_path / "case.yaml"
    values = {"gpus": "8", "horizon_months": "36", "case": "a"} | {key: value}
    path.write_text(
        f"case: {values['case']}\nsource: b\ndate: 2026\nhorizon_months: {values['horizon_months']}\noptions:\n"
        f"  x: {{gpus: {values['gpus']}, rent: {{usd_per_hour: 5}}}}\nexpected: {{x.total_usd: 1}}\n"
    )
    with pytest.raises(BlueprintError) as caught:
        read_case(path)
    shown = caught.value.render()
    assert f"{path}:" in shown
    assert len(shown) < 4000 + 4 * len(str(path))


def test_the_excerpt_shows_the_place() -> None:
    """Of a long line the part around the place that is meant is shown, with the caret below it."""
    text = "{" + ", ".join(f"key{number}: 1" for number in range(500)) + ", wrong: !!int x}"
    document = parse(text, name="long.yaml")
    lines = BlueprintError(name="long.yaml", text=text, problems=document.problems).render().splitlines()
    assert max(len(line) for line in lines) < 400
    caret = lines[3].index("^")
    assert lines[2][caret:].startswith("!!int x}")


def test_very_many_problems_are_counted() -> None:
    """A file of another kind has a problem in every line: the first ones are shown, the others counted, in no time."""
    text = "a: 1\n" * 9000
    document = parse(text, name="many.yaml")
    started = time.process_time()
    shown = BlueprintError(name="many.yaml", text=text, problems=document.problems).render()
    assert shown.count("error:") == 50
    assert shown.endswith("and 8,949 more problems")
    assert time.process_time() - started < 2


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_at_once(opening: str) -> None:
    """Reading stops at the deepest level that is read: the time of more would grow with its square."""
    started = time.process_time()
    with pytest.raises(InputError, match="nested too deeply"):
        parse("a: " * (opening in "[{a: ") + opening * 20_000, name="deep.yaml")
    assert time.process_time() - started < 2


def test_comments_that_the_parser_cannot_hold_are_bad_input() -> None:
    """The YAML parser gives up where two comments belong to one place; that is no bug of ours."""
    with pytest.raises(InputError, match=r"x\.yaml is not valid YAML: overlap in comment"):
        parse("targets:   # one each\n  |2\n\neconomics:", name="x.yaml")


def test_messages_of_all_errors_are_short() -> None:
    """Words and lines beyond reading are cut in their middle; both ends stay."""
    assert len(ClusterwrightError("a " + DIGITS + " b").message) < 200
    assert shortened("a " + "1" * 70 + DIGITS + " b").startswith("a 111")
    assert len(shortened("ab " * 10_000)) < 200
    assert shortened("short, of 2 words") == "short, of 2 words"
    assert shortened("x" * 300) == "x" * 300


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/environ"])
def test_a_cost_case_is_a_regular_file(path: str) -> None:
    """A device is not read, and what is no case is not shown."""
    with pytest.raises(InputError) as caught:
        read_case(Path(path))
    assert "PATH=" not in str(caught.value)


@pytest.mark.parametrize("value", ["1e-320", "1e-300"])
def test_amounts_that_vanish_are_refused(tmp_path: Path, value: str) -> None:
    """Hours and months that divide to infinity are no input."""
    assert math.isinf(1 / float(value)) or value == "1e-300"
    for key in ("hours_per_month", "horizon_months"):
        path = tmp_path / "case.yaml"
        path.write_text(
            f"case: a\nsource: b\ndate: 2026\n{key}: {value}\noptions:\n  x: {{gpus: 8, rent: {{usd_per_hour: 5}}}}\n"
            "expected: {x.total_usd: 1}\n"
        )
        with pytest.raises(BlueprintError) as caught:
            read_case(path)
        assert key in caught.value.render()
