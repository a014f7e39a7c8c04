"""The sections of an option of a TCO case: what is bought, powered, rented, shared, financed and written off."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Fraction
from clusterwright.evidence.cost_cases.fields import (
    Amount,
    Charge,
    Load,
    Name,
    Per,
    Positive,
    Share,
    WholeMonths,
    one_of,
    units_of,
)

#: What a provider's support plan is a share of, unless the case says otherwise.
BILLED = ("gpu", "storage", "network", "cpu", "egress")


class Purchase(Section):
    """What is bought at the start."""

    usd_per_gpu: Amount | None = Field(None, description="USD of one GPU, everything it needs included")
    usd_per_server: Amount | None = Field(None, description="USD of one server; needs gpus_per_server")
    usd: Amount | None = Field(None, description="USD of everything; adds to the prices per GPU and server")
    resale_fraction: Share = Field(0.0, description="share of the purchase that resale brings at the end")
    resale_usd: Amount = Field(0.0, description="USD that resale brings at the end; adds to the share")
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
    residual_fraction: Share = Field(0.0, description="share of it that is still owed after them, as of a lease")


class Cost(Section):
    """One more cost."""

    name: Annotated[str, Field(min_length=1, max_length=80)] = Field(description="what it is, for people")
    usd: Amount = Field(description="USD per what `per` says; per purchase also a share, such as 2 %")
    per: Per = Field(description="for example month, gpu_hour, gpu_used_hour, server_year, kw_month, once")
    quantity: Amount = Field(1.0, description="how many of it: TB, full-time staff, GPU-hours of a run, …")
    category: Name = Field("other", description="cost category; one_time for what is paid once, unless given")
    from_month: WholeMonths = Field(0.0, description="starts after this month; once: paid at its end, 0 is the start")
    to_month: WholeMonths | None = Field(None, description="last month in which it is paid; the horizon by default")
    every_months: Annotated[WholeMonths, Field(gt=0)] | None = Field(
        None, description="once: paid again each time so many months have passed"
    )
    annuity: Annuity | None = Field(
        None,
        description="paid in equal monthly payments for as long as the horizon lasts; `per` is then a kind of once",
    )

    @property
    def once(self) -> bool:
        """Whether it is paid at single moments, not by time and not in payments."""
        return self.annuity is None and units_of(self.per)[1] == "once"

    @model_validator(mode="after")
    def _consistent(self) -> "Cost":
        if self.annuity is not None and units_of(self.per)[1] != "once":
            raise ValueError("an annuity pays for what is bought: per is once, gpu, server, kw or purchase")
        if self.every_months is not None and not self.once:
            raise ValueError("every_months repeats what is paid once; anything else is paid each month")
        if self.to_month is not None and self.to_month < self.from_month:
            raise ValueError("to_month is before from_month")
        return self


class Loan(Section):
    """A loan with equal monthly payments; shown apart, not part of the cash flow."""

    rate_per_year: Charge = Field(description="nominal yearly rate, a twelfth of it per month")
    months: Annotated[int, Field(ge=1, le=600)] = Field(description="number of payments")
    usd: Amount | None = Field(None, description="principal; the purchases by default")
    residual_fraction: Share = Field(0.0, description="share of the principal still owed after them (balloon)")


class Levelised(Section):
    """How purchases are charged in the levelised cost of a useful GPU-hour."""

    fixed_charge_rate: Annotated[Fraction, Field(gt=0, le=1)] | None = Field(
        None, description="share of the purchase charged a year; else computed from the values below"
    )
    rate: Annotated[Fraction, Field(gt=-1, le=1)] | None = Field(
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


class CapitalCost(Section):
    """A discount rate after tax, weighted by what the capital consists of: equity, and debt for the rest."""

    equity_fraction: Share = Field(description="share of the capital that is equity")
    cost_of_equity: Charge = Field(description="a year")
    cost_of_debt: Charge = Field(description="a year, before tax")
    tax_rate: Annotated[Fraction, Field(ge=0, lt=1)] = Field(0.0, description="on income, which interest lowers")
