"""Plans that the deliverables are made from: the shipped blueprint's, and one with a price that nobody documents."""

import pytest

from clusterwright import assets
from clusterwright.cli.answer import plan_of
from clusterwright.plan.record import Plan

#: Runs in the stacks' environment, as a program; it cannot be imported here.
collect_ignore = ["read_stack_settings.py"]

_BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"


@pytest.fixture(scope="session")
def unpriced_plan() -> Plan:
    """Return the plan of the shipped blueprint on spot instances of AWS, whose price is unknown."""
    plan = plan_of(_BLUEPRINT, ["targets.aws.capacity=spot"])
    option = plan.option("aws")
    assert option is not None
    assert option.run_usd is None
    return plan
