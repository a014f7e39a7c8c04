"""What rules of the policy pack are: of one resource, or of all resources of a stack together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Stands for a value that is only known after deployment, such as the id of a key that does not exist yet. A rule that
#: asks whether something is set may take it for set; a rule that asks what is in it has nothing to say.
UNKNOWN = "unknown until deployed"
# Subjects with a check of their own in a preflight; every other rule is reported under one check.
FABRIC, PLACEMENT, PROTECTION = "fabric", "placement", "protection"
ABOUT = (FABRIC, PLACEMENT, PROTECTION)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One requirement on resources.

    Attributes:
        name: kebab-case, shown with every violation.
        description: the requirement, as a sentence.
        check: from a resource's type token and its inputs, as plain dicts and lists with the provider's names, to
            messages; none means that it holds.
        about: subject under which a preflight reports it: one of `ABOUT`.
    """

    name: str
    description: str
    check: Callable[[str, Mapping[str, Any]], Sequence[str]]
    about: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """One resource of a stack, as a rule of the whole stack sees it.

    Attributes:
        urn: of the resource; type: its token.
        inputs: as plain dicts and lists with the provider's names.
        behind: name of an input to the URNs of the resources whose outputs are in it, known already or not.
        protect: whether the engine refuses to delete it.
        ignores: inputs whose changes the engine leaves alone.
    """

    urn: str
    type: str
    inputs: Mapping[str, Any]
    behind: Mapping[str, Sequence[str]]
    protect: bool = False
    ignores: Sequence[str] = ()

    def leads_to(self, name: str, urn: str) -> bool:
        """Whether an input is made of an output of another resource."""
        return urn in self.behind.get(name, ())


@dataclass(frozen=True, kw_only=True, slots=True)
class StackRule:
    """One requirement on resources together, such as that none goes without another.

    Attributes:
        name, description: as those of a rule.
        check: from all resources of a stack to pairs of URN and message; none means that it holds.
        about: as that of a rule.
        shows: from all resources to the URNs of those by which the rule holds; none where it does not apply.
    """

    name: str
    description: str
    check: Callable[[Sequence[Registered]], Sequence[tuple[str, str]]]
    about: str = ""
    shows: Callable[[Sequence[Registered]], Sequence[str]] | None = None
