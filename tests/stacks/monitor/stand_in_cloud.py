"""What exists in the stand-in cloud: resources by id in a folder, names, protection, and faults that a test asks for.

One folder is one account. Programs that end, and the engine that is killed, leave it as it is: what no state knows any
more is still there and would be billed. The files that a test writes or reads:

    resources/*.json   a resource each: type, id, urn, inputs, outputs
    fault.json         `{"call", "type", "name"}`: the next such call waits until the file is gone, then fails;
                       `Created` is a `Create` whose resource is there already
    held               is there while a call waits
"""

import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_HOLD_S = 120
#: The input that makes the cloud refuse a deletion, and the value that does so.
_PROTECTION: Mapping[str, tuple[str, Any]] = {
    "aws:ec2/instance:Instance": ("disableApiTermination", True),
    "aws:eks/cluster:Cluster": ("deletionProtection", True),
    "aws:rds/cluster:Cluster": ("deletionProtection", True),
    "gcp:compute/instance:Instance": ("deletionProtection", True),
    "gcp:container/cluster:Cluster": ("deletionProtection", True),
    "gcp:kms/cryptoKey:CryptoKey": ("deletionPolicy", "PREVENT"),
    "gcp:lustre/instance:Instance": ("deletionPolicy", "PREVENT"),
    "gcp:sql/databaseInstance:DatabaseInstance": ("deletionProtection", True),
}
_LOCK = "azure-native:authorization:ManagementLockByScope"
#: Not deleted by the service itself while something in them is left.
_CONTAINERS = (
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/vpc:Vpc",
    "azure-native:network:Subnet",
    "azure-native:network:VirtualNetwork",
    "gcp:compute/network:Network",
    "gcp:compute/subnetwork:Subnetwork",
)
#: Inputs that say within what a name is unique, where it is not in the whole account.
_SCOPES = (
    *("accountName", "cluster", "clusterName", "instance", "keyRing", "location", "privateEndpointName"),
    *("privateZoneName", "project", "region", "resourceGroupName", "resourceName", "role", "router", "scope", "secret"),
    *("vaultName", "virtualNetworkName", "zone"),
)


class RefusedError(Exception):
    """The cloud refuses a call, in its own words."""


class StandInCloud:
    """One account of a cloud."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._resources = folder / "resources"
        self._resources.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()

    def _file(self, id_: str) -> Path:
        return self._resources / f"{hashlib.sha256(id_.encode()).hexdigest()}.json"

    def all(self) -> Iterator[dict[str, Any]]:
        """Yield everything that exists."""
        for path in sorted(self._resources.glob("*.json")):
            yield json.loads(path.read_text())

    def find(self, id_: str) -> dict[str, Any] | None:
        """Return a resource, or None where there is none of that id."""
        path = self._file(id_)
        found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
        return found

    def create(self, resource: dict[str, Any], name: str | None) -> None:
        """Keep a new resource.

        Args:
            resource: type, id, urn, inputs and outputs.
            name: that the service knows it by, or None where it gives the name itself.

        Raises:
            RefusedError: something of that type has the name already.
        """
        resource["name"] = name
        with self._lock:
            if name is not None:
                for other in self.all():
                    if (
                        other["type"] == resource["type"]
                        and other["name"] == name
                        and _scope(other) == _scope(resource)
                    ):
                        raise RefusedError(f"AlreadyExists: {resource['type']} {name}")
            self._write(resource)

    def update(self, id_: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Change a resource.

        Raises:
            RefusedError: there is none of that id.
        """
        with self._lock:
            resource = self.find(id_)
            if resource is None:
                raise RefusedError(f"NotFound: {id_}")
            self._write({**resource, "inputs": inputs, "outputs": outputs})

    def delete(self, id_: str) -> None:
        """Remove a resource; one that is gone already is none the cloud would complain about.

        Raises:
            RefusedError: it is protected, locked, or something is left in it.
        """
        with self._lock:
            resource = self.find(id_)
            if resource is None:
                return
            flag, refusing = _PROTECTION.get(resource["type"], ("", None))
            if flag and resource["inputs"].get(flag) == refusing:
                raise RefusedError(f"DeletionProtected: {id_}: {flag} is {refusing}")
            for other in self.all():
                if other["id"] == id_:
                    continue
                if other["type"] == _LOCK and id_.startswith(f"{other['inputs']['scope']}"):
                    raise RefusedError(f"ScopeLocked: {id_} is in the scope of lock {other['id']}")
                if resource["type"] in _CONTAINERS and f'"{id_}"' in json.dumps(other["inputs"]):
                    raise RefusedError(f"DependencyViolation: {id_} is used by {other['id']}")
            self._file(id_).unlink()

    def meet_fault(self, call: str, type_: str, name: str) -> None:
        """Wait, then refuse, where a test has asked for that.

        Raises:
            RefusedError: the fault that was asked for.
        """
        path = self._folder / "fault.json"
        try:
            fault = json.loads(path.read_text())
        except FileNotFoundError:
            return
        if (fault["call"], fault["type"]) != (call, type_) or fault["name"] not in name:
            return
        held = self._folder / "held"
        held.touch()
        give_up_at = time.monotonic() + _HOLD_S
        while path.exists() and time.monotonic() < give_up_at:
            time.sleep(0.05)
        held.unlink(missing_ok=True)
        raise RefusedError(f"Interrupted: {call} of {name}")

    def _write(self, resource: dict[str, Any]) -> None:
        path = self._file(resource["id"])
        new = path.with_suffix(".new")
        new.write_text(json.dumps(resource, indent=1))
        new.rename(path)


def _scope(resource: Mapping[str, Any]) -> list[tuple[str, Any]]:
    inputs = resource["inputs"]
    metadata = inputs.get("metadata") if resource["type"].startswith("kubernetes:") else None
    within = [(key, inputs[key]) for key in _SCOPES if key in inputs]
    return [*within, ("namespace", (metadata or inputs).get("namespace"))]
