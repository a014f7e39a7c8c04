"""The form of a TCO case: what a published cost calculation takes in, and the figures that it came to.

Every field's description is what an editor shows on hover, and what `docs/evidence/tco-cases.md` lists.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from clusterwright.blueprint.fields import Day, Section
from clusterwright.blueprint.quantities import Fraction
from clusterwright.evidence.cost_cases.fields import (
    Amount,
    Change,
    Charge,
    Factor,
    Hours,
    Months,
    Name,
    Number,
    Positive,
    Text,
)
from clusterwright.evidence.cost_cases.sections import (
    CapitalCost,
    Cost,
    Depreciation,
    GoodputLoss,
    Levelised,
    Loan,
    Power,
    Purchase,
    Rent,
    Support,
)
from clusterwright.tco.formulas.finance import weighted_cost_of_capital
from clusterwright.tco.ledger.engine import MAX_HORIZON_MONTHS

Used = Annotated[Fraction, Field(gt=0, le=1)]
#: One for all years, or one for each; the last one holds on.
Utilisation = Used | Annotated[list[Used], Field(min_length=1, max_length=50)]
ByYear = Change | Annotated[list[Factor], Field(min_length=1, max_length=50)]


class Option(Section):
    """One way to have the GPUs: bought (with `purchase` or `power`) or rented."""

    gpus: Positive = Field(1.0, description="GPUs that are wanted; figures per GPU are of these")
    gpus_per_server: Positive | None = Field(None, description="servers are bought and rented whole, if this is given")
    whole_servers: bool = Field(True, description="false: parts of a server can be had")
    horizon_months: Annotated[Months, Field(ge=0.001, le=MAX_HORIZON_MONTHS)] | None = Field(
        None, description="the case's by default"
    )
    utilisation: Utilisation | None = Field(None, description="the case's by default")
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
    by_year: dict[Name, ByYear] = Field(
        default_factory=dict,
        description="what a running cost of a category comes to later: a change a year, or factors year by year",
    )
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

    @model_validator(mode="after")
    def _resold(self) -> "Option":
        bought = self.purchase
        if bought and bought.resale_usd and not (bought.usd_per_gpu or bought.usd_per_server or bought.usd):
            raise ValueError("resale_usd needs something that was bought")
        return self

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
    hours_per_month: Annotated[Hours, Field(ge=1, le=744)] = Field(
        730.0, description="730 (8,760 a year) by default; 720 in some publications"
    )
    horizon_months: Annotated[Months, Field(ge=0.001, le=MAX_HORIZON_MONTHS)] = Field(
        36.0, description="term over which costs are added"
    )
    utilisation: Utilisation = Field(1.0, description="share of the hours with work; a list: of each year")
    discount_rate: Annotated[Fraction, Field(ge=0, le=1)] | CapitalCost = Field(
        0.0, description="per year, for present values; or what the capital costs, weighted (WACC)"
    )
    tax_rate: Annotated[Fraction, Field(ge=0, lt=1)] = Field(0.0, description="on income, for figures after tax")
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
        description="published figures by name; clusterwright docs tco-cases lists the names"
    )

    @property
    def rate(self) -> float:
        """The discount rate a year."""
        capital = self.discount_rate
        if not isinstance(capital, CapitalCost):
            return capital
        return weighted_cost_of_capital(
            equity_fraction=capital.equity_fraction,
            cost_of_equity=capital.cost_of_equity,
            cost_of_debt=capital.cost_of_debt,
            tax_rate=capital.tax_rate,
        )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a case file (draft 2020-12)."""
    schema = TcoCase.model_json_schema()
    figure = schema["properties"]["expected"]["additionalProperties"]
    # Figures may be in sections, as in own: {total_usd: 5}.
    inside = {"type": ["number", "string", "object", "null"]}
    figure["anyOf"].append({"type": "object", "not": {"required": ["value"]}, "additionalProperties": inside})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": "Clusterwright TCO case"}
