"""Blueprints and plans that the tests of plan, command line and documents share."""

from functools import cache
from pathlib import Path

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.plan.decide import decide
from clusterwright.plan.record import Plan

SHIPPED = assets.root() / "blueprints" / "train-gpt3-175b.yaml"

SMALL = """\
name: small
workload:
  kind: train
  model: llama-2-7b
  tokens: 100e9
  sequence_length: 2048
  global_batch: 512
goals:
  finish_within: 30 days
targets:
  aws:
    instance: p5.48xlarge
    region: us-east-1
  onprem:
    system: dgx-h100
"""


def plan_of(path: Path, *overrides: str) -> Plan:
    """Return the plan of a blueprint file."""
    blueprint = load(path, overrides).blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    return decide(blueprint, resolved, load_catalogue())


@cache
def shipped(*overrides: str) -> Plan:
    """Return the plan of the shipped blueprint."""
    return plan_of(SHIPPED, *overrides)
