"""What is checked: a project, the facts of its node type, and the plan behind it where there is one."""

from dataclasses import dataclass

from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.checks.project import Project, Setting
from clusterwright.checks.values import text, whole
from clusterwright.plan.record import Option, Plan

#: What each cloud calls the same setting.
REGION = {"aws": "aws:region", "azure": "location", "gcp": "gcp:region"}
ZONE = {"aws": "availabilityZone", "azure": "zone", "gcp": "zone"}
NETWORK_RANGE = {"aws": "vpcCidr", "azure": "vnetAddressSpace", "gcp": "networkCidr"}
LUSTRE_CAPACITY = {"aws": "capacityGib", "azure": "capacityTib", "gcp": "capacityGib"}
CAPACITY_OBJECT = {"aws": "capacity reservation", "azure": "capacity reservation group", "gcp": "reservation"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A project with the facts that its checks need.

    Attributes:
        option: the plan's option behind the project, with its plan; None where only the project is at hand.
    """

    project: Project
    catalogue: Catalogue
    plan: Plan | None = None
    option: Option | None = None

    @property
    def cloud(self) -> str:
        """`aws`, `azure` or `gcp`."""
        return self.project.cloud

    @property
    def region_setting(self) -> Setting | None:
        """The region as configured."""
        return self.project.setting(REGION[self.cloud])

    @property
    def zone_setting(self) -> Setting | None:
        """The zone of nodes and file system as configured."""
        return self.project.setting(ZONE[self.cloud])

    @property
    def region(self) -> str:
        """Region, empty if it is not set."""
        return text(self.region_setting.value) if self.region_setting else ""

    @property
    def zone(self) -> str:
        """Zone, empty if it is not set."""
        return text(self.zone_setting.value) if self.zone_setting else ""

    @property
    def instance_type(self) -> str:
        """The cloud's name of the node type, empty if it is not set."""
        setting = self.project.setting("nodeType.instanceType")
        return text(setting.value) if setting else ""

    @property
    def instance(self) -> Instance | None:
        """The catalogue's facts of the node type, None if it has none for this cloud."""
        found = self.catalogue.instances.get(self.instance_type)
        return found if found is not None and found.cloud == self.cloud else None

    @property
    def node_count(self) -> int | None:
        """Nodes as configured, None if that is no number."""
        setting = self.project.setting("nodeCount")
        return whole(setting.value) if setting else None

    @property
    def capacity(self) -> str:
        """How nodes are obtained; on-demand where nothing is said, as the program takes it."""
        setting = self.project.setting("capacity")
        return text(setting.value) if setting else "on-demand"

    @property
    def reservation(self) -> str:
        """Id of the reservation or block, empty for none."""
        setting = self.project.setting("reservationId")
        return text(setting.value) if setting else ""
