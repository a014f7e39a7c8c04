"""The file of a probe: written whole, never over another; read as something that anybody may have written."""

import csv
import datetime as dt
import io
import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clusterwright.catalog.records import Accelerator, Catalogue
from clusterwright.errors import InputError, shortened
from clusterwright.evidence.probe.records import (
    COLLECTIVE,
    ELEMENT_BYTES,
    KINDS,
    MEMORY,
    NO_PRECISION,
    STEP_MEMORY,
    Case,
    Environment,
    Measurement,
)
from clusterwright.evidence.rows import WrongCellError
from clusterwright.input_files import read_text

COLUMNS = (
    "kind",
    "variant",
    "precision",
    "shape",
    "value",
    "unit",
    "seconds",
    "seconds_p10",
    "seconds_p90",
    "batches",
    "calls",
    "clock_hz",
    "accelerator",
    "device",
    "place",
    "devices",
    "memory_bytes",
    "backend",
    "software",
    "measured_at",
    "method",
)
ACCELERATOR, PROCESSOR = "accelerator", "processor"
#: A probe has 150 rows of 0.5 kB; files of several may be joined.
_MOST_BYTES, _MOST_ROWS = 5_000_000, 5_000
#: No size of a case and no count is larger, and products of six stay finite.
_MOST_SIZE = 1e12
#: No call is faster, and none is waited for longer, in seconds.
_FASTEST_S, _SLOWEST_S = 1e-9, 3600.0
#: The value may differ so from what the seconds give, as a share: cells are rounded.
_ROUNDING = 0.01
#: Driver and error correction take less than this share of the memory; a slice or half a package is farther off.
_OTHER_MEMORY = 0.15
_SIGNIFICANT = ".6g"


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongRow:
    """A row that is left out: its line in the file, and why."""

    line: int
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeFile:
    """The rows of a file that can be believed, and the others."""

    measurements: tuple[Measurement, ...]
    wrong: tuple[WrongRow, ...]


def csv_text(measurements: Iterable[Measurement]) -> str:
    """Return measurements as CSV."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(one) for one in measurements)
    return output.getvalue()


def _row(one: Measurement) -> tuple[str, ...]:
    case, environment, kind = one.case, one.environment, KINDS[one.case.kind]
    return (
        case.kind,
        case.variant,
        case.precision,
        case.shape_text,
        _number(one.value),
        kind.unit,
        *(_number(value) for value in (one.seconds, one.seconds_p10, one.seconds_p90)),
        str(one.batches),
        str(one.calls),
        _number(one.clock_hz),
        environment.accelerator,
        environment.device,
        PROCESSOR if environment.processor else ACCELERATOR,
        str(environment.devices),
        _number(environment.memory_bytes),
        environment.backend,
        environment.software,
        one.measured_at,
        kind.method,
    )


def _number(value: float | None) -> str:
    return "" if value is None else format(value, _SIGNIFICANT)


def check_writable(path: Path, *, force: bool) -> None:
    """Refuse a path that a file cannot be written to, before time goes into measuring.

    Raises:
        InputError: the path exists and is not to be replaced, is a folder, or is in none that can be written to.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder", help="name a file with -o")
    if os.path.lexists(path) and not force:
        raise InputError(f"{path} exists", help="name another file with -o, or replace it with --force")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", help="create it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(f"{path.parent} cannot be written to", help="name a file elsewhere with -o")


