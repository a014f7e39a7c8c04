"""Cost of one unit of work: its share of the horizon's cash, per GPU-hour, per million tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.formulas import Term, formula

_DEFINITIONS = "clusterwright docs money"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunAmounts:
    """Payments of the horizon in USD, by the way in which they are allocated to a run; see `cost_of_run`."""

    variable_usd: float
    held_usd: float
    running_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPart:
    """Inputs of the cost of one run, for one part of an option in one scenario (`tco/sql/run_total.sql`).

    Attributes:
        paid: payments with their signs.
        absolute: payments without their signs.
        priced: payments without their signs whose price is documented or given.
        runs, share_while_held, share_while_running: see `cost_of_run`.
    """

    paid: RunAmounts
    absolute: RunAmounts
    priced: RunAmounts
    runs: float
    share_while_held: float
    share_while_running: float

    def arguments(self, amounts: RunAmounts, per_usd: float = 1.0) -> dict[str, float]:
        """Return the arguments of `cost_of_run` for amounts of the part, in a currency worth `per_usd` per dollar."""
        return {
            "variable_usd": amounts.variable_usd * per_usd,
            "runs": self.runs,
            "held_usd": amounts.held_usd * per_usd,
            "share_while_held": self.share_while_held,
            "running_usd": amounts.running_usd * per_usd,
            "share_while_running": self.share_while_running,
        }


@formula(
    "{variable_usd} / {runs} + {held_usd} × {share_while_held} + {running_usd} × {share_while_running}",
    source=f"{_DEFINITIONS}; tco/sql/run_total.sql",
    variable_usd=Term("paid by the hours worked", ",.2f"),
    runs=Term("amount of work in the horizon", ",.8g"),
    held_usd=Term("paid for held capacity", ",.2f"),
    share_while_held=Term("its hours over hours worked", ".8g"),
    running_usd=Term("paid for other rented or permanent items", ",.2f"),
    share_while_running=Term("its hours over hours of the horizon", ".8g"),
)
def cost_of_run(
    *,
    variable_usd: float,
    runs: float,
    held_usd: float,
    share_while_held: float,
    running_usd: float,
    share_while_running: float,
) -> float:
    """Return USD of one run out of those of the horizon (definitions: `docs/explain/money.md`).

    Payments by the hours worked are divided evenly among all runs. Payments for capacity that is held for the work,
    idle hours included, are allocated by the run's share of the hours worked, and all other payments by its share of
    the hours of the horizon.
    """
    return variable_usd / runs + held_usd * share_while_held + running_usd * share_while_running


@formula(
    "{documented_usd} / {all_usd}",
    source=_DEFINITIONS,
    documented_usd=Term("documented or given", ",.2f"),
    all_usd=Term("all", ",.2f"),
)
def priced_share(*, documented_usd: float, all_usd: float) -> float:
    """Return the share of the cost whose price is documented or given, with resale as an absolute amount."""
    return documented_usd / all_usd


@formula(
    "{run_usd} / {gpu_hours}",
    source=_DEFINITIONS,
    run_usd=Term("cost", ",.2f"),
    gpu_hours=Term("GPU-hours", ",.3f"),
)
def usd_per_gpu_hour(*, run_usd: float, gpu_hours: float) -> float:
    """Return USD per GPU and calendar hour of a run."""
    return run_usd / gpu_hours


@formula(
    "{usd} / {tokens}",
    source=_DEFINITIONS,
    usd=Term("cost", ",.2f"),
    tokens=Term("millions of tokens", ",.8g", scale=1e-6),
)
def usd_per_million_tokens(*, usd: float, tokens: float) -> float:
    """Return USD per million tokens."""
    return usd / tokens * 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTotal:
    """Cost of one run on an option in one scenario.

    Attributes:
        usd: cost over all parts.
        priced_share: share of the absolute cost whose price is documented or given; None if nothing is paid.
    """

    usd: float
    priced_share: float | None


def run_total(parts: Sequence[RunPart]) -> RunTotal:
    """Return the cost of one run on an option whose parts each do a share of the work."""
    absolute = sum(cost_of_run(**part.arguments(part.absolute)) for part in parts)
    documented = sum(cost_of_run(**part.arguments(part.priced)) for part in parts)
    return RunTotal(
        usd=sum(cost_of_run(**part.arguments(part.paid)) for part in parts),
        priced_share=priced_share(documented_usd=documented, all_usd=absolute) if absolute else None,
    )
