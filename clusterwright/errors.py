"""Errors that people read, and the exit codes they lead to.

- `ClusterwrightError`: base, a message and what to do about it
- `InputError`: bad input or usage (exit 2); `UnitError`, a quantity that cannot be read, is one and also a ValueError,
  so that schemas collect it
- `RuleError`: valid input, but a rule failed (exit 1)
- `MissingFactError`: a fact or a price is missing or too old, and there is no answer without it (exit 3); a plan of
  which a price is missing says `unknown` and names it (exit 0)
"""

import re
from dataclasses import dataclass

EXIT_FINE = 0
EXIT_RULE_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_FACT_MISSING = 3
EXIT_BUG = 70

#: Longer words, and longer lines, of what people read are cut in their middle: others' values are in them.
_MOST_OF_WORD, _MOST_OF_LINE = 300, 10_000
_LONG = tuple(re.compile(text) for text in (rf"\S{{{_MOST_OF_WORD + 1},}}", rf"[^\n]{{{_MOST_OF_LINE + 1},}}"))
_KEPT_BEFORE, _KEPT_AFTER = 60, 20


def shortened(text: str) -> str:
    """Return a message with each overlong value in it cut in its middle.

    >>> shortened("7" + "9" * 5000)[59:]
    '9… (4,921 characters) …99999999999999999999'
    """

    def cut(found: re.Match[str]) -> str:
        left_out = len(found[0]) - _KEPT_BEFORE - _KEPT_AFTER
        return f"{found[0][:_KEPT_BEFORE]}… ({left_out:,} characters) …{found[0][-_KEPT_AFTER:]}"

    # Words first, so that the line around one of them stays.
    for pattern in _LONG:
        text = pattern.sub(cut, text)
    return text


class ClusterwrightError(Exception):
    """An error with a message for people and, where there is one, the way out.

    Attributes:
        path: blueprint path of what is wrong, for example `("workload", "model")`; empty if it is not known.
    """

    exit_code = EXIT_BUG

    def __init__(
        self,
        message: str,
        *,
        help: str | None = None,  # noqa: A002 - the word users see
        path: tuple[str | int, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = shortened(message)
        self.help = None if help is None else shortened(help)
        self.path = path


class InputError(ClusterwrightError):
    """The user's input cannot be used as it is."""

    exit_code = EXIT_BAD_INPUT


class UnitError(InputError, ValueError):
    """A quantity's number or unit cannot be read."""


class MissingFactError(ClusterwrightError):
    """A fact or a price that the answer needs is missing or too old."""

    exit_code = EXIT_FACT_MISSING


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A rule that failed: a stable id, where in the blueprint, what is wrong, and what to do.

    Attributes:
        id: stable rule id, for example `MEM001`.
        path: blueprint path the rule speaks of, for example `("goals", "finish_within")`; empty if none.
        message: what is wrong, with the numbers.
        help: what would make it right.
    """

    id: str
    path: tuple[str | int, ...]
    message: str
    help: str


class RuleError(ClusterwrightError):
    """The blueprint is valid, but one or more rules failed."""

    exit_code = EXIT_RULE_FAILED

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("; ".join(f"{finding.id}: {finding.message}" for finding in findings))
        self.findings = findings
