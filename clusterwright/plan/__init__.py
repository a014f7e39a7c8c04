"""The Plan: the only place that chooses, and the record that everything after it reads."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """The package, which is also `clusterwright.plan(…)`: both are called by the same name."""

    def __call__(self, source: Any, **options: Any) -> Any:  # noqa: ANN401 - the types are those of the interface
        """Return the plan of a blueprint; see `clusterwright.interface.plan`."""
        return import_module("clusterwright.interface").plan(source, **options)


sys.modules[__name__].__class__ = _CallablePackage
