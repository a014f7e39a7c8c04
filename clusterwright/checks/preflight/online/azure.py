"""Questions to Azure through its management libraries, with the login that the Azure command line uses."""

import datetime as dt
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from ipaddress import IPv4Network, ip_network
from typing import Any

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
)
from azure.identity import DefaultAzureCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient

from clusterwright.checks.preflight.configuration.quotas import Ask
from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.online.answers import (
    GroupRules,
    Image,
    NoAnswerError,
    NoLoginError,
    Offer,
    Quota,
    Reservation,
    Subnet,
)
from clusterwright.checks.preflight.subject import Subject

_SCOPE = "https://management.azure.com/.default"
_RDMA = IPv4Network("172.16.0.0/16")
_ARCHITECTURES = {"x64": "x86_64", "Arm64": "arm64"}
_SPOT_QUOTA = "lowPriorityCores"


def provider(subject: Subject) -> "Azure":
    """Return what asks the subscription of the configuration, or else of the environment."""
    setting = subject.project.setting("azure-native:subscriptionId")
    named = (text(setting.value) if setting else "") or os.environ.get("AZURE_SUBSCRIPTION_ID", "")
    subscription = named or os.environ.get("ARM_SUBSCRIPTION_ID", "")
    return Azure(subscription=subscription, location=subject.region, size=subject.instance_type)


class Azure:
    """One subscription in one location."""

    def __init__(
        self,
        *,
        subscription: str,
        location: str,
        size: str,
        credential: Any = None,  # noqa: ANN401 - of the SDK
        transport: Any = None,  # noqa: ANN401 - of the SDK
    ) -> None:
        self._subscription, self._location, self._size = subscription, location, size
        self._credential = credential
        self._options = {} if transport is None else {"transport": transport}

    def account(self) -> str:
        """Return the subscription; asking for a token shows whether the login is taken."""
        if not self._subscription:
            raise NoLoginError(
                "no subscription of Azure is named",
                help="export AZURE_SUBSCRIPTION_ID=$(az account show --query id --output tsv)",
            )
        try:
            if self._credential is None:
                self._credential = DefaultAzureCredential()
            self._credential.get_token(_SCOPE)
        except AzureError as error:
            first = str(error).splitlines()[0]
            raise NoLoginError(
                f"Azure does not take the login: {first}", help="az login; see clusterwright docs preflight"
            ) from None
        return f"subscription {self._subscription}"

    @cached_property
    def _compute(self) -> Any:  # noqa: ANN401 - of the SDK
        return ComputeManagementClient(self._credential, self._subscription, **self._options)

    @cached_property
    def _network(self) -> Any:  # noqa: ANN401 - of the SDK
        return NetworkManagementClient(self._credential, self._subscription, **self._options)

    @cached_property
    def _skus(self) -> Mapping[str, Mapping[str, Any]]:
        """Sizes in this location by name, with family, zones and restrictions."""
        with _answered("Microsoft.Compute/skus/read"):
            listed = self._compute.resource_skus.list(filter=f"location eq '{self._location}'")
            return {sku.name: sku.as_dict() for sku in listed if sku.resource_type == "virtualMachines"}

    def quota(self, ask: Ask) -> Quota:
        """Return the vCPUs of the size's family, or of low priority for spot."""
        # The size's own entry knows its family for certain.
        name = ask.code if ask.code == _SPOT_QUOTA else str(self._skus.get(self._size, {}).get("family") or ask.code)
        with _answered("Microsoft.Compute/locations/usages/read"):
            for usage in self._compute.usage.list(self._location):
                if usage.name.value.lower() == name.lower():
                    return Quota(name=usage.name.value, limit=float(usage.limit), used=float(usage.current_value))
        return Quota(name=name, limit=None, used=None)

    def network_quota(self) -> Quota | None:
        """Networks are no concern: a cluster makes one."""
        return None

    def offer(self, instance_type: str) -> Offer:
        """Return the zones that a size can be had in, and what keeps this subscription from it."""
        sku = self._skus.get(instance_type)
        if sku is None:
            return Offer(zones=())
        places = sku.get("locationInfo") or []
        zones = {zone for place in places for zone in place.get("zones") or ()}
        restrictions, closed = [], set()
        for entry in sku.get("restrictions") or []:
            reason = entry.get("reasonCode", "restricted")
            if entry.get("type") == "Zone":
                closed |= set((entry.get("restrictionInfo") or {}).get("zones") or ())
            else:
                restrictions.append(f"this subscription may not have it in {self._location} ({reason})")
        return Offer(zones=tuple(sorted(zones - closed)), restrictions=tuple(restrictions))

    def reservation(self, reservation_id: str, zone: str) -> tuple[Reservation, ...]:
        """Return the reservations of a capacity reservation group."""
        del zone
        group, name = _parts(reservation_id, "capacityReservationGroups")
        with _answered("Microsoft.Compute/capacityReservationGroups/capacityReservations/read"):
            operations = self._compute.capacity_reservations
            try:
                names = [entry.name for entry in operations.list_by_capacity_reservation_group(group, name)]
                found = [operations.get(group, name, entry, expand="instanceView").as_dict() for entry in names]
            except ResourceNotFoundError:
                return ()
        return tuple(_reservation(entry) for entry in found)

    def image(self, reference: str) -> Image | None:
        """Return an image of the marketplace; for `latest` the newest version."""
        parts = reference.split(":")
        if len(parts) != 4:  # noqa: PLR2004 - publisher:offer:sku:version
            return None
        publisher, offer, sku, version = parts
        with _answered("Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read"):
            images = self._compute.virtual_machine_images
            try:
                if version.lower() == "latest":
                    newest = images.list(self._location, publisher, offer, sku, top=1, orderby="name desc")
                    if not newest:
                        return None
                    version = newest[0].name
                found = images.get(self._location, publisher, offer, sku, version).as_dict()
            except ResourceNotFoundError:
                return None
        architecture = (found.get("properties") or {}).get("architecture", "")
        return Image(
            pinned=f"{publisher}:{offer}:{sku}:{version}", architecture=_ARCHITECTURES.get(architecture, architecture)
        )

    def subnet(self, subnet_id: str) -> Subnet | None:
        """Return a subnet; Azure's span zones."""
        group, network = _parts(subnet_id, "virtualNetworks")
        with _answered("Microsoft.Network/virtualNetworks/usages/read"):
            try:
                usages = [usage.as_dict() for usage in self._network.virtual_networks.list_usage(group, network)]
            except ResourceNotFoundError:
                return None
        for usage in usages:
            if str(usage.get("id", "")).lower() == subnet_id.lower():
                free = int(usage["limit"]) - int(usage["currentValue"])
                return Subnet(id=subnet_id, zone="", free_addresses=free, network=subnet_id.rpartition("/subnets/")[0])
        return None

    def network_problems(self, network_id: str) -> tuple[str, ...]:
        """Return whether a virtual network overlaps the range that RDMA reserves."""
        group, name = _parts(network_id, "virtualNetworks")
        with _answered("Microsoft.Network/virtualNetworks/read"):
            try:
                found = self._network.virtual_networks.get(group, name).as_dict()
            except ResourceNotFoundError:
                return (f"there is no virtual network {network_id}",)
        ranges = ((found.get("properties") or {}).get("addressSpace") or {}).get("addressPrefixes") or []
        return tuple(
            f"{name} holds {entry}, which overlaps {_RDMA}: the RDMA network of Azure"
            for entry in ranges
            if isinstance(network := ip_network(entry, strict=False), IPv4Network) and network.overlaps(_RDMA)
        )

    def groups(self, cluster: str) -> tuple[GroupRules, ...]:
        """InfiniBand passes no network security group."""
        del cluster
        return ()


