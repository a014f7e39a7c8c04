"""Run the layers for several clusters, each layer once for equal configurations."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from recording import LAYERS, Program, changed, run_layer


@pytest.fixture(scope="session")
def run() -> Callable[..., Program]:
    """Return a function that runs all layers of the example with changes, or those that are named."""
    done: dict[str, Program] = {}

    def cached(*layers: str, **changes: Any) -> Program:
        whole, so_far = Program(), ""
        for layer in layers or LAYERS:
            values = changed(layer, **changes)
            # What a layer registers depends on its own configuration and on that of the layers before it.
            so_far += json.dumps([layer, values], sort_keys=True)
            if so_far not in done:
                done[so_far] = run_layer(layer, values, whole.outputs)
            whole.resources += done[so_far].resources
            whole.outputs |= done[so_far].outputs
        return whole

    return cached
