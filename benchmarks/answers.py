"""What the program answers: `python benchmarks/answers.py [BLUEPRINT …] [-o FOLDER | --against COMMIT | --record]`.

An answer is a set of documents: the plan, the comparison, the explanation of every number, and every file of `build`.
Without an option the digests of `tests/records/records.csv` are printed for the blueprints beside it. `-o` writes the
documents of this working tree to a folder, `--against` writes those of a commit beside them and shows the differences,
`--record` writes the digests to the file that the tests hold the program to.

A digest is of what must not move by itself. Files that machines read count whole; of prose and drawings the numbers
count, in their order; of a workbook the values of its cells. Decimals are rounded to `DIGITS` significant ones and what
is left of zero is zero, since processors differ in the last. Versions of program, catalogue and nodes' software are
left out.

Against a commit whose plans are of schema 1, plans are compared by what both schemas have, at the places of schema 1
(`tests/records/moved.csv`).
"""

import argparse
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusterwright.cli.planning import planned
from clusterwright.explain.explanation import explanations
from clusterwright.finance.finances import finances
from clusterwright.interface.documents import ECONOMICS, comparison_document, ranking_document
from clusterwright.outputs.deliverables import everything, report_files
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.document import dumps
from clusterwright.plan.text.currency import money_as_asked
from clusterwright.tco.chance.uncertainty import SEED

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "records"
RECORDS = FOLDER / "records.csv"
#: Keys of options and alternatives in plans of schema 1, and where they are in those of schema 2.
MOVED = FOLDER / "moved.csv"
#: What plans of one of the two schemas alone hold: the blueprint's section, or its terms resolved; and what a ranking
#: was counted from.
_ONE_SCHEMA = ("schema", "tco", "finance", "currency", "alternatives", "software")
_OPTIONS = ("charges", "support", "surcharges")
_HARDWARE = ("bill", "gpus_per_node", "goodput", "kept_goodput", "spot_goodput", "booked")
_WAYS = ("candidate", "mix", "goodput")
#: Blueprints of which every file of `build` is recorded, and those of which report and workbook are.
BUILT = ("clouds", "gb200", "growth", "tpu")
REPORTED = ("contracts",)
DIGITS = 9
#: Differences of amounts in dollars that cancel: a sum of millions keeps less of them.
_LEFT_OF_ZERO = 1e-6
_DRAWS = 1_000
_PROSE = (".md", ".html", ".txt", ".svg", ".dot")
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_DECIMAL = re.compile(r"-?\d+\.\d+(?:[eE][+-]?\d+)?|-?\d+[eE][+-]?\d+")
_CELL = re.compile(r"<c r=\"(\w+)\"[^>]*>(?:<f>.*?</f>)?<v>(.*?)</v>")
#: Figures of an option that are recorded as they are, so that a difference has a size, by the record that holds them.
_FIGURES = {
    "cluster": ("nodes", "gpus"),
    "performance": ("calendar_days", "calendar_days_high", "meets_goal"),
    "money": ("run_usd", "npv_usd", "capex_usd"),
}


def documents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the documents of a blueprint's answer with their names."""
    made = planned(path, None)
    plan = made.plan
    yield "plan.json", dumps(plan).encode()
    money = money_as_asked(plan)
    found = finances(plan, made.facts.book, draws=_DRAWS, seed=SEED, everything=True)
    comparison = comparison_document(plan) | {"ranking": ranking_document(plan, found)}
    yield "compare.json", json.dumps(comparison, indent=1, allow_nan=False).encode()
    for option in plan.options:
        known = [asdict(entry) for entry in explanations(plan, option.target, ledger(plan, made.facts.book), money)]
        yield f"explain/{option.target}.json", json.dumps(known, indent=1, allow_nan=False).encode()
    if path.stem in BUILT:
        files = everything(plan, made.facts, money=money)
    elif path.stem in REPORTED:
        files = {f"tco/{name}": file for name, file in report_files(plan, made.facts, money=money).items()}
    else:
        return
    for name in sorted(files):
        yield f"build/{name}", files[name].content


