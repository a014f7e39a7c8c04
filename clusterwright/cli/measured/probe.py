"""The command that measures the accelerators of this machine: probe."""

import json
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusterwright.cli.options import refuse_with
from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_FINE, InputError
from clusterwright.evidence.probe.measure import Probed
from clusterwright.evidence.probe.records import Environment, Measurement
from clusterwright.units import percent

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
#: Cases of a kind that the answer shows, fastest rates and shortest times first; the file has all.
_SHOWN = 3
#: P90 over P10 of the batches from which on a timing is called unsteady.
_UNSTEADY = 2.0
#: As a program that Ctrl-C ends: 128 and the number of the signal.
_INTERRUPTED = 128 + signal.SIGINT


def probe(
    output: Path | None,
    *,
    backend: str,
    seconds: float,
    accelerator: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Measure, write the file and print the best of each kind; return the exit code.

    Args:
        output: the CSV file; None prints it instead of the best of each kind.
        backend: `auto`, `torch` or `numpy`.
        seconds: bound of the measuring.
        accelerator: what the device is; known by its driver's name if None.
        force: replace the file.
        as_json: print JSON.
        quiet: no progress.

    Raises:
        InputError: the file cannot be written, there is no such backend or accelerator, or nothing was measured.
    """
    from clusterwright.catalog.load import load
    from clusterwright.evidence.probe import file, measure
    from clusterwright.evidence.probe.backend import open_backend

    if output is None:
        refuse_with("-o -", {"--json": as_json})
    else:
        file.check_writable(output, force=force)
    catalogue = load()
    opened = open_backend(backend)
    identity = _accelerator(opened.environment, accelerator)
    say = _say if not quiet else _nothing
    say(_where(opened.environment, identity))
    try:
        probed = measure.probe(opened, seconds=seconds, accelerator=identity, progress=say)
    except KeyboardInterrupt:
        _say("interrupted: nothing was written")
        return _INTERRUPTED
    if not probed.measurements:
        reasons = {one.reason for one in probed.left_out}
        raise InputError(f"nothing was measured: {', '.join(sorted(reasons))}", help="give more --seconds")
    rows = file.csv_text(probed.measurements)
    if output is None:
        print(rows, end="")
        say(f"{len(probed.measurements)} measurements in {probed.seconds:.0f} s")
        return EXIT_FINE
    file.write(output, rows, force=force)
    known = catalogue.accelerators.get(identity)

    def share(one: Measurement) -> float | None:
        bound = file.bound_of(one.case, one.value, one.seconds, known) if known else None
        return None if bound is None else bound.value / bound.most

    print(_document(probed, output) if as_json else fitted(_text(probed, share)))
    say(f"wrote {output}: {len(probed.measurements)} measurements in {probed.seconds:.0f} s")
    if identity:
        say(f"next: clusterwright calibrate {output} -o FOLDER")
    return EXIT_FINE


def _say(line: str) -> None:
    print(fitted(line), file=sys.stderr, flush=True)


def _nothing(_line: str) -> None:
    pass


def _accelerator(environment: Environment, name: str | None) -> str:
    """Return the catalogue's id of a device, empty if it is not known.

    Raises:
        InputError: a processor is given the name of an accelerator, or there is none of that name.
    """
    from clusterwright.catalog import lookup
    from clusterwright.catalog.load import load
    from clusterwright.evidence.probe.devices import DRIVER_NAMES

    if name is None:
        return "" if environment.processor else DRIVER_NAMES.get(environment.device, "")
    if environment.processor:
        raise InputError(
            f"what is measured here is the processor ({environment.device}), not an accelerator",
            help="leave out --accelerator, or use --backend torch where PyTorch sees one",
        )
    return lookup.accelerator(load(), name).id


def _where(environment: Environment, identity: str) -> str:
    what = f"{environment.devices} × {environment.device}" if environment.devices > 1 else environment.device
    if environment.processor:
        what += ": the processor, which says nothing about an accelerator"
    elif not identity:
        what += ": not known by that name, name it with --accelerator"
    else:
        what += f": {identity}"
    return f"{environment.backend} on {what}"


def _document(probed: Probed, output: Path) -> str:
    measurements = []
    for one in probed.measurements:
        fields = asdict(one)
        del fields["environment"]
        measurements.append(fields | {"case": _case(one.case)})
    found: dict[str, Any] = {
        "schema": 1,
        "file": str(output),
        "seconds": round(probed.seconds, 3),
        "environment": asdict(probed.environment),
        "measurements": measurements,
        "left_out": [{"case": _case(one.case), "reason": one.reason} for one in probed.left_out],
    }
    return json.dumps(found, indent=1, allow_nan=False)


def _case(case: Any) -> dict[str, Any]:  # noqa: ANN401 - a case of the probe
    return {"kind": case.kind, "variant": case.variant, "precision": case.precision, **case.shape}


def _text(probed: Probed, share: Callable[[Measurement], float | None]) -> str:
    titles = ["kind", "way", "sizes", "value", "of peak"]
    shown = [(one, share(one)) for one in _best(probed.measurements)]
    if all(part is None for _, part in shown):
        titles = titles[:-1]
    columns = [Column(title, "" if title in titles[3:] else "left") for title in titles]
    rows = [_cells(one, part)[: len(titles)] for one, part in shown]
    lines = [f"{probed.environment.device}, {probed.environment.software}", "", table(columns, rows)]
    timed = [one for one in probed.measurements if one.seconds_p10 and one.seconds_p90]
    unsteady = sum((one.seconds_p90 or 0.0) > _UNSTEADY * (one.seconds_p10 or 0.0) for one in timed)
    if unsteady:
        lines += ["", f"{unsteady} of {len(timed)} timings vary by more than {_UNSTEADY:.0f}×: is the machine busy?"]
    reasons: dict[str, int] = {}
    for one in probed.left_out:
        reason = "no time" if one.reason.startswith(("needs about", "no time")) else one.reason
        reasons[reason] = reasons.get(reason, 0) + 1
    if reasons:
        lines += ["", "not measured:", *(f"  {count} × {reason}" for reason, count in reasons.items())]
    return "\n".join(lines)


def _best(measurements: tuple[Measurement, ...]) -> list[Measurement]:
    """Return the best few of each kind, variant and precision, in the order of measuring."""
    from clusterwright.evidence.probe.records import KINDS

    groups: dict[tuple[str, str, str], list[Measurement]] = {}
    for one in measurements:
        groups.setdefault((one.case.kind, one.case.variant, one.case.precision), []).append(one)
    return [
        one
        for (kind, _, _), group in groups.items()
        for one in sorted(group, key=lambda one: one.value, reverse=KINDS[kind].per_second)[:_SHOWN]
    ]


def _cells(one: Measurement, share: float | None) -> tuple[str, ...]:
    from clusterwright.evidence.probe.records import KINDS, NO_PRECISION

    case = one.case
    precision = "" if case.precision == NO_PRECISION else case.precision
    way = " ".join(filter(None, (case.variant.replace("_", " "), precision)))
    shown = "-" if share is None else percent(share, digits=1)
    return case.kind.replace("_", " "), way, _sizes(case.shape), _value(one.value, KINDS[case.kind].unit), shown


def _sizes(shape: Mapping[str, int]) -> str:
    """Return the sizes that tell cases of a kind apart."""
    if "m" in shape:
        return " × ".join(str(shape[name]) for name in "mnk")
    parts = [f"batch {shape['batch']}"] if "batch" in shape else []
    parts += [f"{shape[name]:,} tokens" for name in ("sequence", "context") if name in shape]
    parts += [_value(shape["bytes"], "bytes")] if "bytes" in shape else []
    parts += [f"{shape['devices']} devices"] if "devices" in shape else []
    return ", ".join(parts)


def _value(value: float, unit: str) -> str:
    """Return a value with three digits and the unit's prefix.

    >>> _value(2.5e13, "FLOP/s"), _value(1.27e15, "FLOP/s"), _value(4.2e-6, "s")
    ('25 TFLOP/s', '1.27 PFLOP/s', '4.2 µs')
    """
    if unit == "s":
        scale, prefix = next(((s, p) for s, p in ((1.0, ""), (1e-3, "m"), (1e-6, "µ")) if value >= s), (1e-9, "n"))
        return f"{value / scale:.3g} {prefix}s"
    scale, prefix = next(((s, p) for s, p in _PREFIXES if value >= s), (1.0, ""))
    return f"{value / scale:.3g} {prefix}{'B' + unit.removeprefix('bytes') if unit.startswith('bytes') else unit}"
