"""Errors that people read, and their exit codes.

- `ClusterwrightError`: base class, with a message and advice on what to do
- `InputError`: bad input or usage (exit 2); its subclass `UnitError`, for a quantity that cannot be parsed, is also a
  ValueError so that schemas collect it
- `RuleError`: valid input, but a rule failed (exit 1)
- `MissingFactError`: a fact or a price is missing or too old, and there is no answer without it (exit 3); a plan with
  a missing price prints `unknown` and names the price (exit 0)
"""

import re
from dataclasses import dataclass

EXIT_FINE = 0
EXIT_RULE_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_FACT_MISSING = 3
EXIT_BUG = 70

#: Characters of a word and of a line in a message. Longer ones are cut in the middle, because messages quote values
#: that come from users and servers and may have any length.
_MAX_WORD, _MAX_LINE = 300, 10_000
_OVERLONG = tuple(re.compile(text) for text in (rf"\S{{{_MAX_WORD + 1},}}", rf"[^\n]{{{_MAX_LINE + 1},}}"))
_HEAD, _TAIL = 60, 20


def shortened(text: str) -> str:
    """Return a message with every overlong value cut in the middle.

    >>> shortened("7" + "9" * 5000)[59:]
    '9… (4,921 characters) …99999999999999999999'
    """

    def cut(match: re.Match[str]) -> str:
        omitted = len(match[0]) - _HEAD - _TAIL
        return f"{match[0][:_HEAD]}… ({omitted:,} characters) …{match[0][-_TAIL:]}"

    # Words are cut first, so that the line around an overlong word is kept.
    for pattern in _OVERLONG:
        text = pattern.sub(cut, text)
    return text


class ClusterwrightError(Exception):
    """An error with a message for people and, where there is one, advice on what to do.

    Attributes:
        message: what is wrong.
        help: advice on what to do, or None.
        path: blueprint path of the wrong value, for example `("workload", "model")`; empty if it is not known.
        findings: each thing that is wrong, where there may be several.
    """

    exit_code = EXIT_BUG
    findings: "tuple[Finding, ...]" = ()

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
    """Unusable input of the user."""

    exit_code = EXIT_BAD_INPUT


class UnitError(InputError, ValueError):
    """A quantity whose number or unit cannot be parsed."""


class MissingFactError(ClusterwrightError):
    """A fact or a price that the answer needs and that is missing or too old."""

    exit_code = EXIT_FACT_MISSING


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A failed rule: its stable id, its place in the blueprint, what is wrong, and what to do.

    Attributes:
        id: stable rule id, for example `MEM001`.
        path: blueprint path that the rule is about, for example `("goals", "finish_within")`; empty if none.
        message: what is wrong, with the numbers.
        help: advice on how to correct it.
    """

    id: str
    path: tuple[str | int, ...]
    message: str
    help: str


class RuleError(ClusterwrightError):
    """Failed rules of a valid blueprint."""

    exit_code = EXIT_RULE_FAILED

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("; ".join(f"{finding.id}: {finding.message}" for finding in findings))
        self.findings = findings
