"""Configuration of a cloud's layers: from plan and catalogue to the keys that each `Pulumi.yaml` declares."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from clusterwright.catalog.records import Catalogue
from clusterwright.plan.record import Option, Plan

#: In the order in which they are brought up.
LAYERS = ("foundation", "cluster", "nodes")

#: Layer to full key to value.
Configuration = dict[str, dict[str, Any]]


def configuration(plan: Plan, option: Option, catalogue: Catalogue) -> Configuration:
    """Return the configuration of every layer: full key to value, in the order in which it is written.

    Every value is a fact of the catalogue or a number of the plan. Values that are None are left out, in objects too.
    """
    module = import_module(f"{__name__}.{option.target}")
    written = cast("Callable[[Plan, Option, Catalogue], Configuration]", module.configuration)(plan, option, catalogue)
    return {
        layer: {key: _known(value) for key, value in written[layer].items() if value is not None} for layer in LAYERS
    }


def _known(value: Any) -> Any:  # noqa: ANN401 - configuration values
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value
