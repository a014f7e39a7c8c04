"""What is made of a provider's answers, whoever gives them."""

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from clusterwright.checks.preflight.configuration.quotas import Ask
from clusterwright.checks.preflight.online import online, provider_of
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
from clusterwright.checks.preflight.results import Outcome
from clusterwright.errors import InputError

from .projects import configuration, subject

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
BLOCK = Reservation(
    id="cr-0123456789abcdef0",
    instance_type="p5.48xlarge",
    zone="us-east-1a",
    total=8,
    free=8,
    state="active",
    usable=True,
    ends=NOW + dt.timedelta(days=10),
)


@dataclass(kw_only=True)
class Fake:
    """A provider that says what it is told to."""

    limit: float | None = 2000.0
    used: float | None = 0.0
    zones: tuple[str, ...] = ("us-east-1a",)
    restrictions: tuple[str, ...] = ()
    reserved: tuple[Reservation, ...] = (BLOCK,)
    found: Image | None = field(default_factory=lambda: Image(pinned="ami-0123456789abcdef0", architecture="x86_64"))
    room: int | None = 100
    problems: tuple[str, ...] = ()
    rules: tuple[GroupRules, ...] = ()
    refuses: type[Exception] | None = None

    def account(self) -> str:
        """Return a name, or refuse."""
        if self.refuses is NoLoginError:
            raise NoLoginError("no login", help="log in")
        return "somebody"

    def quota(self, ask: Ask) -> Quota:
        """Return limit and use, or refuse."""
        if self.refuses is NoAnswerError:
            raise NoAnswerError("not allowed", help="ask for the permission")
        return Quota(name=ask.name, limit=self.limit, used=self.used)

    def network_quota(self) -> Quota | None:
        """Return limit and use."""
        return Quota(name="NETWORKS", limit=self.limit, used=self.used)

    def offer(self, instance_type: str) -> Offer:
        """Return zones and restrictions; types that end in x are offered nowhere."""
        if instance_type.endswith("x"):
            return Offer(zones=())
        return Offer(zones=self.zones, restrictions=self.restrictions)

    def reservation(self, reservation_id: str, zone: str) -> tuple[Reservation, ...]:
        """Return what is reserved."""
        return self.reserved

    def image(self, reference: str) -> Image | None:
        """Return an image."""
        return self.found

    def subnet(self, subnet_id: str) -> Subnet | None:
        """Return a subnet, None for those that end in 9."""
        if subnet_id.endswith("9"):
            return None
        return Subnet(id=subnet_id, zone="us-east-1a", free_addresses=self.room, network="vpc-0123456789abcdef0")

    def network_problems(self, network_id: str) -> tuple[str, ...]:
        """Return problems."""
        return self.problems

    def groups(self, cluster: str) -> tuple[GroupRules, ...]:
        """Return groups."""
        return self.rules


def asked(fake: Fake, cloud: str = "aws", **nodes: Any) -> dict[str, list[Outcome]]:  # noqa: ANN401
    """Return outcomes by check of a project whose nodes layer is changed."""
    config = configuration(cloud)
    existing = nodes.pop("existingNetwork", None)
    if existing:
        config["foundation"]["existingNetwork"] = existing
    config["nodes"].update(nodes)
    results: dict[str, list[Outcome]] = {}
    for result in online(subject(cloud, config), fake, now=NOW):
        results.setdefault(result.check, []).append(result.outcome)
    return results


def test_all_is_well() -> None:
    """Enough of everything passes, each with its figures."""
    results = asked(Fake())
    assert {outcome.status for outcomes in results.values() for outcome in outcomes} == {"PASS"}
    assert "2,000, 0 used; 1,536 vCPUs are needed" in results["PRE102"][0].message


@pytest.mark.parametrize(
    ("fake", "nodes", "check", "status", "words"),
    [
        (Fake(limit=0), {}, "PRE102", "FAIL", "is 0, 0 used; 1,536 vCPUs"),
        (Fake(limit=2000, used=465), {}, "PRE102", "FAIL", "465 used"),
        (Fake(limit=2000, used=464), {}, "PRE102", "PASS", "464 used"),
        (Fake(limit=None), {}, "PRE102", "UNKNOWN", "does not say"),
        (Fake(refuses=NoAnswerError), {}, "PRE102", "UNKNOWN", "not allowed"),
        (Fake(zones=("us-east-1b", "us-east-1d")), {}, "PRE103", "FAIL", "but in us-east-1b, us-east-1d"),
        (Fake(zones=()), {}, "PRE103", "FAIL", "no zone of us-east-1"),
        (Fake(restrictions=("NotAvailableForSubscription",)), {}, "PRE103", "FAIL", "NotAvailable"),
        (Fake(found=None), {}, "PRE105", "FAIL", "there is no image"),
        (Fake(found=Image(pinned="ami-0", architecture="arm64")), {}, "PRE105", "FAIL", "is for arm64"),
        (Fake(found=Image(pinned="ami-1", architecture="x86_64")), {}, "PRE105", "WARN", "today it is ami-1"),
        (Fake(rules=(GroupRules(id="sg-1", from_itself=True, to_itself=False),)), {}, "PRE107", "FAIL", "to itself"),
        (Fake(rules=(GroupRules(id="sg-1", from_itself=False, to_itself=True),)), {}, "PRE107", "FAIL", "from itself"),
        (Fake(rules=(GroupRules(id="sg-1", from_itself=True, to_itself=True),)), {}, "PRE107", "PASS", "sg-1"),
    ],
)
def test_one_answer(fake: Fake, nodes: dict[str, Any], check: str, status: str, words: str) -> None:
    """Each answer leads to its outcome."""
    outcome = asked(fake, **nodes)[check][0]
    assert (outcome.status, words in outcome.message) == (status, True), outcome.message