def _parts(resource_id: str, kind: str) -> tuple[str, str]:
    """Return resource group and name out of an id."""
    found = re.search(rf"/resourceGroups/([^/]+)/.*/{kind}/([^/]+)", resource_id, re.IGNORECASE)
    if found is None:
        raise NoAnswerError(f"{resource_id!r} is not an id of {kind}", help="take it from the portal, Properties")
    return found.group(1), found.group(2)


def _reservation(entry: Mapping[str, Any]) -> Reservation:
    properties = entry.get("properties") or {}
    used = ((properties.get("instanceView") or {}).get("utilizationInfo") or {}).get("virtualMachinesAllocated") or []
    total = int((entry.get("sku") or {}).get("capacity") or 0)
    end = (properties.get("scheduleProfile") or {}).get("end")
    state = str(properties.get("provisioningState", ""))
    return Reservation(
        id=str(entry.get("name", "")),
        instance_type=str((entry.get("sku") or {}).get("name", "")),
        zone=",".join(entry.get("zones") or ()),
        total=total,
        free=total - len(used),
        state=state,
        usable=state == "Succeeded",
        ends=dt.datetime.fromisoformat(str(end)).replace(tzinfo=dt.UTC) if end else None,
    )


@contextmanager
def _answered(permission: str) -> Iterator[None]:
    """Turn what Azure refuses into an answer that says which permission is needed."""
    try:
        yield
    except ClientAuthenticationError as error:
        raise NoLoginError(f"Azure does not take the login: {error.message}", help="az login") from None
    except HttpResponseError as error:
        first = str(error.message).splitlines()[0]
        raise NoAnswerError(f"Azure does not answer: {first}", help=f"the login needs {permission}") from None
    except AzureError as error:
        raise NoAnswerError(f"Azure cannot be asked: {error}", help="check the network") from None