def records(path: Path) -> dict[str, str]:
    """Return the records of a blueprint's answer by document: figures of its options, and digests.

    Files of `build` count together by the folder that they are in.
    """
    result: dict[str, str] = {}
    digests: dict[str, list[str]] = {}
    for name, content in documents(path):
        if name == "plan.json":
            plan = json.loads(content)
            versions = (plan["clusterwright"], plan["catalogue"])
            result |= _figures(plan)
        group = str(Path(name).parent) + "/" if name.startswith("build/") else name
        digests.setdefault(group, []).append(_digest(name, content, versions))
    return result | {group: _sha("\n".join(several)) for group, several in digests.items()}


def schema_1(plan: dict[str, Any]) -> dict[str, Any]:
    """Return what plans of schemas 1 and 2 both hold, with the keys of schema 1; ways and options by their keys."""
    moved: dict[str, dict[str, str]] = {}
    with MOVED.open(newline="") as file:
        for row in csv.DictReader(file):
            moved.setdefault(row["record"], {})[row["schema_2"]] = row["schema_1"]
    if plan["schema"] == 1:
        economics, quotes, options, ways = plan["economics"], plan["quotes"], plan["options"], plan["ranking"]
        others = {entry["key"]: entry["option"] for entry in plan["other_options"] if entry["option"] is not None}
    else:
        economics, quotes = plan["economics"], plan["economics"]["quotes"]
        options = [_flat(option, moved["option"]) for option in plan["options"]]
        others = {
            f"{option['target']}/{option['money']['term']}": _flat(option, moved["option"])
            for option in plan["other_options"]
        }
        ways = [_flat(way, moved["alternative"]) | {"mixed": way["mix"] is not None} for way in plan["alternatives"]]
    common = {name: value for name, value in plan.items() if name not in _ONE_SCHEMA}
    return common | {
        "options": {option["target"]: _common(option) for option in options},
        "other_options": {key: _common(option) for key, option in others.items()},
        "ranking": {way["key"]: _without(way, _WAYS) for way in ways if way["npv_usd"] is not None},
        "economics": {name: economics[name] for name in ECONOMICS if name != "growth_factor"},
        "quotes": quotes,
    }


def _common(option: dict[str, Any]) -> dict[str, Any]:
    rows = [_without(row, _HARDWARE) for row in option["considered"]]
    return _without(option, _OPTIONS) | {"considered": rows}


