"""What comes back from a cloud, by the output shapes of the SDK: inputs, completed by examples or unknowns."""

from collections.abc import Mapping
from typing import Any

from .shapes import AnyOf, Entries, Items, Nested, Scalar, Sdk, Shape, nested_outputs

__all__ = ["Sdk", "completed", "example_output", "fits"]


def fits(value: Any, shape: Shape) -> bool:  # noqa: ANN401 - JSON
    """Tell whether the SDK would accept a value as an output of this shape; some inputs come back in another one."""
    if isinstance(value, Mapping) and any(key.startswith("$") for key in value):
        return True  # a secret, an unknown or another resource
    match shape:
        case Items(item=item):
            return isinstance(value, list) and all(fits(one, item) for one in value)
        case Entries(item=item):
            return isinstance(value, Mapping) and all(fits(one, item) for one in value.values())
        case Nested():
            known = nested_outputs(shape)
            if known is None:
                return not isinstance(value, Mapping | list)
            return isinstance(value, Mapping) and all(
                fits(one, known[key]) for key, one in value.items() if key in known
            )
        case AnyOf(options=options):
            return any(fits(value, option) for option in options)
        case Scalar(kind="bool"):
            return isinstance(value, bool)
        case Scalar(kind="str"):
            return isinstance(value, str)
        case _:
            return True


def example_output(shape: Shape, name: str, *, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return a value that an output of this shape could have; lists come back empty, as the SDK leaves out the rest.

    Args:
        shape: of the output.
        name: what a text value says, so that it can be recognised where it is used.
        depth: how many objects it is inside.
    """
    match shape:
        case Scalar(kind="str"):
            return name
        case Scalar(kind="bool"):
            return False
        case Scalar():
            return 1
        case Items():
            return []
        case Entries():
            return {}
        case AnyOf(options=options):
            return example_output(options[0], name, depth=depth)
        case Nested() if depth < 2:
            properties = (nested_outputs(shape) or {}).items()
            return {key: example_output(inner, f"{name}-{key}", depth=depth + 1) for key, inner in properties}
        case _:
            return None


def completed(value: Any, shape: Shape, name: str, *, dry_run: bool) -> Any:  # noqa: ANN401 - JSON
    """Return an input as it comes back: with the properties that only the cloud knows, unknown in a preview."""
    match shape:
        case Nested() if isinstance(value, Mapping) and not any(key.startswith("$") for key in value):
            missing = {
                key: {"$unknown": True} if dry_run else example_output(inner, f"{name}-{key}", depth=2)
                for key, inner in (nested_outputs(shape) or {}).items()
                if key not in value
            }
            known = nested_outputs(shape) or {}
            given = {
                key: completed(one, known[key], f"{name}-{key}", dry_run=dry_run) if key in known else one
                for key, one in value.items()
            }
            return missing | given
        case Items(item=item) if isinstance(value, list):
            return [completed(one, item, name, dry_run=dry_run) for one in value]
        case _:
            return value
