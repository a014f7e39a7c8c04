"""Read configurations with a project's own settings, in the stacks' environment; called by `test_stack.py`.

Arguments: the project's folder. Standard input: a JSON list of `[layer, configuration]`, keys without prefix. Standard
output: a JSON list with the message of each refusal, or null.
"""

import importlib
import json
import sys

sys.path.insert(0, sys.argv[1])


def refusal(layer: str, values: dict[str, object]) -> str | None:
    """Return what a layer's settings say against a configuration."""
    settings = importlib.import_module(f"gpu_cluster.settings_{layer}")
    read = getattr(settings, "read_settings", None) or settings.read_settings
    try:
        read(values)
    except Exception as error:  # noqa: BLE001 - whatever it is, the program would not start
        return f"{type(error).__name__}: {error}"
    return None


print(json.dumps([refusal(layer, values) for layer, values in json.load(sys.stdin)]))  # noqa: T201
