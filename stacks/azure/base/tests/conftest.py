"""Run the layers for several clusters, once for equal ones."""

from collections.abc import Callable
from typing import Any

import pytest

from recording import Program, run_layers


@pytest.fixture(scope="session")
def run() -> Callable[..., Program]:
    """Return a function that runs all layers of the example with changes, once for equal changes."""
    done: dict[str, Program] = {}

    def cached(*layers: str, **changes: Any) -> Program:
        key = repr((layers, sorted(changes.items())))
        if key not in done:
            done[key] = run_layers(*layers, **changes)
        return done[key]

    return cached
