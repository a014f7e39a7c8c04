"""A case against the engine: every published figure beside the computed one."""

import re
from dataclasses import dataclass
from pathlib import Path

from clusterwright.blueprint.reading.document import Document
from clusterwright.blueprint.reading.problems import BlueprintError, Problem
from clusterwright.errors import InputError
from clusterwright.evidence.cost_cases.case import Expected, TcoCase
from clusterwright.evidence.cost_cases.expressions import calculate, known, names_in
from clusterwright.evidence.cost_cases.outputs import figures
from clusterwright.evidence.cost_cases.pairs import Figures
from clusterwright.evidence.cost_cases.prices import with_prices
from clusterwright.evidence.cost_cases.reading import problem, problem_at, read_case
from clusterwright.pricing.book import PriceBook

#: Slack for sums of floats, as a share of the figure.
_ROUNDING = 1e-12
_NUMBER = re.compile(r"\d[\d,_]*(?:\.(?P<decimals>\d*))?(?:[eE](?P<exponent>[-+]?\d+))?")
#: From here on a whole number is an amount that was rounded; a smaller one may be a count, which is exact.
_LEAST_ROUNDED = 1000
_GROUPING = str.maketrans("", "", ",_")


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """A figure of a case: what came out, what was published, how far apart they may be, and whether they agree.

    None is none, for example a breakeven that is never reached; `reason` says why it was computed as none.
    """

    computed: float | None
    expected: float | None
    tolerance: float
    ok: bool
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedCase:
    """A case that was run.

    Attributes:
        case: its name; source: where it was published.
        outputs: the expected figures by name.
        computed: every figure by name.
        hours_per_month: that hours were counted with.
    """

    case: str
    source: str
    hours_per_month: float
    outputs: dict[str, Output]
    computed: Figures

    @property
    def ok(self) -> bool:
        """Whether every expected figure came out."""
        return all(output.ok for output in self.outputs.values())


def check_case(path: Path, book: PriceBook) -> CheckedCase:
    """Run a case file through the engine.

    Args:
        path: of the case.
        book: price points for `price_of`.

    Raises:
        InputError: the file cannot be read.
        BlueprintError: it is no case, or a value of it cannot be calculated with; shown with its place.
    """
    case, document = read_case(path)
    case = with_prices(case, document, book)
    try:
        computed, reasons = figures(case, book)
    except InputError as error:
        raise problem(document, ("options", *error.path), error.message, error.help) from None
    computed |= case.values
    wrong = _derive(case, document, computed)
    reasons |= {name: "a figure it is derived from is none" for name in case.derived if computed.get(name, 0) is None}
    outputs = {}
    for name, given in case.expected.items():
        if name in case.derived and name not in computed:
            continue
        try:
            printed = _half_a_digit(document, name, given)
            outputs[name] = _output(case, given, known(name, computed), reasons.get(name, ""), printed)
        except InputError as error:
            wrong.append(problem_at(document, ("expected", name), error))
    if wrong:
        raise BlueprintError(name=document.name, text=document.text, problems=tuple(wrong))
    return CheckedCase(
        case=case.case, source=case.source, hours_per_month=case.hours_per_month, outputs=outputs, computed=computed
    )


def _derive(case: TcoCase, document: Document, computed: Figures) -> list[Problem]:
    """Put the derived figures beside the computed ones, in the order in which they need each other; return problems."""
    wrong, waiting = [], dict(case.derived)
    for name in [name for name in waiting if name in computed]:
        taken = InputError(f"{name!r} is a figure already", help="choose another name")
        wrong.append(problem_at(document, ("derived", name), taken))
        del waiting[name]
    while waiting:
        ready = [name for name, text in waiting.items() if not any(used in waiting for used in names_in(text))]
        for name in ready:
            try:
                computed[name] = calculate(waiting[name], computed)
            except InputError as error:
                wrong.append(problem_at(document, ("derived", name), error))
        if not ready:
            message = f"{', '.join(map(repr, waiting))} need each other, or what has no value"
            circle = InputError(message, help="derive each figure from computed ones")
            wrong.append(problem_at(document, ("derived", next(iter(waiting))), circle))
        waiting = {name: text for name, text in waiting.items() if ready and name not in ready}
    return wrong


def _half_a_digit(document: Document, name: str, given: Expected | float | None) -> float:
    """Return half of the last digit with which a case prints an expected figure, in its unit; 0 for a count."""
    position = document.values.get(("expected", name))
    if position is None or not isinstance(given, float | int):
        return 0.0
    found = _NUMBER.search(document.text.splitlines()[position.line - 1], position.column - 1)
    if found is None or not (number := float(found[0].translate(_GROUPING))):
        return 0.0
    # The text may be in another unit, as `2.5 M` or `90 EUR` is.
    scale = abs(given / number)
    decimals, exponent = found["decimals"] or "", int(found["exponent"] or 0)
    if not decimals and abs(given) < _LEAST_ROUNDED:
        return 0.0
    return 0.5 * scale * 10.0 ** (exponent - len(decimals))


def _output(case: TcoCase, given: Expected | float | None, value: float | None, reason: str, printed: float) -> Output:
    expected = given.value if isinstance(given, Expected) else given
    allowed = 0.0 if expected is None else _allowed(case, given, expected, printed)
    if value is None or expected is None:
        ok = value is None and expected is None
    else:
        ok = abs(value - expected) <= allowed + _ROUNDING * max(abs(value), abs(expected))
    return Output(computed=value, expected=expected, tolerance=allowed, ok=ok, reason=reason if value is None else "")


def _allowed(case: TcoCase, given: object, expected: float, printed: float) -> float:
    """Return how far off a figure may be: its own tolerance, else the case's, and at least half its last digit."""
    if isinstance(given, Expected) and (given.absolute is not None or given.relative is not None):
        return max(given.absolute or 0.0, (given.relative or 0.0) * abs(expected))
    return max(case.tolerance.absolute, case.tolerance.relative * abs(expected), printed)
