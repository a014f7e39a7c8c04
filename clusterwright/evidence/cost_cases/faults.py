"""What is wrong with a case whose every value is right by itself: categories that nothing pays, tax unprepared."""

from collections.abc import Iterator
from difflib import get_close_matches

from clusterwright.blueprint.reading.problems import Path
from clusterwright.errors import InputError
from clusterwright.evidence.cost_cases.case import Option, TcoCase
from clusterwright.evidence.cost_cases.sections import BILLED, GoodputLoss, Support

#: Running costs that every case may name, whether it has them or not.
_RUNNING = frozenset({*BILLED, "capital", "energy", "facility", "goodput_loss", "other", "support"})
#: What is paid at single moments: nothing is a share of it, and no year changes it.
_ONCE = frozenset({"purchase", "installation", "spares", "resale", "one_time"})


def faults(case: TcoCase) -> Iterator[tuple[Path, InputError]]:
    """Yield what is wrong with a case: where, and what."""
    running = _running(case)
    for name, option in case.options.items():
        for path, category in _named(option):
            if category not in running:
                yield ("options", name, *path), _unknown(category, running)
        yield from ((("options", name, *path), error) for path, error in _shares_of_shares(option))
        if case.tax_rate and option.purchase and not option.depreciation:
            told = f"tax_rate needs the depreciation of what {name} buys"
            missing = InputError(told, help="for example depreciation: {method: macrs_5} beside the purchase")
            yield ("options", name, "purchase"), missing


def _running(case: TcoCase) -> set[str]:
    """Return the categories of running costs that the case may name."""
    given = {category for option in case.options.values() for category in option.monthly}
    given |= {cost.category for option in case.options.values() for cost in option.costs}
    return (given | _RUNNING) - _ONCE


def _named(option: Option) -> Iterator[tuple[Path, str]]:
    """Yield the categories that an option says something about, with their places in it."""
    for category in option.by_year:
        yield ("by_year", category), category
    for key, given in (("support", option.support), ("goodput_loss", option.goodput_loss)):
        if isinstance(given, Support | GoodputLoss):
            yield from (((key, "of", number), category) for number, category in enumerate(given.of))


def _unknown(category: str, running: set[str]) -> InputError:
    if category in _ONCE:
        return InputError(f"{category} is no running cost", help=f"of running costs: {', '.join(sorted(running))}")
    close = get_close_matches(category, running, n=1)
    help_text = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(sorted(running))}"
    return InputError(f"there is no running cost of the category {category!r}", help=help_text)


def _shares_of_shares(option: Option) -> Iterator[tuple[Path, InputError]]:
    """Yield shares that are meant of another share, which is not charged of it."""
    shares = {"support": option.support, "goodput_loss": option.goodput_loss}
    for key, given in shares.items():
        if isinstance(given, Support | GoodputLoss):
            for number, category in enumerate(given.of):
                if shares.get(category) is not None:
                    told = f"{category} is a share itself: {key} cannot be a share of it"
                    yield (key, "of", number), InputError(told, help="raise the fraction by as much instead")
