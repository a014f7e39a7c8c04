"""What is bought beside what runs, and how long it takes to come: spares and lead times by kind of part."""

from typing import Annotated

from pydantic import Field

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Duration, Fraction

_Share = Annotated[Fraction, Field(ge=0, le=1)]
_Lead = Annotated[Duration, Field(ge=0, le=5 * 366 * 86400)]


class Spares(Section):
    """Shares of the parts, rounded up to whole ones. No reference architecture states any: they are the buyer's."""

    nodes: _Share = Field(0.0, description="of the nodes, kept cold; spare nodes that run are reliability.spare_nodes")
    switches: _Share = Field(0.0, description="of the switches, by type")
    transceivers: _Share = Field(0.02, description="of the transceivers, by type; 2 % is an assumption")
    cables: _Share = Field(0.02, description="of the cables, by type; 2 % is an assumption")
    pdus: _Share = Field(0.0, description="of the power distribution units")
    storage: _Share = Field(0.0, description="of the storage boxes")
    management: _Share = Field(0.0, description="of the management servers and fabric managers")


class LeadTimes(Section):
    """From order to delivery as the vendor said; what is not given is unknown."""

    nodes: _Lead | None = Field(None, description="for example 26 weeks")
    switches: _Lead | None = Field(None, description="for example 20 weeks")
    transceivers: _Lead | None = Field(None, description="for example 12 weeks")
    cables: _Lead | None = Field(None, description="for example 6 weeks")
    pdus: _Lead | None = Field(None, description="for example 10 weeks")
    racks: _Lead | None = Field(None, description="for example 8 weeks")
    storage: _Lead | None = Field(None, description="for example 16 weeks")
    management: _Lead | None = Field(None, description="for example 8 weeks")