def write(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all.

    Args:
        path: of the file.
        text: its content.
        force: whether one that is there may be replaced; else one that came into being meanwhile stays.

    Raises:
        InputError: it exists or cannot be written.
    """
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as stream:
            temporary = stream.name
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        if force:
            Path(temporary).replace(path)
        else:
            os.link(temporary, path)
    except FileExistsError:
        raise InputError(f"{path} exists", help="name another file with -o, or replace it with --force") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        if temporary:
            with suppress(OSError):
                Path(temporary).unlink()


def is_probe(path: Path) -> bool:
    """Tell whether a file begins as a probe's does.

    Raises:
        InputError: it cannot be read.
    """
    text = read_text(path, most_bytes=_MOST_BYTES * 4, what="a table of measurements", advice="give a CSV file")
    first = text.partition("\n")[0]
    names = {name.strip().strip('"') for name in first.split(",")}
    return {"kind", "shape", "place"} <= names


def read(path: Path, catalogue: Catalogue) -> ProbeFile:
    """Return the measurements of a file.

    A row that is mistyped, does not agree with itself or is beyond what its accelerator can do is left out and named.

    Args:
        path: of the file.
        catalogue: whose accelerators bound what can be true.

    Raises:
        InputError: the file cannot be read, lacks columns, or has no row or too many.
    """
    text = read_text(path, most_bytes=_MOST_BYTES, what="a probe's file", advice="give the CSV file of a probe")
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    measurements: list[Measurement] = []
    wrong: list[WrongRow] = []
    try:
        columns: Sequence[str] = reader.fieldnames or ()
        missing = [name for name in COLUMNS if name not in columns]
        if missing:
            raise InputError(
                f"{path.name} lacks the columns {', '.join(missing)}", help="clusterwright docs probe lists them"
            )
        for count, row in enumerate(reader, start=1):
            if count > _MOST_ROWS:
                raise InputError(f"{path.name} has more than {_MOST_ROWS:,} rows", help="give fewer probes at a time")
            try:
                measurements.append(_measurement(row, catalogue))
            except WrongCellError as error:
                wrong.append(WrongRow(line=reader.line_num, reason=shortened(str(error))))
    except csv.Error as error:
        raise InputError(
            f"{path.name}:{reader.line_num}: {error}", help="give the file as the probe wrote it"
        ) from None
    if not measurements and not wrong:
        raise InputError(f"{path.name} holds no measurements", help="run clusterwright probe again")
    return ProbeFile(measurements=tuple(measurements), wrong=tuple(wrong))


def _measurement(row: Mapping[str | None, str | list[str] | None], catalogue: Catalogue) -> Measurement:
    """Return a row as a measurement.

    Raises:
        WrongCellError: a cell is no such value, or the row cannot be true.
    """
    if None in row or None in row.values():
        raise WrongCellError("the row has more or fewer cells than the file has columns")
    cells = {str(name): str(cell).strip() for name, cell in row.items()}
    case, seconds = _case(cells), _positive(cells, "seconds", least=_FASTEST_S, most=_SLOWEST_S)
    value = _value(cells, case, seconds)
    place = _one_of(cells, "place", (ACCELERATOR, PROCESSOR))
    memory_bytes = _positive(cells, "memory_bytes", least=1.0, most=1e15)
    if cells["accelerator"]:
        accelerator = _accelerator(cells, catalogue)
        check_possible(case, value, seconds, accelerator)
        check_whole(memory_bytes, accelerator)
    try:
        dt.datetime.fromisoformat(cells["measured_at"])
    except ValueError:
        raise WrongCellError(f"column measured_at: {cells['measured_at']!r} is not a time") from None
    return Measurement(
        case=case,
        environment=Environment(
            backend=cells["backend"],
            software=cells["software"],
            device=cells["device"],
            processor=place == PROCESSOR,
            devices=_count(cells, "devices"),
            memory_bytes=memory_bytes,
            accelerator=cells["accelerator"],
        ),
        value=value,
        seconds=seconds,
        seconds_p10=_positive(cells, "seconds_p10", least=_FASTEST_S, most=_SLOWEST_S),
        seconds_p90=_positive(cells, "seconds_p90", least=_FASTEST_S, most=_SLOWEST_S),
        batches=_count(cells, "batches"),
        calls=_count(cells, "calls"),
        clock_hz=_positive(cells, "clock_hz", least=1e6, most=2e10),
        measured_at=cells["measured_at"],
    )


def _value(cells: Mapping[str, str], case: Case, seconds: float | None) -> float:
    """Return the value of a row, which must agree with its seconds."""
    if seconds is None and case.kind != STEP_MEMORY:
        raise WrongCellError("column seconds is empty")
    value = _positive(cells, "value", least=0.0, most=math.inf)
    if value is None:
        raise WrongCellError("column value is empty")
    unit = KINDS[case.kind].unit
    if cells["unit"] != unit:
        raise WrongCellError(f"column unit: {case.kind} is in {unit}, not in {cells['unit']!r}")
    if case.kind != STEP_MEMORY and seconds is not None:
        expected = case.value(seconds)
        if not math.isclose(value, expected, rel_tol=_ROUNDING):
            raise WrongCellError(f"column value: {value:.4g}, but shape and seconds give {expected:.4g}")
    return value


def _accelerator(cells: Mapping[str, str], catalogue: Catalogue) -> Accelerator:
    identity = cells["accelerator"]
    if identity not in catalogue.accelerators:
        raise WrongCellError(f"column accelerator: {identity!r} is not in the catalogue")
    if cells["place"] == PROCESSOR:
        raise WrongCellError(f"column accelerator: a processor is not {identity}")
    return catalogue.accelerators[identity]


def _case(cells: Mapping[str, str]) -> Case:
    kind = KINDS[_one_of(cells, "kind", KINDS)]
    variant = _one_of(cells, "variant", kind.variants)
    precision = _one_of(cells, "precision", (*ELEMENT_BYTES, NO_PRECISION))
    parts = [part.partition("=") for part in cells["shape"].split()]
    if tuple(name for name, _, _ in parts) != kind.dimensions:
        raise WrongCellError(f"column shape: {cells['kind']} has {'=, '.join(kind.dimensions)}=")
    sizes = []
    for name, _, size in parts:
        if not (size.isascii() and size.isdigit()) or len(size) > len(f"{_MOST_SIZE:.0f}"):
            raise WrongCellError(f"column shape: {name}={size} is not a whole number up to {_MOST_SIZE:g}")
        sizes.append(int(size))
    if min(sizes) < 1 or max(sizes) > _MOST_SIZE:
        raise WrongCellError(f"column shape: sizes are between 1 and {_MOST_SIZE:g}")
    case = Case(kind=cells["kind"], variant=variant, precision=precision, sizes=tuple(sizes))
    if case.kind == COLLECTIVE and case.shape["devices"] == 1:
        raise WrongCellError("column shape: a collective has at least 2 devices")
    return case


def _one_of(cells: Mapping[str, str], name: str, known: Iterable[str]) -> str:
    if cells[name] not in known:
        raise WrongCellError(f"column {name}: {cells[name]!r} is not one of {', '.join(filter(None, known)) or 'none'}")
    return cells[name]


def _positive(cells: Mapping[str, str], name: str, *, least: float, most: float) -> float | None:
    text = cells[name]
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise WrongCellError(f"column {name}: {text!r} is not a number") from None
    if not math.isfinite(value) or value <= 0 or not least <= value <= most:
        raise WrongCellError(f"column {name}: {text} cannot be")
    return value


def _count(cells: Mapping[str, str], name: str) -> int:
    text = cells[name]
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:12]) <= 10**9:
        raise WrongCellError(f"column {name}: {text!r} is not a count")
    return int(text)


def peak_flop_per_s(accelerator: Accelerator, precision: str) -> float | None:
    """Return the dense peak of an accelerator in a precision that a probe measures; None if none is documented."""
    return {
        "fp64": accelerator.dense_fp64_flop_per_s,
        "tf32": accelerator.dense_tf32_flop_per_s,
        "bf16": accelerator.dense_bf16_flop_per_s,
        "fp16": accelerator.dense_fp16_flop_per_s,
        "fp8": accelerator.dense_fp8_flop_per_s,
    }.get(precision)


def check_whole(memory_bytes: float | None, accelerator: Accelerator) -> None:
    """Refuse a device that is a part of an accelerator, or another one, by its memory.

    Raises:
        WrongCellError: it is.
    """
    if memory_bytes is None or accelerator.hbm_bytes is None:
        return
    if abs(memory_bytes / accelerator.hbm_bytes - 1) > _OTHER_MEMORY:
        raise WrongCellError(
            f"column memory_bytes: a device of {memory_bytes / 1e9:.1f} GB is not a whole {accelerator.name}, "
            f"which has {accelerator.hbm_bytes / 1e9:.1f} GB"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A result beside what the catalogue says is the most of it.

    Attributes:
        value: the result, as FLOP/s where the case has FLOPs; most: in the same unit.
        name: of the most, in words.
    """

    value: float
    most: float
    unit: str
    name: str


def bound_of(case: Case, value: float, seconds: float | None, accelerator: Accelerator) -> Bound | None:
    """Return a result beside its bound; None where the catalogue has none."""
    flop = case.flop
    if flop is not None and seconds is not None:
        value, most = flop / seconds, peak_flop_per_s(accelerator, case.precision)
        unit, name = "FLOP/s", f"the dense {case.precision} peak"
    elif case.kind == MEMORY:
        most, unit, name = accelerator.hbm_bytes_per_s, "bytes/s", "the memory bandwidth"
    elif case.kind == STEP_MEMORY:
        most, unit, name = accelerator.hbm_bytes, "bytes", "the memory"
    elif case.kind == COLLECTIVE:
        most = accelerator.scale_up_bytes_per_s_per_gpu_one_way
        unit, name = "bytes/s", "one direction of the scale-up links"
    else:
        return None
    return None if most is None else Bound(value=value, most=most, unit=unit, name=name)


def check_possible(case: Case, value: float, seconds: float | None, accelerator: Accelerator) -> None:
    """Refuse a result that is beyond what the catalogue says of the accelerator.

    Raises:
        WrongCellError: it is.
    """
    bound = bound_of(case, value, seconds, accelerator)
    if bound is not None and bound.value > bound.most:
        raise WrongCellError(
            f"{case.text}: {bound.value:.4g} {bound.unit} is more than {bound.name} of {accelerator.name}, "
            f"{bound.most:.4g} {bound.unit}"
        )
