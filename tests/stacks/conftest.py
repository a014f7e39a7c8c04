"""What the proofs of the stacks share: the stacks' environment, and which worker proves which stack."""

import os
from types import SimpleNamespace

import pytest

from .projects import stacks_python

#: Programs of the stacks' environment; they cannot be imported here.
collect_ignore = ["monitor"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what is about one stack on one worker, since a run of its programs is made once for each worker."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_stack_of(item)))


def _stack_of(item: pytest.Item) -> str:
    """Return the stack that a test's parameters are about; what is about all of them stays together too."""
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    for one in (SimpleNamespace(**given), *given.values()):
        if hasattr(one, "cloud") and hasattr(one, "scheduler"):
            return f"{one.cloud}-{one.scheduler}"
    return "every stack"


@pytest.fixture(autouse=True)
def _environment() -> None:
    """Skip where the SDKs are not installed, and fail where every engine has to be there."""
    if stacks_python() is not None:
        return
    message = "the stacks' environment is not installed (make .venv-stacks/installed)"
    if os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") == "1":
        pytest.fail(message)
    pytest.skip(message)
