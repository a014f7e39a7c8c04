"""Planted mistakes that the tests must notice: `python benchmarks/mutants.py sample|index|run|records|report`.

Method. Cosmic Ray's operators (`+` to `-`, `<` to `<=`, `and` to `or`, a number plus one, no `break`, and so on) are
applied to the five packages that size, design and price; 500 places are drawn with a seed, one mutant each.

- `sample` draws them and writes `benchmarks/mutants.csv`, a row each (needs Cosmic Ray).
- `index` notes which test runs which line, and how long it takes, each test file in a process of its own.
- `run` takes the rows without an outcome in their order, twice. First all tests are collected once, and each mutant
  gets a process forked from that one: its functions get the changed code, caches are emptied, and the nearest and
  quickest tests that run the changed statement are run until one fails. What none of them noticed, and what is not in
  a function, is run in a process that loads the changed module from the start, against all tests that run it. A mutant
  is killed by a test that fails or by the processor time; it has survived if none of them noticed.
- `records` holds what no test has noticed so far against the recorded answers of five blueprints, as
  `tests/test_records.py` does: it needs no index.
- `report` counts them and lists the survivors with their reasons, which are written into the table by hand.

Not drawn: annotations, arguments of decorators, and the decorators of caches, which change no result.
"""

import argparse
import ast
import csv
import difflib
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TextIO

from forked_process import EXCEPTION, Ended, finished, forked

ROOT = Path(__file__).resolve().parents[1]
SESSION = ROOT / "benchmarks" / "mutants.csv"
INDEX = ROOT / "build" / "mutants"
#: What sizes, designs and prices, and what was one package with it when the mutants were drawn.
PACKAGES = ("sizing", "tco", "facility", "pricing", "plan", "finance", "explain", "sweep", "diff", "actual")
#: The folders of tests that are indexed: those of the packages first.
TESTS = (
    *("facility", "pricing", "tco", "sizing", "plan", "workload", "evidence", "cli", "blueprint", "catalog", "outputs"),
)
SEED, MUTANTS = 20_261_122, 500
#: Of the tests that run a statement, at first the nearest: their number, and their seconds by the index.
NEAREST, NEAREST_S = 40, 15.0
#: Then all, in the same order, as far as these seconds go.
ALL_S = 120.0
MOST_BYTES = 12 * 2**30
#: Exit code of pytest where a test that was asked for is not there.
NO_SUCH_TEST = 4
#: Libraries that are loaded once, before a process is forked for each mutant.
LIBRARIES = ("coverage", "duckdb", "numpy", "openpyxl", "pydantic", "pytest", "ruamel.yaml", "scipy")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One planted mistake.

    Attributes:
        number: in the order of the draw; module: its path; line: of the first changed line; operator: Cosmic Ray's.
        before, after: the changed lines.
        outcome: empty until it has been run, `killed`, `timed out`, `survived`, or `not run` by any test; `passed` by
            the nearest tests while the others are outstanding.
        tests: how many were chosen, which run the line; seconds: of processor time until one failed.
        reason: of a survivor, by hand.
    """

    number: int
    module: str
    line: int
    operator: str
    before: str
    after: str
    outcome: str = ""
    tests: int = 0
    seconds: float = 0.0
    reason: str = ""


_NUMBERS = {"number": int, "line": int, "tests": int, "seconds": float}


@cache
def standard_output() -> TextIO:
    """Return standard output as it was at the start: pytest and forked processes have another."""
    return os.fdopen(os.dup(1), "w")


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, file=standard_output(), flush=True)


def read_session() -> list[Mutant]:
    """Read the table of mutants."""
    with SESSION.open(encoding="utf-8", newline="") as file:
        return [
            Mutant(**row | {name: kind(row[name]) for name, kind in _NUMBERS.items()}) for row in csv.DictReader(file)
        ]


def write_session(mutants: Sequence[Mutant]) -> None:
    """Write the table of mutants, whole."""
    partial = SESSION.with_suffix(".partial")
    with partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [one.name for one in fields(Mutant)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in mutants)
    partial.replace(SESSION)


# --- drawing ----------------------------------------------------------------------------------------------------------


def untouched(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return start and end of what is not mutated, as (line, column)."""
    spans: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation:
            spans.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            spans += node.decorator_list
            if not isinstance(node, ast.ClassDef) and node.returns:
                spans.append(node.returns)
    return [((one.lineno, one.col_offset), (one.end_lineno or one.lineno, one.end_col_offset or 0)) for one in spans]