@pytest.mark.parametrize(
    ("reserved", "status", "words"),
    [
        ((BLOCK,), "PASS", "8 free, 8 wanted, until 2026-12-01 00:00 UTC"),
        ((), "FAIL", "there is no cr-"),
        ((replace(BLOCK, free=7),), "FAIL", "7 of 8 are free, 8 nodes are wanted"),
        ((replace(BLOCK, instance_type="p5e.48xlarge"),), "FAIL", "holds p5e.48xlarge"),
        ((replace(BLOCK, zone="us-east-1b"),), "FAIL", "is in us-east-1b"),
        ((replace(BLOCK, state="expired", usable=False),), "FAIL", "it is expired"),
        ((replace(BLOCK, ends=NOW + dt.timedelta(minutes=20)),), "FAIL", "it ended"),
        ((replace(BLOCK, free=3), replace(BLOCK, free=5)), "PASS", "8 free"),
    ],
)
def test_a_capacity_block(reserved: tuple[Reservation, ...], status: str, words: str) -> None:
    """A block is held against type, zone, count, state, and its end less the half hour in which nodes go."""
    results = asked(Fake(reserved=reserved), capacity="capacity-block", reservationId=BLOCK.id)
    outcome = results["PRE104"][0]
    assert (outcome.status, words in outcome.message) == (status, True), outcome.message


def test_no_reservation_is_asked_for_on_demand() -> None:
    """Where nothing is reserved, nothing is looked up."""
    assert "PRE104" not in asked(Fake())


@pytest.mark.parametrize(
    ("fake", "subnet", "words"),
    [
        (Fake(), "subnet-0123456789abcde09", "there is no subnet subnet-0123456789abcde09"),
        (Fake(room=7), "subnet-0123456789abcdef0", "7 free addresses for 8 nodes"),
        (Fake(problems=("vpc has enableDnsSupport off",)), "subnet-0123456789abcdef0", "enableDnsSupport"),
    ],
)
def test_an_existing_network(fake: Fake, subnet: str, words: str) -> None:
    """Ids that do not exist, too little room and name resolution that is off fail."""
    existing = {"vpcId": "vpc-0123456789abcdef0", "nodeSubnetId": subnet, "serviceSubnetIds": ["subnet-0", "subnet-1"]}
    messages = [outcome.message for outcome in asked(fake, existingNetwork=existing)["PRE106"]]
    assert any(words in message for message in messages), messages


def test_an_existing_network_with_room() -> None:
    """Ids that exist and have room pass."""
    existing = {"vpcId": "vpc-0123456789abcdef0", "nodeSubnetId": "subnet-2", "serviceSubnetIds": ["subnet-0"]}
    assert [outcome.status for outcome in asked(Fake(), existingNetwork=existing)["PRE106"]] == ["PASS"]


def test_networks_of_google() -> None:
    """A TCPXO cluster makes nine networks; the default quota of a small project is less."""
    outcome = asked(Fake(limit=5.0, zones=("us-central1-a",)), "gcp")["PRE108"][0]
    assert (outcome.status, "9 networks are needed" in outcome.message) == ("FAIL", True)


def test_without_login_nothing_else_is_asked() -> None:
    """A login that is not taken fails once, with what to do."""
    results = asked(Fake(refuses=NoLoginError))
    assert list(results) == ["PRE101"]
    assert (results["PRE101"][0].status, results["PRE101"][0].fix) == ("FAIL", "log in")


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the provider's SDK the error is one sentence and a command."""

    def missing(name: str) -> object:
        raise ModuleNotFoundError(name="boto3")

    monkeypatch.setattr("clusterwright.checks.preflight.online.import_module", missing)
    with pytest.raises(InputError, match="boto3 is missing") as raised:
        provider_of(subject("aws"))
    assert raised.value.help == "pip install 'clusterwright[aws]'"


def test_other_machines_are_offered_too() -> None:
    """A controller's type that the zone has not fails, named with its setting."""
    outcomes = asked(Fake(), controllerInstanceType="m7i.2xlargex", loginInstanceType="m7i.xlarge")["PRE103"]
    assert [outcome.message for outcome in outcomes if outcome.status == "FAIL"] == [
        "controllerInstanceType: m7i.2xlargex is not offered in us-east-1a"
    ]