def _without(record: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _flat(record: dict[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """Return a record with its values at other places: dotted paths, by those where they are."""
    flat: dict[str, Any] = {}
    for path, value in _leaves(record, "", places):
        *parents, name = places.get(path, path.rpartition(".")[2]).split(".")
        place = flat
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
    return flat


def _leaves(record: Mapping[str, Any], above: str, places: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        path = above + name
        if any(place.startswith(f"{path}.") for place in places):
            yield from _leaves(value, f"{path}.", places)
        else:
            yield path, dict(value) if isinstance(value, dict) else value


def _figures(plan: Mapping[str, object]) -> dict[str, str]:
    options = plan["options"]
    assert isinstance(options, list)  # noqa: S101 - the form of plan.json
    result = {"recommended": str(plan["recommended_key"]), "horizon": str(plan["recommended_horizon_key"])}
    for option in options:
        shown = {name: option[record][name] for record, names in _FIGURES.items() for name in names}
        result[f"option {option['target']}"] = " ".join(f"{name}={_short(value)}" for name, value in shown.items())
    return result


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _digest(name: str, content: bytes, versions: tuple[str, str]) -> str:
    if name.endswith(".xlsx"):
        return _sha("\n".join(_cells(content)))
    written = content.decode()
    for version in versions:
        written = written.replace(version, "")
    if name.endswith(".json"):
        document = json.loads(written)
        if Path(name).name == "plan.json":
            # Releases of software are versions too: they move with the catalogue, and have tests of their own.
            document.pop("software", None)
        # The order of an object's keys says nothing.
        written = json.dumps(document, sort_keys=True)
    if name.endswith(_PROSE):
        numbers = (
            found if len(found) <= DIGITS else _DECIMAL.sub(_rounded, found) for found in _NUMBER.findall(written)
        )
        return _sha(" ".join(numbers))
    return _sha(_DECIMAL.sub(_rounded, written))


def _cells(content: bytes) -> Iterator[str]:
    """Yield the cells of a workbook that hold numbers or are computed, sheet by sheet."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        for name in sorted(entry for entry in book.namelist() if entry.startswith("xl/worksheets/sheet")):
            for cell, value in _CELL.findall(book.read(name).decode()):
                yield f"{name} {cell} {_DECIMAL.sub(_rounded, value)}"


def _rounded(found: re.Match[str]) -> str:
    """Return a decimal without what processors differ in: of its digits the last, and what a sum leaves of zero."""
    value = float(found[0])
    # Twice, since the last digits decide which way a tie of the digits before them goes.
    return f"{float(f'{value:.12g}'):.{DIGITS}g}" if abs(value) >= _LEFT_OF_ZERO else "0"


def _sha(written: str) -> str:
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def blueprints() -> list[Path]:
    """Return the blueprints whose answers are recorded."""
    return sorted(FOLDER.glob("*.yaml"))


def read() -> dict[str, dict[str, str]]:
    """Return the recorded answers by blueprint and document."""
    known: dict[str, dict[str, str]] = {}
    with RECORDS.open(newline="") as file:
        for row in csv.DictReader(file):
            known.setdefault(row["blueprint"], {})[row["document"]] = row["record"]
    return known


def _write(paths: list[Path], folder: Path) -> None:
    """Write the documents of answers to a folder."""
    for path in paths:
        for name, content in documents(path):
            file = folder / path.stem / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _against(commit: str, paths: list[Path]) -> int:
    """Show the differences between the documents of a commit and those of the working tree."""
    with tempfile.TemporaryDirectory() as place:
        tree, before, after = (Path(place) / name for name in ("tree", "before", "after"))
        subprocess.run(["git", "worktree", "add", "-q", "--detach", tree, commit], cwd=ROOT, check=True)
        try:
            for root, folder in ((tree, before), (ROOT, after)):
                # Each program writes its own answers: what they are made with differs too.
                command = [sys.executable, root / "benchmarks" / "answers.py", *paths, "-o", folder]
                environment = os.environ | {"PYTHONPATH": str(root)}
                subprocess.run(command, cwd=root, env=environment, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
        for plan in Path(place).glob("*/*/**/plan.json"):
            # In one form and order: keys that moved are no difference.
            plan.write_text(json.dumps(schema_1(json.loads(plan.read_bytes())), indent=1, sort_keys=True))
        return subprocess.run(["diff", "-r", "-u", "before", "after"], cwd=place, check=False).returncode


def main() -> int:
    """Write, compare, record or print the answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("blueprint", nargs="*", type=Path)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("-o", dest="folder", type=Path)
    action.add_argument("--against", metavar="COMMIT")
    action.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    paths = [path.resolve() for path in asked.blueprint] or blueprints()
    if asked.folder:
        _write(paths, asked.folder)
        return 0
    if asked.against:
        return _against(asked.against, paths)
    kept = {} if not asked.record or not RECORDS.exists() else read()
    kept |= {path.stem: records(path) for path in paths}
    with RECORDS.open("w", newline="") if asked.record else sys.stdout as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("blueprint", "document", "record"))
        rows.writerows((name, *entry) for name, several in sorted(kept.items()) for entry in several.items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