def positions(source: str) -> Iterator[tuple[tuple[int, int], str, int]]:
    """Yield each possible mutant of a source: place, operator, and the operator's own count."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    tree, left_alone = get_ast(source), untouched(source)
    for name in sorted(plugins.operator_names()):
        operator_class = plugins.get_operator(name)
        if operator_class.arguments() or name in ("core/NoOp", "core/RemoveDecorator"):
            continue
        operator = operator_class()
        places = (place for node in ast_nodes(tree) for place, _ in operator.mutation_positions(node))
        for occurrence, place in enumerate(places):
            if not any(start <= place < end for start, end in left_alone):
                yield place, name, occurrence


def mutated(source: str, operator: str, occurrence: int) -> str:
    """Return a source with a mutation."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    return str(mutate_code(source, plugins.get_operator(operator)(), occurrence))


def draw() -> list[Mutant]:
    """Draw places with the seed, and one mutant of each that Python compiles to something else."""
    chance = random.Random(SEED)
    sources, places = {}, {}
    for package in PACKAGES:
        for path in sorted((ROOT / "clusterwright" / package).rglob("*.py")):
            module = str(path.relative_to(ROOT))
            sources[module] = path.read_text(encoding="utf-8")
            for place, operator, occurrence in positions(sources[module]):
                places.setdefault((module, place), []).append((operator, occurrence))
    drawn: list[Mutant] = []
    for module, place in chance.sample(sorted(places), len(places)):
        operator, occurrence = chance.choice(places[module, place])
        source = sources[module]
        try:
            changed = mutated(source, operator, occurrence)
            if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)):
                continue
        except (SyntaxError, AttributeError):
            # Cosmic Ray's operator for exceptions gives up on dotted names.
            continue
        old, new = source.splitlines(), changed.splitlines()
        codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        edits = [edit for edit in codes if edit[0] != "equal"]
        first, last = edits[0], edits[-1]
        drawn.append(
            Mutant(
                number=len(drawn) + 1,
                module=module,
                line=first[1] + 1,
                operator=operator.removeprefix("core/"),
                before="\n".join(old[first[1] : last[2]]),
                after="\n".join(new[first[3] : last[4]]),
            )
        )
        if len(drawn) == MUTANTS:
            break
    print(f"{len(places):,} places in {len(sources)} modules, {len(drawn)} mutants drawn")
    return drawn


# --- which test runs which line ---------------------------------------------------------------------------------------


def in_a_process(work: Callable[[Path], int], *, processor_s: int) -> Ended:
    """Do work in a forked process with a home of its own, which is then removed; return how it ended."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))

    def bounded() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        # No test sees files of the user; property tests draw the same values each time.
        os.environ |= {"HOME": str(folder), "TMPDIR": str(folder), "XDG_CACHE_HOME": str(folder), "CI": "1"}
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
        tempfile.tempdir = None
        # Of waiting; a busy machine gives a process of low priority little.
        signal.alarm(processor_s * 30)
        with (folder / "errors").open("wb") as errors:
            os.dup2(errors.fileno(), 2)
        return work(folder)

    try:
        ended = finished(forked(bounded))
        if ended.code == EXCEPTION:
            say((folder / "errors").read_text(errors="replace"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ended


def pytest_run(arguments: Sequence[str], folder: Path, *plugins: object) -> int:
    """Run pytest in this process."""
    import pytest

    quiet = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:cov", "--basetemp", str(folder / "pytest"))
    return int(pytest.main([*quiet, *arguments], plugins=plugins))


class Collected:
    """Plugin of pytest that does other work with the collected tests than to run them one after the other."""

    def __init__(self, work: Callable[[Any], None]) -> None:
        self.work = work

    def pytest_runtestloop(self, session: Any) -> bool:
        """Do the work."""
        gc.collect()
        gc.freeze()
        self.work(session)
        return True


def with_collected(folders: Sequence[str], work: Callable[[Any], None]) -> None:
    """Do work in a process that has the tests of some folders collected, and all that they need loaded."""
    paths = [str(ROOT / "tests" / one) for one in folders]
    ended = in_a_process(lambda home: pytest_run(paths, home, Collected(work)), processor_s=24 * 3600)
    # 5: no test ran, in that process itself.
    if ended.code not in (0, 5):
        say(f"pytest ended with {ended.code}")


def quick(session: Any) -> list[Any]:
    """Return the collected tests without those that need an engine of others."""
    return [
        one
        for one in session.items
        if one.get_closest_marker("engine") is None and "require_engine" not in one.fixturenames
    ]


def run_items(session: Any, items: Sequence[Any]) -> int:
    """Run tests until one fails; return 1 if one did."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


