"""The records of an explanation, and numbers as text that can be calculated with again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isclose
from typing import Any

from clusterwright.formulas import Recorded
from clusterwright.plan.record import Option
from clusterwright.plan.text.money import MoneyFormat


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """A value that an equation used: its name, value as text, and where it comes from."""

    name: str
    value: str
    source: str


def beside_work(option: Option) -> tuple[Input, ...]:
    """Return the nodes of an option that parts of GPUs are on, which its cluster has beside those of the work."""
    nodes = option.cluster.divided_nodes
    if not nodes:
        return ()
    said = "software.mig.nodes or software.sharing.nodes; clusterwright docs gpu-slices"
    return (Input(name="nodes beside the work", value=f"{nodes:,} with divided or shared GPUs", source=said),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """How one number was found.

    Attributes:
        number: the name users ask for; title: what it is; value: as printed.
        equation: lines, the last with the numbers filled in, so that it can be calculated again.
        inputs: what went in; sources: documents behind the equation.
    """

    number: str
    title: str
    value: str
    equation: tuple[str, ...]
    inputs: tuple[Input, ...]
    sources: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON holds it."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """Names by which numbers are asked for.

    Attributes:
        also: keys of `plan.json` that are explained under another name.
        absent: numbers that only some targets have, and when.
    """

    also: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)


#: Largest difference, relative, between a plan's number and the same formula of its own inputs: both are doubles.
_ROUNDING = 1e-9


def explained(
    recorded: Recorded,
    *,
    number: str,
    title: str,
    value: str,
    result: str,
    held: float,
    origins: Mapping[str, str],
    more: tuple[Input, ...] = (),
    sources: tuple[str, ...] = (),
    scale: float = 1.0,
    currency: str = "",
) -> Explanation:
    """Return the explanation of a number from a call of its formula.

    Args:
        recorded: the call, with the plan's own inputs.
        number: as in `Explanation`.
        title: as in `Explanation`.
        value: as in `Explanation`.
        result: format of the result in the equation, such as "{:.3f} days".
        held: the number that the plan holds.
        origins: source of each input of the formula.
        more: further inputs.
        sources: besides the formula's.
        scale: by which results are multiplied before they are written.
        currency: behind the inputs that are amounts of money, which the call was given in it.
    """
    inputs = [
        Input(
            name=term.words,
            value=f"{recorded.text(argument)} {currency}" if _is_money(argument) else recorded.text(argument),
            source=origins[argument],
        )
        for argument, term in recorded.terms.items()
        if argument in origins
    ]
    if not isclose(recorded.result, held, rel_tol=_ROUNDING):
        inputs.append(
            Input(
                name="differs from the plan",
                value=result.format(held * scale),
                source="number in the plan: changed, or made by another version of Clusterwright",
            )
        )
    return Explanation(
        number=number,
        title=title,
        value=value,
        equation=(recorded.rule, f"{recorded.filled} = {result.format(recorded.result * scale)}"),
        inputs=(*inputs, *more),
        sources=(recorded.source, *sources),
    )


def _is_money(argument: str) -> bool:
    return argument == "usd" or argument.endswith("_usd")


def exact(usd: float, money: MoneyFormat) -> str:
    """Return USD to the cent, in the currency of a format, for arithmetic that is to be done again.

    >>> from clusterwright.plan.text.money import USD
    >>> exact(2_641.92, USD), exact(-0.5, USD)
    ('2,641.92', '-0.50')
    """
    return f"{money.amount(usd):,.2f}"


def total(parts: tuple[str, ...], result: str) -> str:
    """Return a sum as one line; terms that are negative keep their sign.

    >>> total(("1.0", "-0.5"), "0.5")
    '1.0 - 0.5 = 0.5'
    """
    line = " + ".join(parts).replace("+ -", "- ")
    return f"{line or 0} = {result}"
