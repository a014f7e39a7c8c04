"""The blueprint's section `reliability` from the file to the plan."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load_catalogue
from clusterwright.plan.decide import decide
from clusterwright.plan.explain import explanations
from clusterwright.plan.record import Plan
