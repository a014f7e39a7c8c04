"""Which line of a plan's bill a charge of a provider belongs to, and how its quantity compares.

In this order: our own column `x_BillLine`, or the price key as SKU; the name of the machine type; the provider's words
in `tco/focus_services.csv`. What none of them knows stays unplanned under the provider's own name.
"""

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from clusterwright.assets import root
from clusterwright.finance.charges import Charge
from clusterwright.tco.focus.export import ChargeGroup

#: Words in a provider's name, by target.
_PROVIDERS = (
    ("aws", ("amazon", "aws")),
    ("azure", ("microsoft", "azure")),
    ("gcp", ("google", "gcp")),
    ("onprem", ("on premises",)),
)
_NUMBER = re.compile(r"([\d,.]+)\s*(.*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A row of `tco/focus_services.csv`.

    Attributes:
        line: name that lines of the plan and charges meet under; target: whose.
        sku: pattern of the plan's price keys; billed_as: of the provider's words, empty for machine types.
        counted_as: of those charges whose quantity is the plan's; `^$` where none is, empty where every one is.
        per: `gpus` where the provider counts GPUs and the plan nodes.
    """

    line: str
    target: str
    sku: str
    billed_as: str
    counted_as: str
    per: str


@cache
def services() -> tuple[Service, ...]:
    """Return the table, in its order: the first row that fits is taken."""
    with (root() / "tco" / "focus_services.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(
            Service(
                line=row["line"],
                target=row["provider"],
                sku=row["sku"],
                billed_as=row["billed_as"],
                counted_as=row["counted_as"],
                per=row["per"],
            )
            for row in csv.DictReader(lines)
        )


@cache
def _units() -> dict[str, tuple[str, float]]:
    with (root() / "tco" / "focus_units.csv").open(encoding="utf-8", newline="") as lines:
        return {row["unit"]: (row["measure"], float(row["factor"])) for row in csv.DictReader(lines)}


def target_of(provider: str) -> str:
    """Return the target that a provider's name means, empty for none.

    >>> target_of("Amazon Web Services"), target_of("Microsoft"), target_of("Other")
    ('aws', 'azure', '')
    """
    name = provider.lower()
    return next((target for target, words in _PROVIDERS if any(word in name for word in words)), "")


def planned_line(charge: Charge) -> str:
    """Return the name that a planned charge is compared under."""
    return _line_of(charge.key)


@cache
def _service_of(key: str) -> Service | None:
    return next((service for service in services() if re.search(service.sku, key)), None)


def _line_of(key: str) -> str:
    known = _service_of(key)
    return known.line if known is not None and known.billed_as else key


def _is_machine(key: str, target: str) -> bool:
    known = _service_of(key)
    return known is not None and known.target == target and not known.billed_as


def billed_line(group: ChargeGroup, target: str, keys: Collection[str]) -> tuple[str, Service | None]:
    """Return the line that charges belong to, and the row of the table that says so, None where a name says it.

    Args:
        group: of charges.
        target: whose they are.
        keys: price keys of the plan.
    """
    for key in (group.bill_line, group.sku):
        if key in keys:
            return _line_of(key), None
    words = " | ".join(filter(None, (group.meter, group.description)))
    machine = _machine(words, [key for key in keys if _is_machine(key, target)])
    if machine:
        return machine, None
    said = " | ".join(filter(None, (group.service, words)))
    for service in services():
        if service.target == target and service.billed_as and re.search(service.billed_as, said, re.IGNORECASE):
            return service.line, service
    product = group.meter or group.description or group.sku or "unnamed"
    return f"{group.service or group.provider}: {product.split(' | ')[0]}", None


def _machine(words: str, keys: Collection[str]) -> str:
    """Return the price key whose machine type the words name, the longest name first."""
    plain = _plain(words)
    named = [(_plain(key.partition("/")[2].removeprefix("Standard_")), key) for key in keys]
    return next((key for name, key in sorted(named, key=lambda entry: -len(entry[0])) if name and name in plain), "")


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9.|]", "", text.lower())


def measured(billed: str, planned: str) -> float | None:
    """Return what turns a billed quantity into the planned unit, None where they measure different things.

    >>> measured("hrs", "Node-Hours"), measured("100 hours", "Unit-Hours"), measured("requests", "Node-Hours")
    (1.0, 100.0, None)
    """
    theirs, ours = _measure(billed), _measure(planned)
    if theirs is None or ours is None or theirs[0] != ours[0]:
        return None
    return theirs[1] / ours[1]


def _measure(unit: str) -> tuple[str, float] | None:
    words = unit.strip().lower()
    known = _units().get(words)
    if known is not None:
        return known
    number = _NUMBER.fullmatch(words)
    if number is None:
        return None
    known = _units().get(number[2].strip())
    try:
        return None if known is None else (known[0], known[1] * float(number[1].replace(",", "")))
    except ValueError:
        return None
