"""Questions to Google Cloud through its compute library, with the login that gcloud uses."""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from typing import Any

import google.auth
from google.api_core.exceptions import Forbidden, GoogleAPICallError, NotFound, Unauthenticated
from google.auth.exceptions import GoogleAuthError
from google.cloud import compute_v1

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

_ARCHITECTURES = {"X86_64": "x86_64", "ARM64": "arm64"}
#: Google keeps the first two and the last two addresses of a subnetwork.
_KEPT_ADDRESSES = 4
_IMAGE = re.compile(
    r"(?:(?:https://www\.googleapis\.com/compute/v1/)?projects/)?(?P<project>[a-z0-9:.-]+)/(?:global/images/)?"
    r"(?P<family>family/)?(?P<name>[a-z0-9-]+)"
)


def provider(subject: Subject) -> "Gcp":
    """Return what asks the project of the configuration."""
    setting = subject.project.setting("gcp:project")
    mtu = subject.instance.mtu_bytes if subject.instance else None
    return Gcp(
        project=text(setting.value) if setting else "",
        region=subject.region,
        mtu_bytes=None if mtu is None else int(mtu),
    )


class Gcp:
    """One project in one region."""

    def __init__(
        self,
        *,
        project: str,
        region: str,
        mtu_bytes: int | None = None,
        client: Callable[[type[Any]], Any] | None = None,
    ) -> None:
        self._project, self._region, self._mtu_bytes = project, region, mtu_bytes
        self._client = client or (lambda kind: kind())
        self._own_client = client is not None

    def account(self) -> str:
        """Return the project; asking for it shows whether the login is taken."""
        try:
            if not self._own_client:
                google.auth.default()
            found = self._client(compute_v1.ProjectsClient).get(project=self._project)
        except (GoogleAuthError, Unauthenticated) as error:
            raise NoLoginError(
                f"Google Cloud does not take the login: {error}",
                help="gcloud auth application-default login; see clusterwright docs preflight",
            ) from None
        except GoogleAPICallError as error:
            raise NoLoginError(
                f"Google Cloud does not show project {self._project}: {error.message}",
                help="the login needs roles/compute.viewer on the project",
            ) from None
        return f"project {found.name}"

    def quota(self, ask: Ask) -> Quota:
        """Return a quota of the region; the newest are only in Cloud Quotas and not among them."""
        with _answered("compute.regions.get"):
            region = self._client(compute_v1.RegionsClient).get(project=self._project, region=self._region)
        return _quota(region.quotas, ask.code)

    def network_quota(self) -> Quota | None:
        """Return the quota of VPC networks, which belongs to the project."""
        with _answered("compute.projects.get"):
            project = self._client(compute_v1.ProjectsClient).get(project=self._project)
        return _quota(project.quotas, "NETWORKS")

    def offer(self, instance_type: str) -> Offer:
        """Return the zones of the region that have a machine type."""
        with _answered("compute.machineTypes.list"):
            request = compute_v1.AggregatedListMachineTypesRequest(
                project=self._project, filter=f"name = {instance_type}"
            )
            found = self._client(compute_v1.MachineTypesClient).aggregated_list(request=request)
            zones = [
                scope.removeprefix("zones/")
                for scope, entry in found
                if any(machine.name == instance_type for machine in entry.machine_types)
            ]
        return Offer(zones=tuple(sorted(zone for zone in zones if zone.rpartition("-")[0] == self._region)))

    def reservation(self, reservation_id: str, zone: str) -> tuple[Reservation, ...]:
        """Return a reservation of this project or of another that shares it."""
        found = re.fullmatch(r"projects/([^/]+)/reservations/([^/]+)(/.*)?", reservation_id)
        project, name = (found.group(1), found.group(2)) if found else (self._project, reservation_id)
        with _answered("compute.reservations.get"):
            try:
                entry = self._client(compute_v1.ReservationsClient).get(project=project, zone=zone, reservation=name)
            except NotFound:
                return ()
        held = entry.specific_reservation
        return (
            Reservation(
                id=entry.name,
                instance_type=held.instance_properties.machine_type,
                zone=entry.zone.rpartition("/")[2],
                total=int(held.count),
                free=int(held.count) - int(held.in_use_count),
                state=entry.status,
                usable=entry.status == "READY",
                ends=dt.datetime.fromisoformat(entry.delete_at_time) if entry.delete_at_time else None,
            ),
        )

    def image(self, reference: str) -> Image | None:
        """Return an image by name, or the one that a family names today."""
        found = _IMAGE.fullmatch(reference)
        if found is None:
            return None
        images = self._client(compute_v1.ImagesClient)
        project, name = found.group("project"), found.group("name")
        with _answered("compute.images.get"):
            try:
                if found.group("family"):
                    image = images.get_from_family(project=project, family=name)
                else:
                    image = images.get(project=project, image=name)
            except NotFound:
                return None
        pinned = f"projects/{project}/global/images/{image.name}" if found.group("family") else reference
        return Image(pinned=pinned, architecture=_ARCHITECTURES.get(image.architecture, ""))

    def subnet(self, subnet_id: str) -> Subnet | None:
        """Return a subnetwork with the most addresses it can have free: Google does not count those in use."""
        found = re.search(r"projects/([^/]+)/regions/([^/]+)/subnetworks/([^/]+)$", subnet_id)
        if found is None:
            return None
        project, region, name = found.groups()
        with _answered("compute.subnetworks.get"):
            try:
                entry = self._client(compute_v1.SubnetworksClient).get(project=project, region=region, subnetwork=name)
            except NotFound:
                return None
        addresses = ip_network(entry.ip_cidr_range).num_addresses - _KEPT_ADDRESSES if entry.ip_cidr_range else None
        network = entry.network.partition("/compute/v1/")[2] or entry.network
        return Subnet(id=subnet_id, zone="", free_addresses=addresses, network=network)

    def network_problems(self, network_id: str) -> tuple[str, ...]:
        """Return whether an existing network has another MTU than the fabric needs."""
        found = re.search(r"projects/([^/]+)/global/networks/([^/]+)$", network_id)
        if found is None:
            return (f"{network_id!r} is not the id of a network",)
        with _answered("compute.networks.get"):
            try:
                entry = self._client(compute_v1.NetworksClient).get(project=found.group(1), network=found.group(2))
            except NotFound:
                return (f"there is no network {network_id}",)
        if self._mtu_bytes is not None and entry.mtu != self._mtu_bytes:
            return (f"{network_id} has an MTU of {entry.mtu}, the fabric needs {self._mtu_bytes}",)
        return ()

    def groups(self, cluster: str) -> tuple[GroupRules, ...]:
        """Google Cloud has no security groups."""
        del cluster
        return ()


def _quota(quotas: Any, name: str) -> Quota:  # noqa: ANN401 - of the SDK
    for entry in quotas:
        if entry.metric == name:
            return Quota(name=name, limit=entry.limit, used=entry.usage)
    return Quota(name=name, limit=None, used=None)


@contextmanager
def _answered(permission: str) -> Iterator[None]:
    """Turn what Google refuses into an answer that says which permission is needed."""
    try:
        yield
    except (GoogleAuthError, Unauthenticated) as error:
        raise NoLoginError(
            f"Google Cloud does not take the login: {error}", help="gcloud auth application-default login"
        ) from None
    except Forbidden as error:
        raise NoAnswerError(
            f"Google Cloud does not answer: {error.message}", help=f"the login needs {permission}"
        ) from None
    except GoogleAPICallError as error:
        raise NoAnswerError(
            f"Google Cloud cannot be asked: {error.message}", help="check network, project and region"
        ) from None
