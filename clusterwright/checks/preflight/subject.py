"""What is checked: a project, the facts of its node type, and the plan behind it where there is one."""

from collections.abc import Callable
from dataclasses import dataclass, field

from clusterwright.blueprint.reading.problems import Path
from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.checks.preflight.files.project import Project, Setting
from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.judging import Recorded
from clusterwright.checks.preflight.results import Place
from clusterwright.plan.record import Option, Plan
from clusterwright.pricing.book import PriceBook

#: What each cloud calls the same setting.
REGION = {"aws": "aws:region", "azure": "location", "gcp": "gcp:region"}
ZONE = {"aws": "availabilityZone", "azure": "zone", "gcp": "zone"}
NETWORK_RANGE = {"aws": "vpcCidr", "azure": "vnetAddressSpace", "gcp": "networkCidr"}
LUSTRE_CAPACITY = {"aws": "capacityGib", "azure": "capacityTib", "gcp": "capacityGib"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A project with the facts that its checks need.

    Attributes:
        book: prices in force.
        plan, option: behind the project, None where only the project is at hand.
        recorded: what the project's program asks for; None where there is no folder to run it in.
        place_of: gives the place of a path in the blueprint behind it, where there is one.
    """

    project: Project
    catalogue: Catalogue
    book: PriceBook = field(compare=False)
    plan: Plan | None = None
    option: Option | None = None
    recorded: Recorded | None = field(default=None, compare=False)
    place_of: Callable[[Path], Place | None] | None = field(default=None, compare=False)

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
    def existing_network(self) -> Setting | None:
        """The ids of an existing network, None where the project makes its own."""
        setting = self.project.setting("existingNetwork")
        given = setting.value if setting is not None and isinstance(setting.value, dict) else {}
        return setting if any(given.values()) else None

    @property
    def reservation(self) -> str:
        """Id of the reservation or block, empty for none."""
        setting = self.project.setting("reservationId")
        return text(setting.value) if setting else ""
