"""An example of each key of the blueprint: what a shipped blueprint writes, else what its description says."""

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.documentation.key_types import Node, alternatives

#: What a description says after "for example", with the words that lead to it.
SAID = re.compile(r",? ?for example (\{.*?\}|\S.*?)(?=;|, or |, after |, for which |\)|\.? *$)(?:, or [\w ]+$)?")
#: A commented key of a blueprint to start from.
_COMMENTED = re.compile(r"^( *)# ( *[a-z_]+:(?: .*)?)$")
#: Where clouds share a key whose values differ.
_OF_A_CLOUD = {
    "targets.azure.reservation": "/subscriptions/…/capacityReservationGroups/my-group",
    "targets.gcp.reservation": "my-reservation",
}
#: Of a number that no table gives, by a word of its name.
_BY_NAME = {"fraction": "2 %", "share": "30 %", "usd": "2500 USD", "kw": "500", "per_year": "0.35"}


class Examples:
    """Examples by path, from the shipped blueprints, the tables of money, and the schema itself."""

    def __init__(self, definitions: Mapping[str, Node]) -> None:
        self._definitions = definitions
        self._usual = dict(_usual_values())
        self._written: dict[str, str] = {}
        for path, value in _written_values():
            self._written.setdefault(path, value)

    def of(self, path: str, node: Node, default: str, kind: str) -> str:
        """Return an example of a key.

        Args:
            path: of the key, from the top.
            node: its part of the schema.
            default: as a blueprint writes it.
            kind: of the workload that the key belongs to, or nothing.
        """
        if path == "workload.kind":
            return kind
        said = SAID.search(node.get("description", ""))
        known = (
            self._written.get(f"{kind}:{path}"),
            self._written.get(path),
            _OF_A_CLOUD.get(path),
            said[1].strip() if said and not said[1].startswith("to ") else None,
            node["examples"][0] if node.get("examples") else None,
            self._usual.get(path.rpartition(".")[2]) if path.startswith("tco.owner.") else None,
        )
        return next((str(example) for example in known if example), self._of_type(path, node, default))

    def _of_type(self, path: str, node: Node, default: str) -> str:
        parts = alternatives(node, self._definitions)
        texts = [part for part in parts if part.get("type") == "string"]
        return next((found for part in (*texts, *parts) if (found := _of_part(path, part, default))), default)


def _of_part(path: str, part: Node, default: str) -> str:
    if words := part.get("enum", [part["const"]] if "const" in part else []):
        return str(next((value for value in words if str(value) != default), words[0]))
    if part.get("type") == "boolean":
        return "false" if default == "true" else "true"
    if isinstance(part.get("type"), list):
        name = path.rpartition(".")[2]
        return next((example for word, example in _BY_NAME.items() if word in name), "2")
    if part.get("examples"):
        return default or str(part["examples"][-1])
    if part.get("type") in ("integer", "number"):
        least = max(part.get("minimum", part.get("exclusiveMinimum", 0)), 1)
        return default or f"{min(least, part.get('maximum', least)):g}"
    return ""


def _usual_values() -> Iterator[tuple[str, str]]:
    """Yield what parameters of owning usually are: the assumption, or where there is none the number that is named."""
    for name, column in (("owner_parameters.csv", "usual"), ("assumptions.csv", "base")):
        with (assets.root() / "tco" / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                number = re.match(r"[\d,.]+", row[column])
                if number and float(number[0].replace(",", "")):
                    yield row["key"], number[0].replace(",", "")


def _written_values() -> Iterator[tuple[str, str]]:
    """Yield path and value of every scalar of the shipped blueprints and of those to start from, comments included.

    A path below `workload` begins with the kind, such as `train:workload.tokens`.
    """
    yaml = YAML(typ="rt")
    shipped = sorted((assets.root() / "blueprints").glob("*.yaml"))
    for path in (*sorted((assets.root() / "templates" / "blueprint").glob("*.yaml")), *shipped):
        lines = path.read_text(encoding="utf-8").splitlines()
        document = yaml.load("\n".join(_COMMENTED.sub(r"\1\2", line) for line in lines))
        kind = document.get("workload", {}).get("kind", "")
        for at, value in _scalars("", document):
            yield f"{kind}:{at}" if at.startswith("workload.") else at, value


def _scalars(path: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - YAML holds anything
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _scalars(f"{path}.{name}" if path else str(name), inner)
    elif isinstance(value, list):
        if all(not isinstance(inner, dict | list) for inner in value):
            yield path, f"[{', '.join(str(inner) for inner in value)}]"
        for inner in value:
            yield from _scalars(f"{path}[]", inner)
    elif isinstance(value, bool):
        yield path, str(value).lower()
    elif value is not None:
        yield path, str(value)
