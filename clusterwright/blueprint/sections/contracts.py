"""How clouds are paid and what comes on top: contracts, charges of a cloud, owning a part and renting the rest."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Identifier, Section
from clusterwright.blueprint.quantities import Duration, Fraction, Money, Size
from clusterwright.catalog.clouds.price_only import price_only_products

_CLOUDS = ("aws", "azure", "gcp")
_MONTH_S = 730 * 3600.0
#: Kinds of bill lines, as in `facility.bill`.
Category = Literal["compute", "network", "storage", "management", "software", "service"]
Term = Literal[
    "on_demand",
    "spot",
    "reserved_1y",
    "reserved_3y",
    "savings_plan_1y",
    "savings_plan_3y",
    "capacity_block",
    "calendar",
    "flex_start",
]
Payment = Literal["no_upfront", "partial_upfront", "all_upfront"]
#: Terms that bind for a time; savings plans are priced as commitments.
COMMITMENTS = {"reserved_1y": 12, "reserved_3y": 36, "savings_plan_1y": 12, "savings_plan_3y": 36}
#: Terms of what is booked in advance.
BOOKED = ("capacity_block", "calendar")


def providers() -> tuple[str, ...]:
    """Return who rents GPUs: the clouds that stacks are written for, and those of which only prices are known."""
    return (*_CLOUDS, *sorted({product.provider for product in price_only_products().values()}))


def _provider(name: str) -> str:
    if name not in providers():
        close = get_close_matches(name, providers(), n=1)
        raise PydanticCustomError(
            "choice",
            "no provider is called {found}",
            {
                "found": repr(name),
                "help": f"did you mean {close[0]!r}?" if close else f"one of {', '.join(providers())}",
            },
        )
    return name


Provider = Annotated[Identifier, AfterValidator(_provider)]


def listed_once(entries: Sequence[object], key: str, named: str) -> None:
    """Refuse a list of the section `tco` that says the same thing twice, at the place of the second one.

    Raises:
        PydanticCustomError: an entry of the list at `key` equals one before it; `named` is what it is.
    """
    for place, entry in enumerate(entries):
        first = entries.index(entry)
        if first < place:
            raise PydanticCustomError(
                "choice",
                "{named} {second} of tco.{key} is the same as {named} {first}",
                {
                    "named": named,
                    "second": place + 1,
                    "key": key,
                    "first": first + 1,
                    "at": f"{key}.{place}",
                    "help": "remove one of the two, or change it",
                },
            )


class CloudContract(Section):
    """One way to pay for rented GPU nodes, ranked beside all others."""

    target: Provider = Field(description="who it is with: aws, azure, gcp, or another provider, for example coreweave")
    term: Term = Field("on_demand", description="how capacity is obtained; savings plans are priced as commitments")
    payment: Payment | None = Field(
        None,
        description="what is paid at the start of each term: nothing (the default), a part, or all, as blocks are",
    )
    upfront: Fraction | None = Field(
        None,
        gt=0,
        lt=1,
        description="with partial_upfront: share of a term's price paid at its start; 50 % by default",
    )
    length: Annotated[Duration, Field(ge=_MONTH_S, le=5 * 8760 * 3600.0)] | None = Field(
        None, description="of what is booked at once (capacity_block, calendar), in whole months; 6 months by default"
    )
    rest: Literal["credited", "paid"] = Field(
        "credited",
        description="what the horizon cuts off the last commitment: credited to later work, or paid and lost",
    )
    rate: Annotated[Money, Field(gt=0, le=1e6)] | None = Field(
        None, description="price agreed per GPU and hour, for example 2.10 USD; the list price without it"
    )
    discount: Fraction = Field(0.0, ge=0, lt=1, description="share off the price, for example 18 %")
    discounted: Annotated[list[Category], Field(min_length=1)] | Literal["all"] = Field(
        ["compute"], description="bill lines that the discount is on: categories such as [compute, storage], or all"
    )
    commitment_per_year: Money = Field(
        0.0,
        ge=0,
        le=1e12,
        description="least spend a year; what the bill falls short of it is paid, for example 5 MUSD",
    )

    @model_validator(mode="after")
    def _consistent(self) -> "CloudContract":
        problems = (
            (
                self.payment is not None
                and self.payment != "no_upfront"
                and self.term not in COMMITMENTS
                and self.term not in BOOKED,
                f"nothing is paid in advance for term {self.term}",
                f"remove payment, or choose one of {', '.join((*COMMITMENTS, *BOOKED))}",
                "payment",
            ),
            (
                self.term in BOOKED and self.payment not in (None, "all_upfront"),
                f"term {self.term} is paid whole in advance",
                "write payment: all_upfront, or remove it",
                "payment",
            ),
            (
                self.upfront is not None and self.payment != "partial_upfront",
                "upfront is the part of partial_upfront",
                "write payment: partial_upfront, or remove upfront",
                "upfront",
            ),
            (
                self.length is not None and self.term not in BOOKED,
                f"term {self.term} has a length of its own",
                f"remove length; it is for {' and '.join(BOOKED)}",
                "length",
            ),
            (
                self.rest == "paid" and self.term not in COMMITMENTS,
                f"term {self.term} leaves no rest to pay",
                f"remove rest; it is for {', '.join(COMMITMENTS)}",
                "rest",
            ),
        )
        for wrong, message, advice, at in problems:
            if wrong:
                raise PydanticCustomError("choice", "{message}", {"message": message, "at": at, "help": advice})
        return self

    @property
    def upfront_fraction(self) -> float:
        """Share of each term's price that is paid at its start."""
        if self.term in BOOKED:
            return 1.0
        partial = 0.5 if self.upfront is None else self.upfront
        return {"all_upfront": 1.0, "partial_upfront": partial}.get(self.payment or "", 0.0)

    @property
    def period_months(self) -> float | None:
        """Length of a term in whole months; None where nothing binds."""
        if self.term in BOOKED:
            return 6.0 if self.length is None else float(max(1, round(self.length / _MONTH_S)))
        return COMMITMENTS.get(self.term)

    @property
    def price_term(self) -> str:
        """The term under which prices are kept: savings plans stand with the commitments of their length."""
        return self.term.replace("savings_plan", "reserved")


