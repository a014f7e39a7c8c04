"""The mistakes of all `planted_*.yaml` as records: each has to be noticed by the named check before `pulumi up`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

#: What stops a program: nothing else can be planted beside it.
_STOPS = ("SDK constructor", "engine")


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """One mistake; its fields are those of the files, most of which a row may leave out.

    Attributes:
        source: 29: the list of mistakes of which the SDKs' constructors and mocks catch 7 and miss 22; A, B, C: traps
            of AWS, Azure and Google Cloud; all: any program.
        mistake: in words; unique within a cloud.
        caught: by settings (the program's own check), SDK constructor, engine (as the monitor refuses), schema, or a
            rule's id.
        said: part of what the check says.
        file: of the generated project, from its root; without one only the configuration is wrong.
        old: the first occurrence of this text in the file is replaced.
        new: what replaces it.
        config: key, or `section.field`, of Pulumi.<stack>.yaml to value; None removes a key.
        instance: type; a usual one if empty.
        alone: planted in a project of its own, because it would hide others or others it.
        layer: foundation, cluster or nodes: only this layer runs, upon the others as they are without the mistake; all
            run in order if empty.
    """

    source: str
    cloud: str
    mistake: str
    caught: str
    said: str
    file: str = ""
    old: str = ""
    new: str = ""
    config: tuple[tuple[str, Any], ...] = field(default=())
    instance: str = ""
    nodes: int = 4
    alone: bool = False
    scheduler: str = "slurm"
    layer: str = ""


def _frozen(value: Any) -> Any:  # noqa: ANN401 - YAML
    return tuple(value) if isinstance(value, list) else value


def _read() -> list[Planted]:
    paths = sorted(Path(__file__).parent.glob("planted*.yaml"))
    entries: list[dict[str, Any]] = [entry for path in paths for entry in YAML(typ="safe").load(path) or ()]
    return [
        Planted(
            **{
                **entry,
                "source": str(entry["source"]),
                "config": tuple((key, _frozen(value)) for key, value in entry.get("config", {}).items()),
                "alone": entry.get("alone", entry["caught"] in _STOPS),
            }
        )
        for entry in entries
    ]


ALL = _read()
LISTED = [one for one in ALL if one.source == "29"]
