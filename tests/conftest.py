"""What all tests share: settings of the property tests, real engines, and the shipped plan.

Properties are about results, never about time, and CI tries the same examples every time.
"""

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from openpyxl.workbook import Workbook

from clusterwright import assets
from clusterwright.cli.planning import plan_of
from clusterwright.finance.finances import Finances
from clusterwright.plan.training.record import TrainingPlan
from tests.decided_plans import DecidedPlans

# Workers of pytest-xdist set the width of a terminal, to which commands would fit what they print.
os.environ.pop("COLUMNS", None)

settings.register_profile("clusterwright", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("clusterwright")

DECIDED = DecidedPlans()
DECIDED.take_the_place_of_decide()

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


@pytest.fixture(scope="session", autouse=True)
def decided_plans(tmp_path_factory: pytest.TempPathFactory) -> DecidedPlans:
    """Return the plans of this run, which its workers share."""
    base = tmp_path_factory.getbasetemp()
    DECIDED.folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "plans"
    DECIDED.folder.mkdir(exist_ok=True)
    return DECIDED


@pytest.fixture(autouse=True)
def _plans_decided_again_where_replaced(monkeypatch: pytest.MonkeyPatch, decided_plans: DecidedPlans) -> Iterator[None]:
    """Bypass the shared plans in a test with replaced parts of the program."""
    decided_plans.replacing = monkeypatch
    yield
    decided_plans.replacing = None


@pytest.fixture(scope="session")
def shipped_plan() -> TrainingPlan:
    """Return the plan of the shipped blueprint."""
    return plan_of(assets.root() / "blueprints" / "train-gpt3-175b.yaml", None)
