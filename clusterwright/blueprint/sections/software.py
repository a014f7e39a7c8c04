"""The section `software`: what a user pins or forbids of releases, and the slices that GPUs are divided into."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section
from clusterwright.catalog.software.mig import Slices
from clusterwright.catalog.software.ranges import Range
from clusterwright.catalog.software.solver import Pin

_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
_LONGEST = 60
_PROFILE = r"[1-9]g\.[0-9]+gb(\+me)?"


def _version(value: Any) -> str:  # noqa: ANN401 - YAML holds anything
    if isinstance(value, bool):
        value = "on" if value else "off"
    if isinstance(value, int):
        value = str(value)
    if isinstance(value, float):
        # YAML reads 13.10 as 13.1: the text is lost.
        raise PydanticCustomError(
            "version", "{found} is a number, and a version is text", {"found": str(value), "help": f"write '{value}'"}
        )
    if not isinstance(value, str):
        raise PydanticCustomError("version", "{found} is no version", {"found": repr(value), "help": "write '580'"})
    return _matching(value, _PATTERN, "a version, or the first numbers of one, for example 580")


def _matching(text: str, pattern: str, what: str) -> str:
    if len(text) > _LONGEST or re.fullmatch(pattern, text) is None:
        raise ValueError(f"{text!r} is not {what}")
    return text


Version = Annotated[
    str,
    BeforeValidator(_version),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": f"^{_PATTERN}$"}, {"type": "integer"}]}),
]
ProfileName = Annotated[
    str,
    AfterValidator(lambda value: _matching(value, _PROFILE, "a profile of nvidia-smi, for example 3g.40gb")),
    WithJsonSchema({"type": "string", "pattern": f"^{_PROFILE}$"}),
]


class SlicesSection(Section):
    """GPUs divided by MIG, alike on each of the nodes that are divided."""

    geometry: list[ProfileName] = Field(
        min_length=1, max_length=8, description="profiles of one GPU, for example [3g.40gb, 3g.40gb]"
    )
    gpus: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="GPUs of a node that are divided; all by default"
    )
    nodes: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="divided nodes, the last ones, beside those of the work; all by default"
    )
    instances: dict[ProfileName, Annotated[int, Field(ge=0, le=10_000)]] | None = Field(
        None, description="instances of a node by profile, to be checked against geometry and gpus"
    )

    @property
    def slices(self) -> Slices:
        """What is asked for."""
        instances = None if self.instances is None else tuple(self.instances.items())
        return Slices(geometry=tuple(self.geometry), gpus=self.gpus, instances=instances)


class SharingSection(Section):
    """GPUs that several jobs use at a time, by another way than MIG."""

    way: Literal["mps", "time-slicing", "hami", "vgpu"] = Field(
        description="mps, time-slicing: with Slurm or Kubernetes; hami, vgpu: with Kubernetes"
    )
    parts: Annotated[int, Field(ge=2, le=48)] = Field(description="jobs that share one GPU at most, 2 to 48")
    nodes: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="nodes with shared GPUs, the last ones, beside those of the work; all by default"
    )


class SoftwareSection(Section):
    """Releases that nodes must or must not have; everything else is the newest that fits."""

    os: Version | None = Field(None, description="operating system of the nodes, for example ubuntu-24.04")
    pin: dict[str, Version] = Field(
        default_factory=dict, max_length=100, description="component and version, for example {driver: 580}"
    )
    forbid: dict[str, list[Version]] = Field(
        default_factory=dict, max_length=100, description="component and versions, for example {driver: ['595']}"
    )
    mig: SlicesSection | None = Field(None, description="slices of each GPU; GPUs are not divided by default")
    sharing: SharingSection | None = Field(None, description="several jobs on a GPU, without slices; none by default")

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Everything that is pinned or forbidden, with its place in the blueprint."""
        system = [] if self.os is None else [Pin(component="os", range=Range(text=self.os), path=("software", "os"))]
        pinned = [
            Pin(component=name, range=Range(text=version), path=("software", "pin", name))
            for name, version in self.pin.items()
        ]
        forbidden = [
            Pin(
                component=name,
                range=Range(text=version),
                forbids=True,
                path=("software", "forbid", name, index),
            )
            for name, versions in self.forbid.items()
            for index, version in enumerate(versions)
        ]
        return (*system, *pinned, *forbidden)
