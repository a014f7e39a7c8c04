"""A case against the engine: every published figure beside the computed one."""

from dataclasses import dataclass
from pathlib import Path

from clusterwright.blueprint.document import Document
from clusterwright.errors import InputError
from clusterwright.evidence.tco_case import Expected, TcoCase
from clusterwright.evidence.tco_expressions import calculate, known
from clusterwright.evidence.tco_outputs import Figures, figures
from clusterwright.evidence.tco_prices import with_prices
from clusterwright.evidence.tco_reading import problem, read_case
from clusterwright.pricing.book import PriceBook

#: Slack for sums of floats, as a share of the figure.
_ROUNDING = 1e-12


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


def check_case(path: Path, book: PriceBook | None = None) -> CheckedCase:
    """Run a case file through the engine.

    Args:
        path: of the case.
        book: price points for `price_of`; the shipped ones and the user's own by default.

    Raises:
        InputError: the file cannot be read.
        BlueprintError: it is no case, or a value of it cannot be calculated with; shown with its place.
    """
    case, document = read_case(path)
    book = book or PriceBook.open()
    case = with_prices(case, document, book)
    try:
        computed, reasons = figures(case, book)
    except InputError as error:
        raise problem(document, ("options",), error.message, error.help) from None
    computed |= case.values
    for name, text in case.derived.items():
        if name in computed:
            raise problem(document, ("derived", name), f"{name!r} is a figure already", "choose another name")
        try:
            computed[name] = calculate(text, computed)
        except InputError as error:
            raise problem(document, ("derived", name), error.message, error.help) from None
    outputs = {name: _output(case, document, name, computed, reasons.get(name, "")) for name in case.expected}
    return CheckedCase(
        case=case.case, source=case.source, hours_per_month=case.hours_per_month, outputs=outputs, computed=computed
    )


def _output(case: TcoCase, document: Document, name: str, computed: Figures, reason: str) -> Output:
    try:
        value = known(name, computed)
    except InputError as error:
        raise problem(document, ("expected", name), error.message, error.help) from None
    given = case.expected[name]
    expected = given.value if isinstance(given, Expected) else given
    allowed = 0.0 if expected is None else _allowed(case, given, expected)
    if value is None or expected is None:
        ok = value is None and expected is None
    else:
        ok = abs(value - expected) <= allowed + _ROUNDING * max(abs(value), abs(expected))
    return Output(computed=value, expected=expected, tolerance=allowed, ok=ok, reason=reason if value is None else "")


def _allowed(case: TcoCase, given: object, expected: float) -> float:
    """Return how far off a figure may be: its own tolerance, else the case's."""
    absolute, relative = case.tolerance.absolute, case.tolerance.relative
    if isinstance(given, Expected) and (given.absolute is not None or given.relative is not None):
        absolute, relative = given.absolute or 0.0, given.relative or 0.0
    return max(absolute, relative * abs(expected))
