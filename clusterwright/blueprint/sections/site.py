"""The building, for on-premises targets: power, cooling, the hall and its rows, racks, feeds."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import (
    ApparentPower,
    Current,
    EnergyPrice,
    FloorLoad,
    Fraction,
    Length,
    Mass,
    Power,
    RackUnits,
)
from clusterwright.blueprint.sections.clouds import PrivateNetwork

#: Names of `catalog/cooling.csv` and `catalog/feeds.csv`; a test keeps them the same.
Cooling = Literal["air", "in-row", "rear-door", "direct-to-chip", "immersion"]
Voltage = Literal["415 V AC", "400 V AC", "380 V AC", "208 V AC", "400 V DC"]
SwitchRacks = Literal["auto", "middle", "middle-rows", "every-row", "start", "end"]


class Hall(Section):
    """What the room holds. Whatever is not given is not a limit."""

    racks: Annotated[int, Field(gt=0, le=20_000)] | None = Field(None, description="places for racks in all")
    rows: Annotated[int, Field(gt=0, le=1000)] | None = Field(None, description="rows of racks")
    racks_per_row: Annotated[int, Field(gt=0, le=200)] | None = Field(
        None, description="places of one row; 20 by default, more in a hall of more than 20 rows"
    )
    cold_aisle: Annotated[Length, Field(ge=0.6, le=10)] = Field(1.8, description="between fronts, for example 1.8 m")
    hot_aisle: Annotated[Length, Field(ge=0.6, le=10)] = Field(1.2, description="between backs, for example 1.2 m")
    height: Annotated[Length, Field(ge=2, le=30)] | None = Field(None, description="clear height, for example 4 m")
    door_height: Annotated[Length, Field(ge=1, le=15)] | None = Field(
        None, description="of the lowest door on the way in, for example 2.4 m"
    )
    door_width: Annotated[Length, Field(ge=0.4, le=15)] | None = Field(
        None, description="of the narrowest door on the way in, for example 1.2 m"
    )
    floor_load: Annotated[FloorLoad, Field(ge=50, le=20_000)] | None = Field(
        None, description="that the floor carries below a rack, for example 1500 kg/m2"
    )
    switch_racks: SwitchRacks = Field(
        "auto", description="where racks of switches and storage stand; auto: where all cables together are shortest"
    )


class RackFrame(Section):
    """The rack itself."""

    width: Annotated[Length, Field(ge=0.4, le=1.5)] = Field(0.7, description="outside, for example 700 mm")
    depth: Annotated[Length, Field(ge=0.6, le=2)] = Field(1.2, description="outside, for example 1200 mm")
    height: Annotated[Length, Field(ge=0.5, le=5)] | None = Field(
        None, description="outside; the rack units and 0.2 m by default (assumed)"
    )
    weight: Annotated[Mass, Field(ge=0, le=2000)] | None = Field(None, description="empty, for example 180 kg")
    load: Annotated[Mass, Field(gt=0, le=20_000)] | None = Field(
        None, description="most that its equipment may weigh, for example 1360 kg"
    )


class Feed(Section):
    """What each power distribution unit of a rack hangs on."""

    voltage: Voltage = Field("415 V AC", description="between lines where it is three-phase AC")
    breaker: Annotated[Current, Field(ge=10, le=2000)] | None = Field(
        None, description="of one PDU, for example 60 A; what is usual for the voltage by default"
    )
    sources: Annotated[int, Field(ge=1, le=4)] | None = Field(
        None, description="independent feeds that reach a rack, 2 for A and B; one for each PDU of a rack by default"
    )


class Ups(Section):
    """The uninterruptible supply."""

    power: Annotated[ApparentPower, Field(gt=0, le=1e9)] = Field(description="rating, for example 2 MVA")
    efficiency: Annotated[Fraction, Field(gt=0.5, le=1)] | None = Field(
        None, description="at this load, for example 96 %"
    )


class Cdu(Section):
    """Coolant distribution units, for liquid cooling."""

    heat: Annotated[Power, Field(gt=0, le=1e8)] = Field(description="that one unit carries away, for example 1.3 MW")
    spare: Annotated[int, Field(ge=0, le=100)] = Field(1, description="units beyond those that are needed")


def _in_pairs(count: int) -> int:
    if count % 2:
        raise PydanticCustomError(
            "uplinks",
            "{count} uplinks are no pairs",
            {"count": count, "help": f"set {count + 1}: both border switches"},
        )
    return count


class SiteNetwork(Section):
    """The site's Ethernet: addresses, VLANs, and the way to the users."""

    range: PrivateNetwork = Field(
        "10.64.0.0/12", description="private IPv4 network that all addresses are taken from, for example 10.64.0.0/12"
    )
    first_vlan: Annotated[int, Field(ge=2, le=4000)] = Field(
        100, description="id of the first VLAN; the others follow it"
    )
    uplinks: Annotated[int, Field(ge=0, le=32), AfterValidator(_in_pairs)] | None = Field(
        None, description="links of 100 Gb/s to the users' network, 0 for none; by default one for 32 hosts, 4 to 32"
    )
    leaf_uplinks: Annotated[int, Field(ge=1, le=5)] = Field(
        2, description="links of an in-band leaf to each switch above it; more make the in-band network less shared"
    )


class Site(Section):
    """The building, for on-premises targets."""

    power_price: EnergyPrice | None = Field(
        None, ge=0, le=10, description="price of electricity, for example 0.08 USD/kWh"
    )
    pue: Annotated[float, Field(ge=1, le=4)] | None = Field(None, description="facility over IT energy, 1 to 4")
    rack_power: Power = Field(42e3, gt=0, le=1e6, description="most that one rack may draw, for example 42 kW")
    rack_height: RackUnits = Field(48.0, ge=4, le=80, description="usable height, for example 48 U")
    power_limit: Power | None = Field(None, gt=0, description="most that all racks may draw, for example 2 MW")
    cooling: Cooling | None = Field(None, description="how heat leaves the racks; bounds what one rack may draw")
    cooling_limit: Annotated[Power, Field(gt=0, le=1e6)] | None = Field(
        None, description="of one rack, as the cooler's vendor states it, in place of the method's usual limit"
    )
    mean_load: Annotated[Fraction, Field(gt=0, le=1)] | None = Field(
        None, description="mean draw over nameplate, for the energy of a year, for example 70 %"
    )
    hall: Hall = Field(default_factory=Hall, description="the room")
    rack: RackFrame = Field(default_factory=RackFrame, description="the rack itself")
    feed: Feed = Field(default_factory=Feed, description="what each PDU hangs on")
    ups: Ups | None = Field(None, description="the uninterruptible supply; unknown by default")
    cdu: Cdu | None = Field(None, description="coolant distribution units; unknown by default")
    network: SiteNetwork = Field(default_factory=SiteNetwork, description="addresses, VLANs and the way to the users")
