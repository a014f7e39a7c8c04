"""What racks weigh on the floor."""

from dataclasses import dataclass

from clusterwright.catalog.records import System
from clusterwright.facility.hall.rack_limits import WHOLE_RACK_U
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.site import Site

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class FloorLoad:
    """Load of one rack on its own footprint.

    Attributes:
        known_kg: equipment and rack as far as known; kg_per_m2: that over the footprint, so at least this.
        unknown: what is not in it.
        verdict: `pass`, `fail` or `unknown` against the floor's limit.
    """

    rack: str
    known_kg: float
    kg_per_m2: float
    unknown: tuple[str, ...]
    verdict: str


def floor_load(rack: Rack, site: Site, system: System) -> FloorLoad:
    """Return what a rack weighs on its footprint, PDUs and cables left out.

    What is unknown can only add: a load above the limit fails, one below passes only where all weights are known.

    Worked example: four DGX H100 (521.8 kg) in a rack of 180 kg on 0.84 m2 are 835 kg/m2.

    Args:
        rack: with its devices.
        site: footprint, weight of an empty rack, limit of the floor.
        system: the nodes; one that is a rack of its own is weighed with its frame.
    """
    whole = rack.kind == "compute" and (system.height_u or 0) >= WHOLE_RACK_U
    frame_kg = 0.0 if whole else site.rack_frame_kg
    unknown = sorted({placed.device.sku for placed in rack.placements if placed.device.weight_kg is None})
    if frame_kg is None:
        unknown.append("the empty rack")
    kilograms = rack.weight_kg + (frame_kg or 0.0)
    load, limit = kilograms / site.rows.footprint_m2, site.hall.floor_load_kg_per_m2
    if limit is not None and load > limit * (1 + 1e-9):
        verdict = FAIL
    else:
        verdict = PASS if limit is not None and not unknown else UNKNOWN
    return FloorLoad(rack=rack.name, known_kg=kilograms, kg_per_m2=load, unknown=tuple(unknown), verdict=verdict)
