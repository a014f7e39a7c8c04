"""Questions to Azure through its own libraries, answered by recorded answers."""

import datetime as dt
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("azure.mgmt.compute", reason="the extra clusterwright[azure] is not installed")
import requests
import urllib3
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from azure.core.pipeline.transport import RequestsTransport
from requests.adapters import HTTPAdapter

from clusterwright.checks.preflight.online.answers import NoAnswerError, NoLoginError
from clusterwright.checks.preflight.online.azure import Azure

from .projects import asked

ANSWERS: dict[str, Any] = json.loads((Path(__file__).parent / "answers" / "azure.json").read_text())
H100 = "Standard_ND96isr_H100_v5"
FAMILY = asked("vCPUs of the family", "unknownFamily")
GROUP = "/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/capacityReservationGroups/R"
NETWORK = "/subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/N"


class Recorded(HTTPAdapter):
    """Answers from the record; what is not in it does not exist."""

    def __init__(self, status: int = 200) -> None:
        super().__init__()
        self._status = status
        self.asked: list[str] = []

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        """Return the recorded answer to a request, which must be a GET."""
        assert request.method == "GET"
        path = urlsplit(str(request.url)).path
        self.asked.append(path)
        status = self._status if path in ANSWERS or self._status != 200 else 404
        missing = {"error": {"code": "ResourceNotFound", "message": "not there"}}
        refused = {"error": {"code": "AuthorizationFailed", "message": "may not"}}
        body = ANSWERS.get(path, missing) if self._status == 200 else refused
        raw = urllib3.HTTPResponse(
            body=io.BytesIO(json.dumps(body).encode()),
            status=status,
            headers={"Content-Type": "application/json"},
            preload_content=False,
        )
        return self.build_response(request, raw)


class Login:
    """A login that is always taken."""

    def get_token(self, *_: object, **__: object) -> AccessToken:
        """Return a token."""
        return AccessToken("token", 4_102_444_800)


class NoLogin:
    """A login that is never taken."""

    def get_token(self, *_: object, **__: object) -> AccessToken:
        """Refuse."""
        raise ClientAuthenticationError(message="run az login")


def account(size: str = H100, status: int = 200) -> Azure:
    """Return a subscription that gives recorded answers."""
    session = requests.Session()
    session.mount("https://", Recorded(status))
    transport = RequestsTransport(session=session, session_owner=False)
    return Azure(subscription="S", location="eastus", size=size, credential=Login(), transport=transport)


def test_account() -> None:
    """The subscription is named; none, or a login that is not taken, says what to do."""
    assert account().account() == "subscription S"
    with pytest.raises(NoLoginError, match="no subscription"):
        Azure(subscription="", location="eastus", size=H100).account()
    with pytest.raises(NoLoginError, match="run az login"):
        Azure(subscription="S", location="eastus", size=H100, credential=NoLogin()).account()


def test_quota() -> None:
    """The family comes from the size's own entry; spot has a quota of its own."""
    found = account().quota(FAMILY)
    assert (found.name, found.limit, found.used) == ("standardNDSH100v5Family", 960.0, 96.0)
    spot = account().quota(asked("Total Regional Spot vCPUs", "lowPriorityCores"))
    assert (spot.limit, spot.used) == (10.0, 0.0)
    assert account("Standard_unknown").quota(FAMILY).limit is None


def test_offer() -> None:
    """Zones that the subscription may not use are left out; a location that it may not use is a restriction."""
    assert account().offer(H100).zones == ("1", "2")
    found = account("Standard_ND96isr_H200_v5").offer("Standard_ND96isr_H200_v5")
    assert found.restrictions == ("this subscription may not have it in eastus (NotAvailableForSubscription)",)
    assert account("Standard_unknown").offer("Standard_unknown").zones == ()


def test_image() -> None:
    """`latest` becomes the newest version; a version that does not exist is none."""
    found = account().image("microsoft-dsvm:ubuntu-hpc:2404:latest")
    assert found is not None
    assert (found.pinned, found.architecture) == ("microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901", "x86_64")
    assert account().image("microsoft-dsvm:ubuntu-hpc:2404:1.2.3") is None
    assert account().image("not an image") is None


def test_reservation() -> None:
    """A group's reservations are read with what is allocated and when they end."""
    (found,) = account().reservation(GROUP, "1")
    assert (found.instance_type, found.zone, found.total, found.free, found.usable) == (H100, "1", 16, 14, True)
    assert found.ends == dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
    assert account().reservation(GROUP.replace("/R", "/Other"), "1") == ()
    with pytest.raises(NoAnswerError, match="not an id"):
        account().reservation("mine", "1")


def test_existing_network() -> None:
    """Free addresses are the limit less those in use; the range of RDMA is refused."""
    found = account().subnet(f"{NETWORK}/subnets/nodes")
    assert found is not None
    assert (found.free_addresses, found.network) == (246, NETWORK)
    assert account().subnet(f"{NETWORK}/subnets/other") is None
    (problem,) = account().network_problems(NETWORK)
    assert "172.16.0.0/16" in problem
    (missing,) = account().network_problems(NETWORK.replace("/N", "/Other"))
    assert "there is no virtual network" in missing


@pytest.mark.parametrize(
    ("question", "permission"),
    [
        (lambda azure: azure.quota(FAMILY), "Microsoft.Compute/skus/read"),
        (lambda azure: azure.reservation(GROUP, "1"), "capacityReservations/read"),
        (lambda azure: azure.network_problems(NETWORK), "Microsoft.Network/virtualNetworks/read"),
    ],
)
def test_a_refused_question_names_the_permission(question: Callable[[Azure], object], permission: str) -> None:
    """What the login may not ask is unknown, with the permission that is missing."""
    with pytest.raises(NoAnswerError, match="may not") as raised:
        question(account(status=403))
    assert permission in str(raised.value.help)
