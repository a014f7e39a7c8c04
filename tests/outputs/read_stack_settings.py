"""Read configurations with a stack's own program, in the stacks' environment; called by `test_stack.py`.

Arguments: the stack's folder. Standard input: a JSON list of configurations without key prefixes. Standard output: a
JSON list with the message of each refusal, or null.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

if sys.argv[1].rstrip("/").endswith("azure"):
    from rules import parse_settings as read  # type: ignore[import-not-found]
else:
    from settings import read_settings as read  # type: ignore[import-not-found]


def refusal(values: dict[str, object]) -> str | None:
    """Return what the program says against a configuration."""
    try:
        read(values)
    except Exception as error:  # noqa: BLE001 - each stack has an error of its own
        return f"{type(error).__name__}: {error}"
    return None


print(json.dumps([refusal(values) for values in json.load(sys.stdin)]))  # noqa: T201
