"""What cloud instance types refer to: kinds of capacity, placements, quotas, slices of TPUs, regions."""

from dataclasses import dataclass

#: What places nodes that come from a kind of capacity.
PLACEMENTS = ("own", "brought", "none", "workload-policy")


@dataclass(frozen=True, kw_only=True, slots=True)
class CapacityObject:
    """One way in which a cloud gives nodes, and its limits; None where none is stated.

    Attributes:
        kind: as a blueprint's `capacity` says it; name: in words.
        placement: who keeps the nodes close. `own`: an object of ours; `brought`: the reservation itself, and an object
            of ours would conflict; `none`: nothing may; `workload-policy`: a workload policy of the group.
        max_nodes: of one object; max_nodes_in_account: of all together; node_counts: the only sizes of one object,
            empty where every size up to `max_nodes` will do.
        least_days, daily_up_to_days, step_days, most_days: it lasts from `least_days` on, any number of days up to
            `daily_up_to_days`, above that multiples of `step_days`, at most `most_days`.
        most_days_ahead: how long before its start it can be asked for.
        ends_early_s: notice before nodes are taken, or time before its end at which they start to stop.
        verified: False where a fact of the row is not published or could not be checked; the note says which.
    """

    id: str
    cloud: str
    kind: str
    name: str
    placement: str
    max_nodes: int | None = None
    max_nodes_in_account: int | None = None
    node_counts: tuple[int, ...] = ()
    least_days: int | None = None
    daily_up_to_days: int | None = None
    step_days: int | None = None
    most_days: int | None = None
    most_days_ahead: int | None = None
    ends_early_s: float | None = None
    verified: bool = True
    source: str = ""
    note: str = ""

    def lasts(self, days: float) -> int | None:
        """Return the shortest time, in whole days, that it can be had for and that covers a given number of days.

        None where it cannot be had for so long. Without a rule of its own it lasts as long as is asked for.
        """
        whole = max(int(-(-days // 1)), self.least_days or 1)
        if self.daily_up_to_days is not None and self.step_days is not None and whole > self.daily_up_to_days:
            whole = -(-whole // self.step_days) * self.step_days
        return None if self.most_days is not None and whole > self.most_days else whole


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacementObject:
    """What keeps the nodes of one fabric close, and its limits; None where none is stated.

    Attributes:
        max_nodes: that one object holds; max_nodes_on_request: with a support request.
        rack_nodes: nodes of one NVLink domain; more than one domain come in whole racks.
        max_distance_least, max_distance_most: values that Google's maximum distance may have.
        max_chips: of one TPU slice.
    """

    id: str
    cloud: str
    name: str
    max_nodes: int | None = None
    max_nodes_on_request: int | None = None
    rack_nodes: int | None = None
    max_distance_least: int | None = None
    max_distance_most: int | None = None
    max_chips: int | None = None
    verified: bool = True
    source: str = ""
    note: str = ""

    def most_nodes(self, *, chips_per_node: int) -> int | None:
        """Return the largest number of nodes, on request where that takes one; whole racks where they come so."""
        limits = [
            self.max_nodes_on_request or self.max_nodes,
            None if self.max_chips is None else self.max_chips // chips_per_node,
        ]
        most = min((limit for limit in limits if limit is not None), default=None)
        if most is None or self.rack_nodes is None or most < self.rack_nodes:
            return most
        return most // self.rack_nodes * self.rack_nodes


#: Kinds of capacity that use no quota of instances: the block was counted when it was made.
COUNTED_ELSEWHERE = ("capacity-block", "block-reservation")
#: Flex-start counts as preemptible (Google, release note of 2026-06-03).
_AS_SPOT = ("spot", "flex-start")


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """The limit of an account that a type counts against, by name and code, on demand and spot.

    Attributes:
        unit: what is counted: `vcpus`, `gpus` or `chips`.
    """

    id: str
    cloud: str
    unit: str
    on_demand_name: str
    on_demand_code: str
    spot_name: str
    spot_code: str
    verified: bool = True
    source: str = ""
    note: str = ""

    def counted(self, capacity: str) -> tuple[str, str] | None:
        """Return name and code of the limit that a kind of capacity uses up; None where it was counted before."""
        if capacity in COUNTED_ELSEWHERE:
            return None
        spot = capacity in _AS_SPOT
        return (self.spot_name, self.spot_code) if spot else (self.on_demand_name, self.on_demand_code)


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """A region of a cloud.

    Attributes:
        zones: their last letters, or numbers on Azure; empty where there are none.
        zones_listed_by: the sources that know which zones there are; they agree, or one has fewer than the others.
        listed_by: of AWS, the sources that say which instance types the region has.
    """

    cloud: str
    id: str
    zones: tuple[str, ...] = ()
    zones_listed_by: tuple[str, ...] = ()
    listed_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Offering:
    """Where a source beside the instance table's own lists an instance type."""

    instance: str
    source: str
    regions: tuple[str, ...]
