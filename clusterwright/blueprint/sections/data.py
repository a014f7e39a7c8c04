"""How training data reaches the accelerators, as the user writes it."""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Bandwidth, Size


class Storage(Section):
    """What the job keeps on shared storage, and what shared storage gives, where the default rules do not fit."""

    dataset: Size | None = Field(None, gt=0, description="training data, for example 2 TB; from tokens by default")
    read_bandwidth: Annotated[Bandwidth, Field(gt=0)] | None = Field(
        None, description="that shared storage gives to all nodes, for example 40 GB/s; sized to the need by default"
    )
    node_read_bandwidth: Annotated[Bandwidth, Field(gt=0)] | None = Field(
        None, description="at most which one node reads from shared storage; the catalogue's by default, if known"
    )


class DataLoading(Section):
    """How training data is stored, prepared and held ready."""

    bytes_per_token: Annotated[Size, Field(gt=0)] | None = Field(
        None, description="as stored, for example 6 B; 2 B or 4 B of tokenised text by default, from the vocabulary"
    )
    bytes_per_sample: Annotated[Size, Field(gt=0)] | None = Field(
        None, description="of one sequence with its images, sound or video, for example 3 MB"
    )
    workers: Annotated[int, Field(ge=0, le=1024)] | None = Field(
        None, description="loader processes of each rank that loads; 2 by default; 0 loads in the training process"
    )
    prefetch: Annotated[int, Field(ge=0, le=10_000)] | None = Field(
        None, description="micro-batches that each process holds ready; 2 by default; 0 prepares each when asked for"
    )
    worker_bandwidth: Annotated[Bandwidth, Field(gt=0)] | None = Field(
        None, description="stored bytes that one process prepares, for example 50 MB/s; 100 MB/s by default (text)"
    )
    worker_samples_per_s: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        None, description="sequences that one process prepares per second, in the place of worker_bandwidth"
    )
    staging: Literal["none", "nvme"] = Field(
        "none", description="nvme: the data is copied to the nodes' local drives first; none: read from shared storage"
    )
    local_nvme: Annotated[Size, Field(gt=0)] | None = Field(
        None, description="local drives of a node, for example 30 TB; the catalogue's by default, if known"
    )
    local_nvme_bandwidth: Annotated[Bandwidth, Field(gt=0)] | None = Field(
        None, description="at which a node reads its local drives; the catalogue's by default, if known"
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> "DataLoading":
        for first, second in (("bytes_per_token", "bytes_per_sample"), ("worker_bandwidth", "worker_samples_per_s")):
            if getattr(self, first) is not None and getattr(self, second) is not None:
                raise PydanticCustomError(
                    "twice",
                    "{first} and {second} say the same thing twice",
                    {"first": first, "second": second, "help": f"keep one of data.{first} and data.{second}"},
                )
        return self
