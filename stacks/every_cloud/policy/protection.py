"""What holds data is protected by the engine: `destroy` refuses it until somebody lifts that on purpose."""

from collections.abc import Callable, Sequence

from rule import PROTECTION, Registered, StackRule


def protected(kinds: Sequence[str], exempt: Callable[[Registered], bool] = lambda _: False) -> StackRule:
    """The rule that resources of some types are protected.

    Args:
        kinds: tokens of the types that hold data, or the keys to them.
        exempt: tells which of them hold nothing that anybody needs.
    """

    def holding(resources: Sequence[Registered]) -> list[Registered]:
        return [one for one in resources if one.type in kinds and not exempt(one)]

    def check(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
        return [
            (one.urn, "is not protected: a slip deletes it, and the data with it; set protect")
            for one in holding(resources)
            if not one.protect
        ]

    def shows(resources: Sequence[Registered]) -> Sequence[str]:
        return [one.urn for one in holding(resources) if one.protect]

    return StackRule(
        name="data-is-protected",
        description="The engine does not delete data.",
        check=check,
        about=PROTECTION,
        shows=shows,
    )