class CloudExtras(Section):
    """What clouds charge beside the bill; nothing of it is counted unless it is given."""

    support: Literal["business", "enterprise"] | Fraction = Field(
        0.0, description="plan of support (tco/cloud_support.csv), or its share of what is spent, for example 5 %"
    )
    egress: Size = Field(0.0, ge=0, le=1e21, description="to the internet each month, for example 50 TB")
    between_zones: Size = Field(0.0, ge=0, le=1e21, description="between zones of a region each month")
    nat: Size = Field(0.0, ge=0, le=1e21, description="processed by NAT gateways each month")
    goodput_loss: Fraction = Field(
        0.0, ge=0, lt=1, description="work lost beyond the plan's own, as a share of the price of GPU nodes"
    )
    setup: Money = Field(0.0, ge=0, le=1e12, description="paid once at the start, for example to move in")

    @model_validator(mode="after")
    def _share(self) -> "CloudExtras":
        if isinstance(self.support, float) and not 0 <= self.support < 1:
            raise PydanticCustomError(
                "choice",
                "support of {found} is no share",
                {"found": self.support, "at": "support", "help": "write 0 % to below 100 %"},
            )
        return self


class Hybrid(Section):
    """Own a part of the nodes and rent for the work that they do not do."""

    owned: Fraction = Field(ge=0, le=1, description="share of the owned cluster's nodes that is bought, in whole nodes")
    utilisation: Fraction | None = Field(
        None,
        gt=0,
        le=1,
        description="most of the time that these work; as the whole cluster would without it. The rest is rented",
    )
    expand: bool = Field(
        False,
        description="with tco.growth: buy more nodes as the work grows; without it what grows is rented",
    )
    burst: Identifier = Field(
        "cheapest", description="where the rest runs: an option such as aws/on_demand, or the cheapest uncommitted one"
    )


#: Providers of which only prices are known.
OtherProviders = Literal["all", "none"] | Annotated[list[Provider], Field(min_length=1)]
