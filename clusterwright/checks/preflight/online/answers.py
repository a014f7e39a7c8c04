"""What a provider is asked and what it answers, in words that all providers share."""

import datetime as dt
from dataclasses import dataclass
from typing import Protocol

from clusterwright.checks.preflight.configuration.quotas import Ask
from clusterwright.errors import ClusterwrightError


class NoAnswerError(ClusterwrightError):
    """The provider did not answer a question: it may not be asked, or it failed; the message says which."""


class NoLoginError(ClusterwrightError):
    """There are no credentials, or the provider does not take them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """A quota: its name at the provider, the limit, and how much is used; None where the provider does not say."""

    name: str
    limit: float | None
    used: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """Where a type can be had: the zones of the region that have it, and restrictions on this account."""

    zones: tuple[str, ...]
    restrictions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """A reservation or block: what it holds, where, how much of it is free, until when (UTC).

    Attributes:
        state: in the provider's words; usable: whether machines can be launched into it now or when it starts.
        ends: None where it does not end by itself.
    """

    id: str
    instance_type: str
    zone: str
    total: int
    free: int
    state: str
    usable: bool
    ends: dt.datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """An image: the reference that stays, and its architecture (`x86_64`, `arm64`, empty if not said)."""

    pinned: str
    architecture: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Subnet:
    """A subnet: its zone (empty where subnets span zones), free addresses (None if not said), and its network."""

    id: str
    zone: str
    free_addresses: int | None
    network: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRules:
    """A security group: whether every protocol from and to itself is let through."""

    id: str
    from_itself: bool
    to_itself: bool


class Provider(Protocol):
    """Read-only questions to one account in one region. Each may raise `NoAnswerError`."""

    def account(self) -> str:
        """Return whose account this is; raises `NoLoginError` without credentials."""
        ...

    def quota(self, ask: Ask) -> Quota:
        """Return the quota that nodes use."""
        ...

    def network_quota(self) -> Quota | None:
        """Return the quota of networks, None where networks are no concern."""
        ...

    def offer(self, instance_type: str) -> Offer:
        """Return where a type can be had."""
        ...

    def reservation(self, reservation_id: str, zone: str) -> tuple[Reservation, ...]:
        """Return a reservation, for a group each of its reservations; empty if there is none."""
        ...

    def image(self, reference: str) -> Image | None:
        """Return an image, None if there is none."""
        ...

    def subnet(self, subnet_id: str) -> Subnet | None:
        """Return a subnet, None if there is none."""
        ...

    def network_problems(self, network_id: str) -> tuple[str, ...]:
        """Return what of an existing network does not fit; one message if it does not exist."""
        ...

    def groups(self, cluster: str) -> tuple[GroupRules, ...]:
        """Return the security groups that the cluster's machines have already; empty before the first `up`."""
        ...
