"""The form of a TCO case: what a published cost calculation takes in, and the figures that it came to.

Every field's description is what an editor shows on hover, and what `docs/tco-cases.md` lists.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from clusterwright.blueprint.fields import Day, Section
from clusterwright.blueprint.quantities import Fraction
from clusterwright.evidence.tco_fields import (
    Amount,
    Charge,
    Hours,
    Load,
    Months,
    Name,
    Number,
    Per,
    Positive,
    Share,
    Text,
    one_of,
    units_of,
)
from clusterwright.tco.engine import MOST_MONTHS

#: What a provider's support plan is a share of, unless the case says otherwise.
BILLED = ("gpu", "storage", "network", "cpu", "egress")


class Purchase(Section):
    """What is bought at the start."""

    usd_per_gpu: Amount | None = Field(None, description="USD of one GPU, everything it needs included")
    usd_per_server: Amount | None = Field(None, description="USD of one server; needs gpus_per_server")
    usd: Amount | None = Field(None, description="USD of everything; adds to the prices per GPU and server")
    resale_fraction: Share = Field(0.0, description="share of the purchase that resale brings at the end")
    installation_fraction: Charge = Field(0.0, description="share of the purchase paid at the start for installation")
    spares_fraction: Charge = Field(0.0, description="share of the purchase paid at the start for spare parts")
    support_fraction_per_year: Charge = Field(0.0, description="share of the purchase paid each year for operations")
    capital_charge_per_year: Charge = Field(
        0.0, description="simple charge on the average balance: purchase / 2 x this, a year"
    )

    @model_validator(mode="after")
    def _priced(self) -> "Purchase":
        one_of(self, ("usd_per_gpu", "usd_per_server", "usd"))
        return self


class Power(Section):
    """Electricity and room, by nameplate load."""

    kw_per_gpu: Load | None = Field(None, description="nameplate load of a GPU in kW")
    kw_per_server: Load | None = Field(None, description="nameplate load of a server in kW")
    kw: Load | None = Field(None, description="nameplate load of everything in kW; adds to the other two")
    usd_per_kwh: Amount = Field(0.0, description="price of electricity")
    pue: Annotated[float, Field(ge=1, le=10)] = Field(1.0, description="facility over IT energy")
    load_fraction: Share = Field(1.0, description="share of the nameplate load drawn at work; 1 by default")
    idle_fraction: Share | None = Field(
        None, description="share of the nameplate load drawn without work; as much as at work by default"
    )
    usd_per_kw_month: Amount = Field(0.0, description="room (colocation) per kW of nameplate load and month")

    @model_validator(mode="after")
    def _loaded(self) -> "Power":
        one_of(self, ("kw_per_gpu", "kw_per_server", "kw"))
        if self.idle_fraction is not None and self.idle_fraction > self.load_fraction:
            raise ValueError("idle_fraction is above load_fraction: waiting draws no more than work")
        return self

    @property
    def idle(self) -> float:
        """Share of the nameplate load drawn without work."""
        return self.load_fraction if self.idle_fraction is None else self.idle_fraction


class Rent(Section):
    """What a provider charges for GPUs. Cost category `gpu`."""

    usd_per_gpu_hour: Amount | None = Field(None, description="USD of a GPU and hour")
    usd_per_server_hour: Amount | None = Field(None, description="USD of a whole server and hour")
    usd_per_hour: Amount | None = Field(None, description="USD of everything and hour")
    usd_per_gpu_month: Amount | None = Field(None, description="USD of a GPU and month")
    usd_per_month: Amount | None = Field(None, description="USD of everything and month")
    price_of: str | None = Field(
        None,
        max_length=120,
        description="a product of the price book, such as aws/p5.48xlarge: its documented price for as many GPUs",
    )
    region: str = Field("", max_length=60, description="price_of: where; empty for prices that hold everywhere")
    term: Literal["on_demand", "spot", "reserved_1y", "reserved_3y", "capacity_block", "calendar", "flex_start"] = (
        Field("on_demand", description="price_of: under which term it is rented")
    )
    pays: Literal["used_hours", "all_hours"] = Field(
        "used_hours", description="used_hours: hourly prices for the share that utilisation says; all_hours: committed"
    )
    discount: Share = Field(0.0, description="off the prices of this section")

    @model_validator(mode="after")
    def _priced(self) -> "Rent":
        names = ("usd_per_gpu_hour", "usd_per_server_hour", "usd_per_hour", "usd_per_gpu_month", "usd_per_month")
        one_of(self, (*names, "price_of"))
        if self.price_of is not None and any(getattr(self, name) is not None for name in names):
            raise ValueError("price_of brings the price: leave out the other ones")
        if self.price_of is None and (self.region or self.term != "on_demand"):
            raise ValueError("region and term say which price of price_of is meant, and there is no price_of")
        return self


class Support(Section):
    """A support plan: a share of running costs. Cost category `support`."""

    fraction: Charge = Field(description="for example 5 %")
    of: Annotated[list[Name], Field(min_length=1)] = Field(
        list(BILLED), description="cost categories that it is a share of"
    )


class GoodputLoss(Section):
    """Work that failures lose, as a share of costs. Cost category `goodput_loss`."""

    fraction: Charge = Field(description="for example 3.43 %")
    of: Annotated[list[Name], Field(min_length=1)] = Field(["gpu"], description="cost categories that it is a share of")


class Annuity(Section):
    """Equal monthly payments for something bought, interest included."""

    rate_per_year: Charge = Field(description="nominal yearly rate, a twelfth of it per month; 0 divides evenly")
    months: Annotated[int, Field(ge=1, le=600)] = Field(description="payments that pay it back: its life")


class Cost(Section):
    """One more cost."""

    name: Annotated[str, Field(min_length=1, max_length=80)] = Field(description="for people")
    usd: Amount = Field(description="USD per what `per` says")
    per: Per = Field(description="for example month, gpu_hour, gpu_used_hour, server_year, kw_month, once")
    category: Name = Field("other", description="cost category; one_time for what is paid once, unless given")
    annuity: Annuity | None = Field(
        None,
        description="paid in equal monthly payments for as long as the horizon lasts; `per` is then a kind of once",
    )

    @model_validator(mode="after")
    def _once(self) -> "Cost":
        if self.annuity is not None and units_of(self.per)[1] != "once":
            raise ValueError("an annuity pays for what is bought: per is once, gpu, server or kw")
        return self


class Loan(Section):
    """A loan with equal monthly payments; shown apart, not part of the cash flow."""

    rate_per_year: Charge = Field(description="nominal yearly rate, a twelfth of it per month")
    months: Annotated[int, Field(ge=1, le=600)] = Field(description="number of payments")
    usd: Amount | None = Field(None, description="principal; the purchases by default")


class Levelised(Section):
    """How purchases are charged in the levelised cost of a useful GPU-hour."""

    fixed_charge_rate: Annotated[Fraction, Field(gt=0, le=10)] | None = Field(
        None, description="share of the purchase charged a year; else computed from the values below"
    )
    rate: Annotated[Fraction, Field(gt=-1, le=10)] | None = Field(
        None, description="discount rate a year; the case's by default"
    )
    years: Positive | None = Field(None, description="life; the horizon by default")
    tax_rate: Annotated[Fraction, Field(ge=0, lt=1)] = Field(0.0, description="on income")
    depreciation: str | None = Field(None, description="for the tax: straight_line_5, macrs_5, …")
    bonus_fraction: Share = Field(0.0, description="share of the purchase written off in the first year")


class Depreciation(Section):
    """How the purchase is written off."""

    method: str = Field(description="straight_line_N, macrs_3, macrs_5, macrs_7 or macrs_15")
    bonus_fraction: Share = Field(0.0, description="share of the purchase written off at once in the first year")


class Option(Section):
    """One way to have the GPUs: bought (with `purchase` or `power`) or rented."""

    gpus: Positive = Field(1.0, description="GPUs that are wanted; figures per GPU are of these")
    gpus_per_server: Positive | None = Field(None, description="servers are bought and rented whole, if this is given")
    whole_servers: bool = Field(True, description="false: parts of a server can be had")
    horizon_months: Annotated[Months, Field(gt=0, le=MOST_MONTHS)] | None = Field(
        None, description="the case's by default"
    )
    utilisation: Annotated[Fraction, Field(gt=0, le=1)] | None = Field(None, description="the case's by default")
    availability: Annotated[Fraction, Field(gt=0, le=1)] = Field(1.0, description="share of hours in working order")
    goodput: Annotated[Fraction, Field(gt=0, le=1)] = Field(1.0, description="share of work that is kept")
    purchase: Purchase | None = Field(None, description="what is bought at the start")
    power: Power | None = Field(None, description="electricity and room")
    rent: Rent | None = Field(None, description="what the provider charges for GPUs")
    monthly: dict[Name, Amount] = Field(
        default_factory=dict, description="USD a month by cost category, e.g. storage, network, cpu, debugging"
    )
    one_time: dict[Name, Amount] = Field(
        default_factory=dict, description="USD at the start, e.g. setup; spread over the term. Category one_time"
    )
    costs: list[Cost] = Field(default_factory=list, description="any other costs")
    support: Support | Charge | None = Field(None, description="support plan: a share, or fraction and of")
    goodput_loss: GoodputLoss | Charge | None = Field(
        None, description="lost work: a share of the gpu category, or fraction and of. Category goodput_loss"
    )
    loan: Loan | None = Field(None, description="a loan for the purchases")
    levelised: Levelised | None = Field(None, description="how purchases are charged in the levelised cost")
    depreciation: Depreciation | None = Field(None, description="how the purchase is written off")
    pflop_per_s_per_gpu: Positive | None = Field(None, description="dense peak of a GPU in 1e15 FLOP/s")
    mfu: Annotated[Fraction, Field(gt=0, le=1)] = Field(1.0, description="share of the peak that the work attains")
    tokens_per_s: Positive | None = Field(None, description="of all GPUs together, at work")

    @model_validator(mode="after")
    def _consistent(self) -> "Option":
        if self.rent and (self.purchase or self.power):
            raise ValueError("an option is bought or rented, not both; make two options")
        if self.gpus_per_server is None and self._needs_servers():
            raise ValueError("a price or load per server needs gpus_per_server")
        if self.levelised and self.purchase and self.purchase.capital_charge_per_year:
            raise ValueError("capital_charge_per_year and levelised both charge the capital: keep one")
        if not (self.purchase or self.power or self.rent or self.monthly or self.one_time or self.costs):
            raise ValueError("the option costs nothing: give purchase, power, rent, monthly, one_time or costs")
        if ((self.loan and self.loan.usd is None) or self.depreciation) and not self.purchase:
            raise ValueError("a loan without usd, and depreciation, need a purchase")
        return self

    def _needs_servers(self) -> bool:
        per_server = (
            self.purchase and self.purchase.usd_per_server,
            self.power and self.power.kw_per_server,
            self.rent and self.rent.usd_per_server_hour,
        )
        return any(value is not None and value is not False for value in per_server if value is not None) or any(
            cost.per.startswith("server") for cost in self.costs
        )

    @property
    def owned(self) -> bool:
        """Whether something is bought or powered by its owner."""
        return self.purchase is not None or self.power is not None


class Tolerance(Section):
    """How far a figure may be off; the wider of the two."""

    absolute: Amount = Field(0.0, description="in the figure's unit, for example 0.005")
    relative: Charge = Field(0.0, description="share of the expected figure, for example 0.1 %")


class Expected(Section):
    """A figure with a tolerance of its own."""

    value: Number | None = Field(description="the published figure; none (null) where there is none to be")
    absolute: Amount | None = Field(None, description="how far off it may be, in its unit")
    relative: Charge | None = Field(None, description="how far off it may be, as a share of it")


def _as_share(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return `1 %` as the relative tolerance that it is."""
    return {"relative": value} if isinstance(value, str) else value


