"""What every export is: one YAML document under a comment that says where it is from and what is still to be set."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright.outputs.kinds import outputs_of
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.ranking import days_shown
from clusterwright.plan.text.words import cluster_text, days_band_text

_WIDTH = 110


@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """One export.

    Attributes:
        document: what the tool reads.
        to_set: what only the user knows, a sentence each; left_out: what the tool cannot say of the plan, likewise.
    """

    document: Mapping[str, Any]
    to_set: Sequence[str]
    left_out: Sequence[str]


def literal(script: str) -> str:
    """Return text that YAML writes as a block, as shell scripts are read best."""
    block: str = LiteralScalarString(script)
    return block


def yaml_text(plan: Plan, option: Option, exported: Exported) -> str:
    """Return the file: the comment, then the document.

    Args:
        plan: for its name.
        option: the target that was exported.
        exported: the document and its open ends.
    """
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = _WIDTH
    # A person edits this file: no anchors.
    yaml.representer.ignore_aliases = lambda _: True
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(dict(exported.document), stream)
    told = f"{plan.name}: {cluster_text(option)}"
    lines = [
        f"{', '.join(filter(None, (told, outputs_of(plan).arrangement(option))))}.",
        *days_shown(plan, f"One {plan.workload.unit.name} takes {days_band_text(option)}."),
        *(f"To set: {sentence}" for sentence in exported.to_set),
        *(f"Not expressed here: {sentence}" for sentence in exported.left_out),
    ]
    return "".join(f"# {line}\n" for line in lines) + stream.getvalue()
