"""A toy kind of workload that the program does not know: drawing images, which n nodes do in an nth of a day."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import Finding
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import FrontPoint, Option, Plan, WorkloadSummary, WorkUnit
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.records.run import StorageNeed

_MODEL = load_catalogue().models["llama-2-7b"]


class Draw(Section):
    """Drawing an image."""

    kind: Literal["draw"] = "draw"
    model: str = _MODEL.id


class DrawBlueprint(Blueprint):
    """A blueprint whose workload is an image."""

    workload: Draw  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnImage(WorkloadSummary):
    """The image as it was sized."""

    unit: ClassVar[WorkUnit] = WorkUnit(name="image", plural="images")


@dataclass(frozen=True)
class _Images:
    """An engine whose unit of work is an image, which n nodes draw in an nth of a day."""

    most_days: float

    def units_of_horizon(self, blueprint: Blueprint) -> None:
        """Return None: images follow from `economics`."""

    def front(self, blueprint: Blueprint, target: ResolvedTarget, bounds: NodeBounds) -> list[SizedPoint]:
        need = StorageNeed(
            dataset_bytes=1e12,
            checkpoint_bytes_kept=0.0,
            capacity_bytes=2e12,
            read_bytes_per_s=1e9,
            write_bytes_per_s=1e8,
        )
        return [
            SizedPoint(
                node=target.node,
                nodes=nodes,
                gpus=nodes * target.node.gpus,
                storage=need,
                calendar_days=1.0 / nodes,
                calendar_days_low=0.9 / nodes,
                calendar_days_high=1.2 / nodes,
                limited_by=("decoding",),
            )
            for nodes in range(1, 1 + (bounds.most or 4))
        ]

    def meets_goals(self, blueprint: Blueprint, point: SizedPoint) -> bool:
        return point.calendar_days_high <= self.most_days

    def shortfall(self, point: SizedPoint) -> float:
        return point.calendar_days_high

    def goal_findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> list[Finding]:
        return [Finding(id="IMG001", path=("goals",), message="an image takes too long", help="allow more nodes")]

    def findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> list[Finding]:
        return []

    def warnings(self, blueprint: Blueprint, options: object) -> list[Finding]:
        return []

    def useful_share(self, point: SizedPoint) -> float:
        return 1.0

    def useful_shares_by_capacity(self, blueprint: Blueprint, point: SizedPoint) -> tuple[float, float]:
        return 1.0, 0.9

    def assumptions(self, blueprint: Blueprint, options: object) -> list[Any]:
        return []

    def constraints(self, blueprint: Blueprint) -> list[Any]:
        return []

    def workload(self, blueprint: Blueprint) -> WorkloadSummary:
        return DrawnImage(
            kind="draw",
            model=_MODEL.id,
            model_name=_MODEL.name,
            parameters=1,
            precision="bf16",
            architecture=_MODEL,
            model_file="",
        )

    def option(self, target: ResolvedTarget, point: SizedPoint, common: Option) -> Option:
        return common

    def front_point(self, point: SizedPoint, common: FrontPoint) -> FrontPoint:
        return common

    def plan(self, common: Plan) -> Plan:
        return common


def plan_of_images(*, most_days: float) -> Plan:
    """Return the plan of images that are to be drawn within some days, with their high end."""
    blueprint = DrawBlueprint.model_validate(
        {
            "name": "pictures",
            "workload": {"kind": "draw"},
            "targets": {
                "aws": {"instance": "p5.48xlarge", "region": "us-east-1", "max_nodes": 4},
                "onprem": {"system": "dgx-h100", "max_nodes": 4},
            },
        }
    )
    facts = Facts.open()
    resolved = resolve(blueprint, facts.catalogue)
    assert isinstance(resolved, Resolved), resolved
    return decide(blueprint, resolved, facts, engine=_Images(most_days=most_days))
