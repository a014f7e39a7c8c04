"""Tells which values of the configuration are still to be set, before any layer starts.

    python -m gpu_cluster.unset_values STACK LAYER...

A line `# Still to set: ./cluster.sh set KEY VALUE` in a layer's `Pulumi.<stack>.yaml` asks for a value; once the
key is there, the line is settled.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import yaml

_ASKED = re.compile(r"^# Still to set: (?P<command>\S+ set '?(?P<key>[^ ']+)'? .*)$", re.MULTILINE)


def unset_values(layer: Path, stack: str) -> Iterator[str]:
    """Yield the command of every value that a layer's configuration asks for and does not have."""
    text = (layer / f"Pulumi.{stack}.yaml").read_text()
    project = _mapping(yaml.safe_load((layer / "Pulumi.yaml").read_text()))["name"]
    config = _mapping(_mapping(yaml.safe_load(text)).get("config"))
    for line in _ASKED.finditer(text):
        head, *inner = line["key"].partition("[")[0].split(".")
        value: object = config.get(head if ":" in head else f"{project}:{head}")
        for name in inner:
            value = _mapping(value).get(name)
        if value in (None, ""):
            yield line["command"]


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def main() -> int:
    """Print the commands that are left to run; 1 if there are any."""
    _, stack, *layers = sys.argv
    # Several layers ask for the same value, which one command sets.
    commands = dict.fromkeys(command for layer in layers for command in unset_values(Path(layer), stack))
    if commands:
        listing = "\n".join(f"  {command}" for command in commands)
        sys.stderr.write(f"PRE003: still to be set (README.md says what each is):\n{listing}\n")
    return 1 if commands else 0


if __name__ == "__main__":
    sys.exit(main())
