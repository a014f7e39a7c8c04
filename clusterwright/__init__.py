"""Clusterwright: one blueprint of an AI workload in, the cluster, its code, its documents and its cost out.

    import clusterwright as cw

    result = cw.plan("blueprint.yaml")
    result.compare().table("ranking")

docs/python.md has a longer example. Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterwright.interface import (
        BlueprintError,
        ClusterwrightError,
        Comparison,
        Facts,
        Finding,
        InputError,
        LoadedBlueprint,
        MissingFactError,
        PlanResult,
        Prices,
        Problem,
        RuleError,
        load,
        open_facts,
        plan,
        prices,
        validate,
    )

__version__ = "0.1.0"
__all__ = [
    "BlueprintError",
    "ClusterwrightError",
    "Comparison",
    "Facts",
    "Finding",
    "InputError",
    "LoadedBlueprint",
    "MissingFactError",
    "PlanResult",
    "Prices",
    "Problem",
    "RuleError",
    "load",
    "open_facts",
    "plan",
    "prices",
    "validate",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - functions, records and errors
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The package `plan` has the name of the function, and is called like it.
    return (
        import_module(f"{__name__}.plan") if name == "plan" else getattr(import_module(f"{__name__}.interface"), name)
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
