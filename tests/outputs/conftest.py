"""Plans that the deliverables are made from: the shipped blueprint's, and one with a price that nobody documents."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.cli.planning import plan_of
from clusterwright.plan.training.record import TrainingPlan

#: Runs in the stacks' environment, as a program; it cannot be imported here.
collect_ignore = ["read_stack_settings.py"]

READER = Path(__file__).parent / "read_exports.py"
_BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"


@pytest.fixture(scope="session")
def unpriced_plan() -> TrainingPlan:
    """Return the plan of the shipped blueprint on spot instances of AWS in Oregon, whose price is unknown."""
    plan = plan_of(_BLUEPRINT, ["targets.aws.capacity=spot", "targets.aws.region=us-west-2"])
    option = plan.option("aws")
    assert option is not None
    assert option.money.run_usd is None
    return plan


@pytest.fixture(scope="session")
def read_as_the_tools_do(require_engine: Callable[..., None]) -> Callable[[list[tuple[str, str]]], list[str]]:
    """Return a function that holds exports against the tools' own schemas, in the tools' own environment."""
    folder = Path(os.environ.get("CLUSTERWRIGHT_EXPORTS_VENV", assets.root() / ".venv-exports"))
    python = folder / "bin" / "python"
    require_engine(working=python.exists(), reason="the other tools are not installed: make .venv-exports/installed")

    def read(exports: list[tuple[str, str]]) -> list[str]:
        done = subprocess.run([python, READER], input=json.dumps(exports), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        answers = json.loads(done.stdout.splitlines()[-1])
        assert isinstance(answers, list)
        return answers

    return read
