"""The storage to buy, as a blueprint asks for it: which system, how much of it, and figures of an offer."""

from typing import Annotated

from pydantic import Field

from clusterwright.blueprint.fields import Identifier, Section
from clusterwright.blueprint.quantities import Bandwidth, Count, Fraction, Mass, Power, RackUnits, Size


class StorageBox(Section):
    """Figures of one box as the maker offers it, in the place of the catalogue's."""

    capacity: Size | None = Field(None, gt=0, description="raw, for example 338 TB")
    read: Bandwidth | None = Field(None, gt=0, description="sustained reading, for example 40 GB/s")
    write: Bandwidth | None = Field(None, gt=0, description="sustained writing, for example 20 GB/s")
    ports: Annotated[int, Field(ge=1, le=64)] | None = Field(None, description="on the storage network, for example 4")
    port_rate: Bandwidth | None = Field(None, gt=0, description="of one port, for example 200 Gb/s")
    height: RackUnits | None = Field(None, ge=1, le=60, description="height, for example 2 U")
    power: Power | None = Field(None, gt=0, le=1e5, description="most that it draws, for example 1.2 kW")
    weight: Mass | None = Field(None, gt=0, le=2000, description="weight, for example 40 kg")


class OwnedStorage(Section):
    """Shared storage to buy. What it must hold and give comes from the job and the level; this can ask for more."""

    system: Identifier = Field("vast", description="of catalog/storage_systems.csv: vast, ddn, lustre, weka, minio, …")
    level: Identifier | None = Field(
        None,
        description="bandwidth that a reference architecture asks for: good (default for servers), better, best, "
        "standard (default for racks), enhanced, per-gpu, or none for what the job needs alone",
        examples=["better"],
    )
    capacity: Size | None = Field(None, gt=0, description="usable, to have at least, for example 2 PB")
    read_bandwidth: Bandwidth | None = Field(None, gt=0, description="to have at least, for example 80 GB/s")
    write_bandwidth: Bandwidth | None = Field(None, gt=0, description="to have at least, for example 40 GB/s")
    files: Count | None = Field(
        None, ge=1, description="files that will be kept, for the metadata targets of Lustre", examples=["200e6"]
    )
    usable: Fraction | None = Field(None, gt=0, le=1, description="usable share of raw capacity; of the catalogue else")
    targets_per_box: Annotated[int, Field(ge=1, le=64)] | None = Field(
        None, description="object storage targets (OST) of one box, of Lustre"
    )
    box: StorageBox = Field(default_factory=StorageBox, description="the box that holds data")
    front_box: StorageBox = Field(
        default_factory=StorageBox, description="the box beside it, where a system has one: serves clients or metadata"
    )
