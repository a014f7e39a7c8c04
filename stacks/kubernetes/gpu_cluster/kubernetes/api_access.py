"""The way from outside to an API server that answers inside the network only; no port of the network is opened for it.

    python -m gpu_cluster.kubernetes.api_access STACK

prints `yes` where the configuration asks for that way, for `cluster.sh`, and nothing elsewhere.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import yaml

from gpu_cluster.config_values import Values

KEY = "apiFromOutside"
# Local end of the tunnel that cluster.sh opens. It is in the state, by which `pulumi destroy` reaches the charts: a
# port chosen anew by each run would lead nowhere.
TUNNEL_PORT = 16443


def read_from_outside(values: Values, operator_cidrs: Sequence[str]) -> bool:
    """Whether the API server is reached by the cloud's own gate; operators with an address of their own need none."""
    return values.flag(KEY, default=True) and not operator_cidrs


def server_of(address: str, *, tunnel: bool) -> dict[str, str]:
    """Return a kubeconfig's fields for an API server; its certificate is checked against its own name either way."""
    if not tunnel:
        return {"server": address}
    return {"server": f"https://127.0.0.1:{TUNNEL_PORT}", "tls-server-name": urlsplit(address).hostname or ""}


def wanted(layer: Path, stack: str) -> bool:
    """Whether the configuration of the cluster layer asks for the way from outside."""
    project = _mapping(yaml.safe_load((layer / "Pulumi.yaml").read_text()))["name"]
    config = _mapping(_mapping(yaml.safe_load((layer / f"Pulumi.{stack}.yaml").read_text())).get("config"))
    values = {name: config.get(f"{project}:{name}") for name in (KEY, "operatorCidrs", "installCharts")}
    # `pulumi config set` writes truth values as text.
    refused = any(str(values[name]).lower() == "false" for name in (KEY, "installCharts"))
    return not refused and not values["operatorCidrs"]


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


if __name__ == "__main__":
    if wanted(Path("cluster"), sys.argv[1]):
        sys.stdout.write("yes\n")
