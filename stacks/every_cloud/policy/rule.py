"""What a rule of the policy pack is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One requirement on resources.

    Attributes:
        name: kebab-case, shown with every violation.
        description: the requirement, as a sentence.
        check: from a resource's type token and its properties to messages; none means that it holds. A property that
            is not known before deployment is missing or None, and then nothing is said about it.
    """

    name: str
    description: str
    check: Callable[[str, Mapping[str, Any]], Sequence[str]]
