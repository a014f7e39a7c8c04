"""What a rule of the policy pack is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Stands for a value that is only known after deployment, such as the id of a key that does not exist yet. A rule that
#: asks whether something is set may take it for set; a rule that asks what is in it has nothing to say.
UNKNOWN = "unknown until deployed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One requirement on resources.

    Attributes:
        name: kebab-case, shown with every violation.
        description: the requirement, as a sentence.
        check: from a resource's type token and its inputs, as plain dicts and lists with the provider's names, to
            messages; none means that it holds.
    """

    name: str
    description: str
    check: Callable[[str, Mapping[str, Any]], Sequence[str]]
