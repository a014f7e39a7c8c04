"""What a project's policy pack says of recorded resources."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .projects import ROOT, stacks_python

_ANALYZER = Path(__file__).parent / "monitor" / "check_policies.py"


def policy_python() -> Path | None:
    """Return the interpreter of the policy packs' environment, or None where it is not installed."""
    for folder in (os.environ.get("CLUSTERWRIGHT_POLICY_VENV"), ROOT / ".venv-policy"):
        if folder and (found := Path(folder) / "bin" / "python").exists():
            return found
    return None


def violations(pack: Path, resources: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the pack's violations: objects with `policy`, `message`, `level` and `urn`.

    Args:
        pack: the folder of a generated project's policy pack.
        resources: objects with `urn`, `type`, `name` and `inputs`, as recorded.
    """
    python, policies = stacks_python(), policy_python()
    assert python is not None
    assert policies is not None
    done = subprocess.run(
        [python, _ANALYZER, pack, policies],
        input=json.dumps(list(resources)),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found