class Contexts:
    """Plugin of pytest that measures the lines of each test, and its processor time."""

    def __init__(self) -> None:
        import coverage

        include = [str(ROOT / "clusterwright" / one / "*") for one in PACKAGES]
        self.coverage = coverage.Coverage(data_file=None, include=include, config_file=False)
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin a test."""
        self.coverage.switch_context(nodeid)
        self.seconds[nodeid] = -sum(os.times()[:4])

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note whether a test passed without a mutant."""
        if not report.passed:
            self.failed.add(report.nodeid)
            say(f"{report.nodeid} {report.outcome}: {report.longreprtext.strip().rpartition(chr(10))[2]}")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note a test's time."""
        self.seconds[nodeid] += sum(os.times()[:4])

    def write(self, path: Path) -> None:
        """Write tests and lines of one test file."""
        data, tests = self.coverage.get_data(), [one for one in self.seconds if one not in self.failed]
        number = {one: index for index, one in enumerate(tests)}
        lines = {
            str(Path(file).relative_to(ROOT)): {
                line: sorted(number[one] for one in contexts if one in number)
                for line, contexts in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        path.write_text(json.dumps({"tests": [[one, round(self.seconds[one], 3)] for one in tests], "lines": lines}))


def measure(session: Any, items: Sequence[Any], target: Path, _: Path) -> int:
    """Run the tests of a file, and write which of them runs which lines."""
    contexts = Contexts()
    session.config.pluginmanager.register(contexts)
    replace_functions(())
    contexts.coverage.start()
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    contexts.coverage.stop()
    contexts.write(target.with_suffix(".partial"))
    target.with_suffix(".partial").rename(target)
    return min(len(contexts.failed), 90)


def index(folders: Sequence[str]) -> None:
    """Run the test files that are not indexed yet."""
    INDEX.mkdir(parents=True, exist_ok=True)

    def work(session: Any) -> None:
        files: dict[str, list[Any]] = {}
        for item in quick(session):
            files.setdefault(str(item.path.relative_to(ROOT / "tests")), []).append(item)
        for name, items in files.items():
            target = INDEX / (name.replace("/", "--") + ".json")
            if not target.exists():
                ended = in_a_process(partial(measure, session, items, target), processor_s=1200)
                say(f"{name}: {len(items)} tests, {ended.code} left out, {ended.processor_s:.0f} s")

    with_collected(folders, work)


@dataclass(frozen=True, kw_only=True, slots=True)
class TestFile:
    """What the index knows of one test file: its tests with seconds, and which of them run a module's lines."""

    name: str
    tests: tuple[tuple[str, float], ...]
    lines: dict[str, dict[int, frozenset[int]]]


@cache
def indexed() -> tuple[TestFile, ...]:
    """Read the index."""
    files = []
    for path in sorted(INDEX.glob("*.json")):
        content = json.loads(path.read_text())
        lines = {
            module: {int(line): frozenset(tests) for line, tests in found.items()}
            for module, found in content["lines"].items()
        }
        files.append(TestFile(name=path.stem, tests=tuple(map(tuple, content["tests"])), lines=lines))
    return tuple(files)


def statement(source: str, line: int) -> range:
    """Return the lines of the innermost statement that holds a line; of one with a body, its head."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
            lines = range(node.lineno, max(end, node.lineno) + 1)
            if line in lines:
                found = lines
    return found


def tests_of(mutant: Mutant) -> list[tuple[str, float]]:
    """Return the tests that run a mutant's statement with their seconds, the nearest and quickest first.

    A statement of the module itself, run while it is imported, is noticed by whoever uses the module.
    """
    lines = statement((ROOT / mutant.module).read_text(encoding="utf-8"), mutant.line)
    package, stem = mutant.module.split("/")[1], Path(mutant.module).stem
    for used in (lines, None):
        chosen: list[tuple[int, float, str]] = []
        for file in indexed():
            found = file.lines.get(mutant.module, {})
            away = 0 if file.name.endswith(f"test_{stem}.py") else 1 if file.name.startswith(f"{package}--") else 2
            numbers = frozenset[int]().union(*(found.get(one, frozenset()) for one in used or found))
            chosen.extend((away, file.tests[number][1], file.tests[number][0]) for number in numbers)
        if chosen:
            break
    return [(name, seconds) for _, seconds, name in sorted(chosen)]


def within(tests: Sequence[tuple[str, float]], *, most: int, most_s: float) -> tuple[list[str], float]:
    """Return the first tests that keep to a number and to seconds, those of a file together, and their seconds."""
    names: list[str] = []
    seconds = 0.0
    for name, took in tests[:most]:
        if not names or seconds + took <= most_s:
            names.append(name)
            seconds += took
    # What the tests of a file share is set up once.
    files = list(dict.fromkeys(one.partition("::")[0] for one in names))
    return sorted(names, key=lambda one: files.index(one.partition("::")[0])), seconds


# --- running ----------------------------------------------------------------------------------------------------------


def compiled(source: str, path: Path) -> CodeType:
    """Return a source's code; `is` with a literal, which mutants write, is no failure by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return compile(source, str(path), "exec", dont_inherit=True)


class Replaced(importlib.abc.MetaPathFinder):
    """Finder of one module whose source is another than its file's."""

    def __init__(self, module: str, source: str) -> None:
        self.path = ROOT / module
        self.name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.source = source

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Return the module's specification, None for the others."""
        if fullname != self.name:
            return None
        code = compiled(self.source, self.path)

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, _: str) -> CodeType:
                return code

        return importlib.util.spec_from_file_location(fullname, self.path, loader=Loader(fullname, str(self.path)))


def located(mutant: Mutant) -> Mutant | None:
    """Return a mutant at the nearest line where its statement stands today, None where it no longer stands."""
    path = ROOT / mutant.module
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    before = mutant.before.splitlines()
    found = [place + 1 for place in range(len(lines)) if lines[place : place + len(before)] == before]
    return replace(mutant, line=min(found, key=lambda line: abs(line - mutant.line))) if found else None


def planted(mutant: Mutant) -> str:
    """Return the module's source with the mutant."""
    lines = (ROOT / mutant.module).read_text(encoding="utf-8").splitlines()
    start, end = mutant.line - 1, mutant.line - 1 + len(mutant.before.splitlines())
    return "\n".join([*lines[:start], *mutant.after.splitlines(), *lines[end:]]) + "\n"


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code and all codes in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from codes(one)


def changed_functions(mutant: Mutant, source: str) -> list[tuple[CodeType, CodeType]] | None:
    """Return the codes of functions before and after, None where what runs while the module is loaded has changed."""
    path = ROOT / mutant.module
    pair = [list(codes(compiled(text, path))) for text in (path.read_text(encoding="utf-8"), source)]
    if [one.co_qualname for one in pair[0]] != [one.co_qualname for one in pair[1]]:
        return None
    found = []
    for old, new in zip(*pair, strict=True):
        in_function = old.co_flags & inspect.CO_OPTIMIZED
        if in_function:
            if old != new:
                found.append((old, new))
        elif own(old) != own(new):
            return None
    return found


def own(code: CodeType) -> tuple[object, ...]:
    """Return what a code does by itself, without the codes in it."""
    constants = [repr(one) for one in code.co_consts if not isinstance(one, CodeType)]
    return code.co_code, constants, code.co_names, code.co_varnames


def same_place(code: CodeType, other: CodeType) -> bool:
    """Return whether two codes are of the same function and do the same.

    They do not compare equal once one has been run (Python 3.11 compares what its instructions have cached).
    """
    return (
        (code.co_filename, code.co_qualname, code.co_firstlineno)
        == (other.co_filename, other.co_qualname, other.co_firstlineno)
        and code.co_code == other.co_code
        and code.co_freevars == other.co_freevars
    )


#: What was loaded when functions were replaced. The list is never given back: a process with libraries in C has ended
#: by a fault of memory when it was, which looked like a killed mutant.
_LOADED: list[list[Any]] = []


def replace_functions(changed: Sequence[tuple[CodeType, CodeType]]) -> bool:
    """Give the functions that are loaded the changed code, and empty the caches; return whether there was one."""
    found = False
    gc.unfreeze()
    _LOADED.append(gc.get_objects())
    for one in _LOADED[-1]:
        if isinstance(one, functools._lru_cache_wrapper):  # noqa: SLF001 - the only name of its class
            if one.__module__.partition(".")[0] in ("clusterwright", "tests"):
                one.cache_clear()
        elif isinstance(one, FunctionType):
            for old, new in changed:
                if same_place(one.__code__, old):
                    one.__code__ = new
                    found = True
    return found


def outcome_of(ended: Ended) -> str:
    """Return what became of a mutant by how the process with its tests ended."""
    known = {0: "survived", -signal.SIGXCPU: "timed out", -signal.SIGALRM: "timed out", -signal.SIGSEGV: "passed"}
    return known.get(ended.code, "killed")


def limit_s(expected_s: float) -> int:
    """Return the limit of processor time for tests of a recorded duration, in seconds."""
    return int(30 + 4 * expected_s)


def tried_by_nearest(session: Any, items: dict[str, Any], mutant: Mutant) -> Mutant:
    """Return a mutant with its outcome by the nearest tests, with what is loaded already."""
    source, tests = planted(mutant), tests_of(mutant)
    if not tests:
        return replace(mutant, outcome="not run")
    changed = changed_functions(mutant, source)
    names, expected_s = within([one for one in tests if one[0] in items], most=NEAREST, most_s=NEAREST_S)
    if not changed or not names:
        return replace(mutant, outcome="passed")

    def work(_: Path) -> int:
        return run_items(session, [items[one] for one in names]) if replace_functions(changed) else 0

    ended = in_a_process(work, processor_s=limit_s(expected_s))
    outcome = outcome_of(ended)
    return replace(
        mutant,
        outcome="passed" if outcome == "survived" else outcome,
        tests=len(names),
        seconds=round(ended.processor_s, 1),
    )


def tried(mutant: Mutant) -> Mutant:
    """Return a mutant with its outcome by all tests that run it, its module loaded from the changed source."""
    source, tests = planted(mutant), tests_of(mutant)

    def work(arguments: Sequence[str], home: Path) -> int:
        sys.meta_path.insert(0, Replaced(mutant.module, source))
        return pytest_run(arguments, home)

    # The nearest alone at first: to collect many files takes longer than to run a few tests.
    for most, most_s in ((NEAREST // 4, NEAREST_S), (len(tests), ALL_S)):
        names, expected_s = within(tests, most=most, most_s=most_s)
        ended = in_a_process(partial(work, names), processor_s=limit_s(expected_s))
        if ended.code == NO_SUCH_TEST:
            # Names of tests that are made from data can change with the mutant: that alone is no failure.
            files = dict.fromkeys(one.partition("::")[0] for one in names)
            ended = in_a_process(partial(work, list(files)), processor_s=300)
        outcome = outcome_of(ended)
        if outcome != "survived":
            break
    return replace(mutant, outcome=outcome, tests=len(names), seconds=round(ended.processor_s, 1))


def load_libraries() -> None:
    """Load what every test process needs and no mutant changes."""
    for name in LIBRARIES:
        importlib.import_module(name)


def keep(result: Mutant) -> None:
    """Write an outcome into the table; reasons may have been written there meanwhile."""
    rows = read_session()
    write_session([replace(result, reason=row.reason) if row.number == result.number else row for row in rows])
    say(f"{result.number} {result.module}:{result.line} {result.outcome} {result.seconds} s")


def run(wanted: Callable[[Mutant], bool], most: int, *, nearest_only: bool) -> None:
    """Run the mutants that are wanted, in their order, and keep each outcome at once."""
    rows = read_session()
    today = {row.number: found for row in rows if (found := located(row))}
    write_session([today.get(row.number, row if row.outcome else replace(row, outcome="stale")) for row in rows])
    chosen = [one for one in today.values() if wanted(one)][:most]

    def nearest(session: Any) -> None:
        items = {one.nodeid: one for one in quick(session)}
        for one in chosen:
            if one.outcome != "passed":
                keep(tried_by_nearest(session, items, one))

    with_collected([one for one in TESTS if any(file.name.startswith(f"{one}--") for file in indexed())], nearest)
    numbers = set() if nearest_only else {one.number for one in chosen}
    for one in read_session():
        if one.number in numbers and one.outcome == "passed":
            keep(tried(one))


def by_records(wanted: Callable[[Mutant], bool], most: int) -> None:
    """Hold mutants that no test has noticed against the recorded answers, and keep what these notice.

    `tests/test_records.py` compares the same answers, one blueprint a test. Those that differ most come first.
    """
    ahead = ("contracts", "gb200", "experts", "spot", "growth")

    def work(mutant: Mutant, _: Path) -> int:
        sys.meta_path.insert(0, Replaced(mutant.module, planted(mutant)))
        import answers

        known = answers.read()
        for name in ahead:
            if answers.records(answers.FOLDER / f"{name}.yaml") != known[name]:
                return 1
        return 0

    open_ones = [one for row in read_session() if wanted(row) and (one := located(row)) is not None]
    for one in open_ones[:most]:
        ended = in_a_process(partial(work, one), processor_s=240)
        outcome = outcome_of(ended)
        found = "passed" if outcome == "survived" else outcome
        keep(replace(one, outcome=found, tests=len(ahead), seconds=round(ended.processor_s, 1)))


def report() -> None:
    """Print how many were noticed, by package, and the survivors with their reasons."""
    rows = [one for one in read_session() if one.outcome]
    noticed = ("killed", "timed out")
    for package in PACKAGES:
        ways = Counter(one.outcome for one in rows if one.module.split("/")[1] == package)
        killed = sum(ways[one] for one in noticed)
        others = " | ".join(str(ways[one]) for one in ("survived", "passed", "not run", "stale"))
        print(f"| {package} | {ways.total()} | {killed} | {others} |")
    killed = sum(one.outcome in noticed for one in rows)
    print(f"{killed} of {len(rows)} killed ({killed / max(len(rows), 1):.1%}) of those with an outcome\n")
    for one in rows:
        if one.outcome not in noticed:
            changes = zip(one.before.splitlines(), one.after.splitlines(), strict=False)
            before, after = next(((a, b) for a, b in changes if a != b), (one.before, one.after))
            place = f"{one.module.removeprefix('clusterwright/')}:{one.line}"
            print(f"{one.number} {place} {one.outcome}\n  - {before.strip()}\n  + {after.strip()}\n  {one.reason}")


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("sample", "index", "run", "records", "report"))
    parser.add_argument("--most", type=int, default=MUTANTS, help="run as many")
    parser.add_argument("--again", help="run these again: numbers, or an outcome")
    parser.add_argument("--package", choices=PACKAGES, help="run those of one package only")
    parser.add_argument("--nearest", action="store_true", help="run the nearest tests only, the others another time")
    given = parser.parse_args()
    os.chdir(ROOT)
    standard_output()
    match given.what:
        case "sample":
            write_session(draw())
        case "index":
            load_libraries()
            index(TESTS if given.package is None else (given.package,))
        case "run":
            load_libraries()
            again = frozenset((given.again or "").split(","))
            run(
                lambda one: (
                    (str(one.number) in again or one.outcome in again or one.outcome == "passed")
                    and given.package in (None, one.module.split("/")[1])
                ),
                given.most,
                nearest_only=given.nearest,
            )
        case "records":
            load_libraries()
            by_records(
                lambda one: one.outcome in ("", "passed") and given.package in (None, one.module.split("/")[1]),
                given.most,
            )
        case "report":
            report()


if __name__ == "__main__":
    main()