#: As in ISO 4217.
CurrencyCode = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class TcoCase(Section):
    """A published cost calculation: inputs, and the figures it came to."""

    case: Annotated[Text, Field(min_length=1, max_length=120)] = Field(description="name of the case")
    description: Text = Field("", max_length=2000, description="what is calculated, for people")
    source: Text = Field("", max_length=500, description="where it was published")
    date: Text = Field("", max_length=40, description="when")
    hours_per_month: Annotated[Hours, Field(gt=0, le=744)] = Field(
        730.0, description="730 (8,760 a year) by default; 720 in some publications"
    )
    horizon_months: Annotated[Months, Field(gt=0, le=MOST_MONTHS)] = Field(
        36.0, description="term over which costs are added"
    )
    utilisation: Annotated[Fraction, Field(gt=0, le=1)] = Field(1.0, description="share of the hours with work")
    discount_rate: Annotated[Fraction, Field(ge=0, le=1)] = Field(0.0, description="per year, for present values")
    as_of: Day | None = Field(
        None, description="day whose prices price_of takes; the newest day of the price book by default"
    )
    options: Annotated[dict[Name, Option], Field(min_length=1)] = Field(description="what is compared, by name")
    usd_per: dict[CurrencyCode, Positive] = Field(
        default_factory=dict, description="USD of one unit of a currency, e.g. EUR: 1.08; amounts may be 90 EUR then"
    )
    values: dict[Name, Number] = Field(default_factory=dict, description="numbers that derived figures use")
    derived: dict[Name, Annotated[Text, Field(max_length=500)]] = Field(
        default_factory=dict, description="further figures, e.g. gold.total_usd / silver.total_usd - 1"
    )
    tolerance: Annotated[Tolerance, BeforeValidator(_as_share, json_schema_input_type=Tolerance | str)] = Field(
        default_factory=lambda: Tolerance(relative=0.001), description="of expected figures; 0.1 % by default"
    )
    expected: Annotated[dict[str, Number | Expected | None], Field(min_length=1)] = Field(
        description="published figures by name; docs/tco-cases.md lists the names"
    )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a case file (draft 2020-12)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | TcoCase.model_json_schema() | {
        "title": "Clusterwright TCO case"
    }  # fmt: skip
