"""Clusterwright: size, price and build the cluster of an AI workload from one YAML blueprint.

    import clusterwright as cw

    result = cw.plan("blueprint.yaml")
    result.compare().table("ranking")

docs/howto/python.md has a longer example. Each name is imported when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
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
        PlanDifference,
        PlanResult,
        Prices,
        Problem,
        RuleError,
        SweepResult,
        diff,
        load,
        open_facts,
        plan,
        prices,
        sweep,
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
    "PlanDifference",
    "PlanResult",
    "Prices",
    "Problem",
    "RuleError",
    "SweepResult",
    "diff",
    "load",
    "open_facts",
    "plan",
    "prices",
    "sweep",
    "validate",
]
#: Packages that share their name with a function of the interface and are made callable as that function.
_CALLED = ("diff", "plan", "sweep")


def __getattr__(name: str) -> Any:  # noqa: ANN401 - functions, records and errors
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _CALLED:
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(f"{__name__}.interface"), name)


class _CalledPackage(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the types are those of the interface
        function = self.__name__.rpartition(".")[2]
        return getattr(import_module(f"{__name__}.interface"), function)(*arguments, **options)


def call_like_the_interface(package: str) -> None:
    """Make a package callable as the function of `clusterwright.interface` that has its name.

    `clusterwright.plan` is a package and `clusterwright.plan(…)` a function; Python keeps one object for both.
    """
    sys.modules[package].__class__ = _CalledPackage


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
