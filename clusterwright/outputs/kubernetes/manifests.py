"""Manifests of Kubernetes as text."""

import io
from collections.abc import Sequence
from typing import Any


def documents_text(documents: Sequence[dict[str, Any]]) -> str:
    """Return records as one stream of YAML documents; every text is quoted where YAML would read something else."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where it is written

    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 120
    stream = io.StringIO()
    yaml.dump_all(documents, stream)
    return stream.getvalue()
