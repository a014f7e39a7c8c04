"""Checks that ask the provider, read-only. The provider's SDK is an optional extra and is imported here only."""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

from clusterwright.checks.preflight.online import judge
from clusterwright.checks.preflight.online.answers import NoAnswerError, NoLoginError, Provider
from clusterwright.checks.preflight.results import Outcome, Result
from clusterwright.checks.preflight.subject import Subject
from clusterwright.checks.preflight.table import BY_ID
from clusterwright.errors import InputError

_Question = Callable[[Subject, Provider], Iterable[Outcome]]


def provider_of(subject: Subject) -> Provider:
    """Return what asks the subject's provider, with the login that its own command line uses.

    Raises:
        InputError: the extra with the provider's SDK is not installed.
    """
    try:
        module = import_module(f"{__name__}.{subject.cloud}")
    except ModuleNotFoundError as error:
        raise InputError(
            f"asking {subject.cloud} needs its SDK, which is not installed ({error.name} is missing)",
            help=f"pip install 'clusterwright[{subject.cloud}]'",
        ) from None
    provider: Provider = module.provider(subject)
    return provider


def online(subject: Subject, provider: Provider | None = None, *, now: dt.datetime | None = None) -> tuple[Result, ...]:
    """Return what the provider says, in the order of the table.

    Args:
        subject: what is checked.
        provider: who is asked; by default the one of the subject's cloud.
        now: today by default.

    Raises:
        InputError: the extra with the provider's SDK is not installed.
    """
    asked = provider or provider_of(subject)
    return tuple(_results(subject, asked, now or dt.datetime.now(dt.UTC)))


def _results(subject: Subject, provider: Provider, now: dt.datetime) -> Iterator[Result]:
    questions: dict[str, _Question] = {
        "PRE101": judge.account,
        "PRE102": judge.quota,
        "PRE103": judge.offered,
        "PRE104": lambda subject, provider: judge.reservation(subject, provider, now),
        "PRE105": judge.images,
        "PRE106": judge.existing_network,
        "PRE107": judge.groups,
        "PRE108": judge.networks,
    }
    for id_, question in questions.items():
        check = BY_ID[id_]
        outcomes, go_on = _asked(subject, provider, question)
        for outcome in outcomes:
            yield Result(check=id_, title=check.title, cloud=subject.cloud, outcome=outcome)
        if not go_on:
            return


def _asked(subject: Subject, provider: Provider, question: _Question) -> tuple[tuple[Outcome, ...], bool]:
    """Return the outcomes of a question, and whether the next makes sense."""
    try:
        return tuple(question(subject, provider)), True
    except NoLoginError as error:
        return (Outcome(status="FAIL", message=error.message, fix=error.help or ""),), False
    except NoAnswerError as error:
        return (Outcome(status="UNKNOWN", message=error.message, fix=error.help or ""),), True
