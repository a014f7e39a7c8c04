"""The sheet Mixes: owning a part of the nodes and renting the rest of the work, from the start or until delivery.

The rules of `tco/renting/mixes.py` and `tco/sql/cash_term.sql` a second time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.outputs.workbook.inputs.stages import Stages
from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    added,
    both,
    figure,
    product_sum,
    smallest,
    span,
    total,
    when,
    whole,
)
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import (
    CAPITAL,
    RUNNING,
    Asset,
    Class,
    Flows,
    Rows,
    Workbook,
    label_of,
)
from clusterwright.plan.alternatives.hybrids import BASE
from clusterwright.tco.renting.mixes import Mix

_TOP = 4
_FACTS = (
    "mix",
    "nodes owned",
    "of nodes",
    "share owned",
    "share of the time that these may work",
    "work they can do, of the first year's",
    "of the work of the horizon",
)
_FIXED, _WORK, _OWN_USED, _OWN_KEPT, _RENT_USED, _RENT_STANDING, _RENT_KEPT = _BY_MONTH = (
    "share owned that is there",
    "share of the work done there",
    "owned, by use, USD",
    "owned, otherwise, USD",
    "rented, by use, USD",
    "rent of what stands, USD",
    "rented, otherwise, USD",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mixed:
    """One mix: its cash by class, what it buys, and what its parts give to it.

    Attributes:
        days, gpus, busy: as in `Flows`.
        parts: what is owned, and what is rented; work_shares: of the work of the horizon, done on each.
        columns: what each part pays by month row.
    """

    flows: Mapping[Class, Rows]
    assets: Mapping[Asset, Rows]
    days: Figure
    gpus: Figure
    busy: Figure
    parts: tuple[Flows, Flows]
    work_shares: tuple[Figure, Figure]
    columns: Mapping[str, Rows]


def mixed_options(work: Workbook) -> dict[str, Mix]:
    """Return the mixes of the comparison, by key; how purchases are financed has no formulas."""
    known = {cost.key for cost in work.found.costs if cost.mixed}
    return {mix.key: mix for mix in work.found.ledger.mixes if mix.key in known and mix.financing is None}


def needs_base(work: Workbook) -> bool:
    """Return whether a mix owns a cluster that keeps its size while the work grows."""
    return any(part.key.endswith(BASE) for mix in mixed_options(work).values() for part in mix.parts)


def write_mixes(work: Workbook, base: Flows | None, stages: Stages | None) -> dict[str, Mixed]:
    """Write the sheet; return every mix of parts that have formulas, by key.

    Args:
        work: the workbook, the flows of all candidates in it.
        base: the owned cluster as it is where it keeps its size.
        stages: how the work grows.
    """
    page, mixes = work.page("Mixes"), mixed_options(work)
    page.title(
        "Owning a part and renting the rest",
        "What is owned does what it can, after delivery; the rest is rented by use. What stands is rented for the "
        "share of the nodes that is not there.",
    )
    page.widths(40, rest=17, columns=len(_FACTS))
    page.head(_TOP - 1, _FACTS)
    first = _TOP + len(mixes) + 3
    page.head(first - 1, ("month", "work done, months"), texts=0)
    done = stages.factors["work"] if stages else (figure(1.0),) * work.rows
    worked = []
    for row, month in enumerate(work.months):
        page.put(first + row, 0, month, "number")
        worked.append(page.put(first + row, 1, done[row] * work.lengths[row], "number"))
    found = {}
    column = 3
    for place, mix in enumerate(mixes.values()):
        parts = _parts(work, mix, base)
        if parts is None:
            continue
        writer = _Writer(work=work, page=page, first=first, worked=tuple(worked), done=done)
        found[mix.key] = writer.mix((_TOP + place, column), mix, parts)
        column += len(_BY_MONTH) + 1
    return found


def _parts(work: Workbook, mix: Mix, base: Flows | None) -> tuple[Flows, Flows] | None:
    """Return what is owned and what is rented in a mix, None where one of them has no formulas."""
    keys = list(dict.fromkeys(part.key for part in mix.parts))
    known = dict(work.flows) | ({base.key: base} if base else {})
    flows = [known[key] for key in keys if key in known]
    owned = [entry for entry in flows if entry.cost.owned]
    rented = [entry for entry in flows if not entry.cost.owned]
    return (owned[0], rented[0]) if len(keys) == len(flows) == 2 and owned and rented else None  # noqa: PLR2004


@dataclass(frozen=True, kw_only=True, slots=True)
class _Writer:
    work: Workbook
    page: Page
    first: int
    worked: Rows
    done: Rows

    def mix(self, place: tuple[int, int], mix: Mix, parts: tuple[Flows, Flows]) -> Mixed:
        """Write one mix: its facts in a row, its months from a column on."""
        (row, column), (own, rent) = place, parts
        share, most = self._facts(row, mix, own)
        self.page.text(self.first - 2, column, label_of(mix.key), "bold")
        self.page.widths_at(column, *(15.0 for _ in _BY_MONTH))
        self.page.head(self.first - 1, _BY_MONTH, texts=0, column=column)
        rows = range(self.work.rows)
        keeps = own.key.endswith(BASE) or self.work.plan.economics.growth.growth_per_year < 0
        fixed = self._column(column, [self._there(at, share) for at in rows], "number")
        working = [smallest(1.0, most / self.done[at]) if keeps else most for at in rows]
        does = self._column(column + 1, [self._there(at, usd) for at, usd in enumerate(working)], "number")
        others: tuple[Class, ...] = tuple(kind for kind in RUNNING if kind != "used")

        def shared(shares: Sequence[Figure], flows: Flows, kinds: tuple[Class, ...], *, rest: bool) -> list[Figure]:
            kinds = tuple(kind for kind in kinds if flows.of(kind))
            if not kinds:
                return [figure(0.0)] * self.work.rows
            return [(1.0 - one if rest else one) * flows.in_month(at, kinds) for at, one in enumerate(shares)]

        columns = {
            _FIXED: fixed,
            _WORK: does,
            _OWN_USED: self._column(column + 2, shared(does, own, ("used",), rest=False)),
            _OWN_KEPT: self._column(column + 3, shared(fixed, own, others, rest=False)),
            _RENT_USED: self._column(column + 4, shared(does, rent, ("used",), rest=True)),
            _RENT_STANDING: self._column(column + 5, shared(fixed, rent, ("standing",), rest=True)),
            _RENT_KEPT: self._column(column + 6, shared(fixed, rent, ("committed", "kept"), rest=True)),
        }
        done_there = self.page.put(
            row, 6, product_sum(span(does), span(self.worked)) / total(span(self.worked)), "share_2"
        )
        assets = self._assets(own, share)
        bought = tuple(added(cells) for cells in zip(*assets.values(), strict=True))
        flows: dict[Class, Rows] = {
            "used": tuple(added([columns[_OWN_USED][at], columns[_RENT_USED][at]]) for at in rows),
            "standing": columns[_RENT_STANDING] if rent.of("standing") else (),
            "kept": tuple(added([columns[_OWN_KEPT][at], columns[_RENT_KEPT][at]]) for at in rows),
            "bought": bought,
            "sold": tuple(share * usd for usd in own.of("sold")),
        }
        rest = 1.0 - done_there
        return Mixed(
            flows=flows,
            assets=assets,
            days=done_there * own.days + rest * rent.days,
            gpus=whole(own.gpus * share + 1e-9),
            busy=done_there * own.busy + rest * rent.busy,
            parts=parts,
            work_shares=(done_there, rest),
            columns=columns,
        )

    def _facts(self, row: int, mix: Mix, own: Flows) -> tuple[Figure, Figure]:
        page = self.page
        page.text(row, 0, label_of(mix.key))
        nodes = page.number(row, 1, float(mix.nodes), "input")
        whole_cluster = page.number(row, 2, float(own.cost.nodes), "number")
        share = page.put(row, 3, nodes / whole_cluster, "share_2")
        if mix.utilisation is None:
            may = page.put(row, 4, own.busy, "share_2")
        else:
            may = page.number(row, 4, mix.utilisation, "share_input")
        return share, page.put(row, 5, smallest(1.0, share * may / own.busy), "share_2")

    def _column(self, column: int, figures: Sequence[Figure], style: str = "usd") -> Rows:
        return tuple(self.page.put(self.first + row, column, usd, style) for row, usd in enumerate(figures))

    def _there(self, row: int, share: Figure) -> Figure:
        """Return a share from delivery on."""
        until = self.work.names.get("delivery_months")
        if until is None:
            return share
        return when(self.work.months[row].above(until) if row else until.at_most(0.0), share, 0.0)

    def _assets(self, own: Flows, share: Figure) -> dict[Asset, Rows]:
        """Return what is bought by class; with a deposit, what is paid at delivery is a class of its own."""
        deposit, until = self.work.names.get("deposit"), self.work.names.get("delivery_months")
        found = {}
        for asset, paid in own.assets.items():
            bought = [share * usd for usd in paid]
            if deposit is None or until is None:
                found[asset] = tuple(bought)
                continue
            rest = (1.0 - deposit) * bought[0]
            found[asset] = (deposit * bought[0], *bought[1:])
            found[replace(asset, late=True)] = tuple(
                when(both(month.equals(until), length.above(0.0)), rest, 0.0)
                for month, length in zip(self.work.months, self.work.lengths, strict=True)
            )
        return found


def run_of(work: Workbook, mixed: Mixed, flows: Flows) -> Figure:
    """Return the cost of one run: by use over the runs, the rest by each part's share of the hours."""
    names, (own, rent) = work.names, mixed.parts
    hours = names["horizon_months"] * names["hours_per_month"]

    def held(part: Flows) -> Figure:
        return part.days * 24.0 / (hours * names["utilisation"] * names.get("mean_work", figure(1.0)))

    owned = added([total(span(mixed.columns[_OWN_KEPT])), *(total(column) for column in flows.spans(CAPITAL))])
    return added(
        [
            flows.sum_of("used") / names["runs_in_horizon"],
            owned * held(own),
            total(span(mixed.columns[_RENT_STANDING])) * rent.days * 24.0 / hours,
            total(span(mixed.columns[_RENT_KEPT])) * held(rent),
        ]
    )


def gpu_hours_of(mixed: Mixed) -> Figure:
    """Return the GPU-hours of a run: those of each part by the work that is done there."""
    pairs = zip(mixed.parts, mixed.work_shares, strict=True)
    return added([share * part.gpus * part.days * 24.0 for part, share in pairs])
