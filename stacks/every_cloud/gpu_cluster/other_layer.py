"""What a layer takes from the layers before it."""

from collections.abc import Sequence
from typing import cast

import pulumi


class OtherLayer:
    """The outputs of another layer's stack; an output that this layer does not have is an error, not an empty value."""

    def __init__(self, stack: str) -> None:
        self._reference = pulumi.StackReference(stack)

    def text(self, output: str) -> pulumi.Output[str]:
        """Read a string."""
        return cast("pulumi.Output[str]", self._reference.require_output(output))

    def texts(self, output: str) -> pulumi.Output[Sequence[str]]:
        """Read a list of strings."""
        return cast("pulumi.Output[Sequence[str]]", self._reference.require_output(output))

    def objects(self, output: str) -> pulumi.Output[Sequence[dict[str, str]]]:
        """Read a list of objects."""
        return cast("pulumi.Output[Sequence[dict[str, str]]]", self._reference.require_output(output))
