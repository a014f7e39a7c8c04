"""What all tests share: settings of the property tests, real engines, and the shipped plan.

Properties are about results, never about time, and CI tries the same examples every time.
"""

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from openpyxl.workbook import Workbook

from clusterwright import assets
from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.finance.finances import Finances
from clusterwright.interface import planning
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.plan.training.record import TrainingPlan
from clusterwright.pricing.book import PriceBook
from clusterwright.sizing.hardware.calibration import load_calibration

# Workers of pytest-xdist set the width of a terminal, to which commands would fit what they print.
os.environ.pop("COLUMNS", None)

settings.register_profile("clusterwright", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("clusterwright")

#: Decisions that a worker keeps, the newest: a plan is up to 10 MB.
_KEPT_PLANS = 24

#: Whole files of tests skip without these; continuous integration has them all.
OPTIONAL_MODULES = ("boto3", "httpx", "ijson", "moto", "azure.mgmt.compute", "google.cloud.compute_v1", "distributed")


def pytest_sessionstart() -> None:
    """Refuse to start where every engine has to be there and a library or environment is missing: no silent skips."""
    if os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") != "1":
        return
    absent = [name for name in OPTIONAL_MODULES if not _is_installed(name)]
    stacks = Path(os.environ.get("CLUSTERWRIGHT_STACKS_VENV", assets.root() / ".venv-stacks"))
    if not (stacks / "bin" / "python").exists():
        absent.append(str(stacks))
    if absent:
        raise pytest.UsageError(f"not installed: {', '.join(absent)} (make test installs all of them)")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # A package above it is missing.
        return False


@pytest.fixture(scope="session")
def require_engine() -> Callable[..., None]:
    """Return a function that checks that programs are installed.

    A missing one skips the test with the reason, or fails it where `CLUSTERWRIGHT_REQUIRE_ENGINES=1` says that every
    engine has to be there (continuous integration).
    """

    def require(*programs: str, working: bool = True, reason: str = "") -> None:
        missing = [program for program in programs if shutil.which(program) is None]
        if not missing and working:
            return
        message = f"not installed: {', '.join(missing)}" if missing else reason
        if os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") == "1":
            pytest.fail(f"{message} (tests/engines/packages.txt lists the Debian packages)")
        pytest.skip(message)

    return require


@pytest.fixture(scope="session")
def agree_with_views() -> Callable[[Workbook, Finances], int]:
    """Return the function that holds every view of a workbook against the engine, see `workbook_views.py`."""
    spec = importlib.util.spec_from_file_location("workbook_views", Path(__file__).parent / "workbook_views.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    agree: Callable[[Workbook, Finances], int] = module.agree
    return agree


@pytest.fixture(scope="session")
def decided_once() -> Callable[..., Plan]:
    """Return `decide` with a memory: a plan rests on its arguments alone, and takes seconds.

    What rests on a price store, a calibration or parts of a user's own is decided each time.
    """
    decided: dict[str, Plan] = {}
    catalogue, calibration, prices = load(), load_calibration(), PriceBook.open()._made

    def once(blueprint: Blueprint, resolved: Resolved, facts: Facts, **more: Any) -> Plan:  # noqa: ANN401 - handed on
        if facts.catalogue is not catalogue or facts.calibration is not calibration or facts.book._made != prices:
            return decide(blueprint, resolved, facts, **more)
        asked = repr((blueprint, resolved, more.get("whole"), more.get("quotes")))
        if asked not in decided:
            decided[asked] = decide(blueprint, resolved, facts, **more)
            for oldest in list(decided)[:-_KEPT_PLANS]:
                del decided[oldest]
        return decided[asked]

    return once


@pytest.fixture(autouse=True)
def _each_decision_once(monkeypatch: pytest.MonkeyPatch, decided_once: Callable[..., Plan]) -> None:
    """Decide once for all tests of a worker that ask the same, but for a test that replaces parts of the program."""

    def unless_replaced(*asked: Any, **more: Any) -> Plan:  # noqa: ANN401 - handed on
        replaced = [target for target, *_ in monkeypatch._setattr if target is not planning]
        return (decide if replaced else decided_once)(*asked, **more)

    monkeypatch.setattr(planning, "decide", unless_replaced)


@pytest.fixture(scope="session")
def shipped_plan() -> TrainingPlan:
    """Return the plan of the shipped blueprint."""
    return plan_of(assets.root() / "blueprints" / "train-gpt3-175b.yaml", None)
