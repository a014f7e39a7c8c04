"""Errors and findings with their place in the blueprint."""

from collections.abc import Iterator
from contextlib import contextmanager

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.blueprint.reading.problems import LOOK_IT_UP, BlueprintError, Problem
from clusterwright.errors import EXIT_RULE_FAILED, ClusterwrightError, Finding, RuleError


@contextmanager
def placing(loaded: LoadedBlueprint) -> Iterator[None]:
    """Show an error that names a path of the blueprint at its place in the file.

    Raises:
        BlueprintError: the error, with its place.
    """
    try:
        yield
    except RuleError as error:
        raise placed(loaded, error.findings, exit_code=error.exit_code) from None
    except ClusterwrightError as error:
        if not error.path:
            raise
        raise loaded.error(tuple(_problems(error))) from None


def _problems(error: ClusterwrightError) -> Iterator[Problem]:
    """Yield what is wrong with the file that a key names, each thing with its id, or the error as a whole."""
    for item in error.findings:
        yield Problem(path=error.path, id=item.id, message=item.message, help=item.help, exit_code=error.exit_code)
    if not error.findings:
        what_to_do = error.help or LOOK_IT_UP
        yield Problem(path=error.path, message=error.message, help=what_to_do, exit_code=error.exit_code)


def placed(
    loaded: LoadedBlueprint, findings: tuple[Finding, ...], *, exit_code: int = EXIT_RULE_FAILED
) -> BlueprintError:
    """Return the error that shows failed rules where they are in the blueprint."""
    return loaded.error(
        tuple(Problem(path=item.path, message=item.message, help=item.help, id=item.id) for item in findings),
        exit_code=exit_code,
    )
