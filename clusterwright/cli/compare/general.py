"""compare without a cluster to size: which of the general comparisons is meant, and the day of its prices."""

import datetime as dt
from pathlib import Path

from clusterwright.errors import InputError
from clusterwright.units import day_of


def compare(
    blueprint: Path | None,
    set_values: list[str] | None,
    as_of: str | None,
    *,
    scenarios: bool,
    one_node: bool,
    other: bool,
    as_json: bool,
) -> int:
    """Print a general comparison; return the exit code.

    Args:
        blueprint: whose day of prices holds; None for the newest.
        set_values: replaced in the blueprint.
        as_of: day of prices, wins over the blueprint's.
        scenarios: price for performance, calculated again.
        one_node: the breakeven of one node.
        other: whether another kind or form is asked for, which goes with neither.
        as_json: print JSON.

    Raises:
        InputError: none or several are asked for, or the day is no day.
        BlueprintError: the blueprint is wrong.
    """
    if scenarios + one_node != 1 or other:
        raise InputError(
            "--scenarios and --one-node each stand alone" if scenarios or one_node else "compare needs a blueprint",
            help="clusterwright compare BLUEPRINT, or without one: compare --scenarios, compare --one-node",
        )
    day = day_of(as_of) if as_of is not None else _day_of(blueprint, set_values)
    if scenarios:
        from clusterwright.cli.compare import scenarios as command

        return command.show(day, as_json=as_json)
    from clusterwright.cli.compare import one_node as node

    return node.show(day, as_json=as_json)


def _day_of(path: Path | None, set_values: list[str] | None) -> dt.date | None:
    if path is None:
        return None
    from clusterwright.blueprint.load import load

    return load(path, tuple(set_values or ())).blueprint.economics.as_of
