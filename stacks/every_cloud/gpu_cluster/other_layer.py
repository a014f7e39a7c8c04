"""What a layer takes from the layers before it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pulumi

from gpu_cluster.config_values import ConfigError


class OtherLayer:
    """The outputs of another layer's stack; an output that this layer does not have is an error, not an empty value.

    A stack that is of another cluster ends the program before anything is made with its outputs.
    """

    def __init__(self, stack: str) -> None:
        self._stack = stack
        self._reference = pulumi.StackReference(stack)
        own = pulumi.Config().require("clusterName")
        recorded = cast("pulumi.Output[Mapping[str, str] | None]", self._reference.get_output("identity"))
        self._owner = recorded.apply(lambda known: self._checked(known, own))

    def _checked(self, known: Mapping[str, str] | None, own: str) -> str:
        owner = known["cluster"] if known else own
        if owner != own:
            raise ConfigError(
                [
                    f"STA003: clusterName: stack {self._stack} is of cluster {owner}, and this layer is of {own}; "
                    "name one cluster in all layers, or work in the folder of that one"
                ]
            )
        return owner

    def _required(self, output: str) -> pulumi.Output[Any]:
        value = self._reference.require_output(output)
        return pulumi.Output.all(self._owner, value).apply(lambda known: known[1])

    def text(self, output: str) -> pulumi.Output[str]:
        """Read a string."""
        return cast("pulumi.Output[str]", self._required(output))

    def optional_text(self, output: str) -> pulumi.Output[str]:
        """Read a string that a layer has only where it made something; empty otherwise."""
        value = cast("pulumi.Output[str | None]", self._reference.get_output(output))
        return pulumi.Output.all(self._owner, value).apply(lambda known: known[1] or "")

    def text_for_nodes(self, output: str, node_count: int) -> pulumi.Output[str]:
        """Read a string of the foundation that nodes are made with; more nodes than its network holds end the program.

        Args:
            output: of the foundation.
            node_count: nodes that the network must have addresses for.
        """
        room = cast("pulumi.Output[float]", self._required("node_addresses"))

        def checked(known: Sequence[str | float]) -> str:
            text, most = str(known[0]), int(known[1])
            if node_count > most:
                raise ConfigError(
                    [
                        f"PRE032: nodeCount: {node_count} nodes are more than the {most} that the foundation's network "
                        f"has addresses for; set {most} or fewer, or make another cluster with a larger network"
                    ]
                )
            return text

        return pulumi.Output.all(self.text(output), room).apply(checked)

    def texts(self, output: str) -> pulumi.Output[Sequence[str]]:
        """Read a list of strings."""
        return cast("pulumi.Output[Sequence[str]]", self._required(output))

    def objects(self, output: str) -> pulumi.Output[Sequence[dict[str, str]]]:
        """Read a list of objects."""
        return cast("pulumi.Output[Sequence[dict[str, str]]]", self._required(output))
