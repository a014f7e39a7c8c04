"""Tax, depreciation, delivery and financing of what is bought; `compare --finance` counts with them."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from clusterwright import units
from clusterwright.blueprint import names
from clusterwright.blueprint.fields import Day, Identifier, Section
from clusterwright.blueprint.quantities import Duration, Fraction
from clusterwright.blueprint.sections.contracts import CloudContract, CloudExtras, Hybrid, OtherProviders, listed_once
from clusterwright.blueprint.sections.owner import AssetMethod, Band, EquipmentMethod, Owner, Usd, number_between
from clusterwright.blueprint.sections.uncertain import PricePath, UncertainBand

#: What does not depend on the place.
_OF_EQUIPMENT = ("resale_fraction", "resale_by_age", "resale_decay", "building_depreciation")


class Housing(Owner):
    """One place: every value of `tco.owner` that is another one there."""

    power_price_usd_per_kwh: Usd | None = Field(None, description="in the place of site.power_price")
    pue: Annotated[Band, number_between(units.COUNT, 1.0, 4.0)] | None = Field(
        None, description="facility over IT energy, in the place of site.pue"
    )

    @model_validator(mode="after")
    def _of_a_place(self) -> "Housing":
        for name in _OF_EQUIPMENT:
            if name in self.model_fields_set:
                raise PydanticCustomError(
                    "choice",
                    "{name} is the same in every place",
                    {"name": name, "at": name, "help": f"write it under tco.owner: owner: {{{name}: …}}"},
                )
        if self.tariff is not None and self.power_price_usd_per_kwh is not None:
            raise PydanticCustomError(
                "choice",
                "the price of electricity is given twice: tariff and power_price_usd_per_kwh",
                {"at": "tariff", "help": "keep one of them"},
            )
        return self

    @model_validator(mode="after")
    def _whole(self) -> "Housing":
        return self  # What a value is counted with may be under tco.owner: the section tco looks at both.

    def over(self, owner: Owner) -> "Housing":
        """Return the values of an owner, those of this place, and what they exclude, in the place of his."""
        own = {name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None}
        given = {name: getattr(owner, name) for name in owner.model_fields_set}
        both = self.model_copy(update=given | own)
        pairs = (*both.rivals(), ("tariff", "power_price_usd_per_kwh"))
        gone = {other for pair in pairs for one, other in (pair, pair[::-1]) if one in own and other not in own}
        return both.model_copy(update={name: type(self).model_fields[name].get_default() for name in gone})


class CurrencySection(Section):
    """A currency with its rate; its code alone, such as `EUR`, takes the newest stored rate up to the as-of day."""

    code: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = Field(description="three letters (ISO 4217), for example EUR")
    usd: Annotated[float, Field(ge=1e-9, le=1e6, allow_inf_nan=False)] | None = Field(
        None, description="USD for one unit of it, for example 1.08; the newest stored rate by default"
    )
    day: Day | None = Field(None, description="day of that rate")
    source: Annotated[str, AfterValidator(names.plain)] = Field(
        "", max_length=200, description="who says so, for example ECB reference rate"
    )

    @model_validator(mode="before")
    @classmethod
    def _code_alone(cls, given: Any) -> Any:  # noqa: ANN401 - YAML holds anything
        if isinstance(given, str):
            return {"code": given}
        if isinstance(given, CurrencySection | dict):
            return given
        raise _wrong(f"{given!r} is no currency", "write EUR, or {code: EUR, usd: 1.08, day: 2026-10-16}")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        section = handler(core)
        return {"anyOf": [{"type": "string", "pattern": "^[A-Z]{3}$", "examples": ["EUR"]}, section]}

    @model_validator(mode="after")
    def _dated(self) -> "CurrencySection":
        if (self.usd is None) != (self.day is None):
            raise _wrong("a rate has a day", "give both usd and day, or leave both out for a stored rate")
        if self.code == "USD" and self.usd not in (None, 1.0):
            raise _wrong(f"1 USD is 1 USD, not {self.usd:g}", "remove usd and day, or correct code", "usd")
        return self


def _wrong(message: str, what_to_do: str, at: str = "") -> PydanticCustomError:
    return PydanticCustomError("choice", "{text}", {"text": message, "at": at, "help": what_to_do})


_Grams = Annotated[float, Field(ge=0, le=3000, allow_inf_nan=False)]


class Carbon(Section):
    """Carbon of electricity and of making the equipment."""

    grid: str | None = Field(
        None, description="grid on premises, for example us-va; that of the tariff by default; see tco/grid_carbon.csv"
    )
    grid_grams_per_kwh: _Grams | None = Field(None, description="of the grid on premises, in its place")
    market_grams_per_kwh: dict[str, _Grams] = Field(
        default_factory=dict,
        description="by target, what contracts and certificates leave, for example {onprem: 0}; unknown by default",
    )
    embodied_kg_per_server: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = Field(
        None, description="kg CO2e to make one server; the published part of its accelerators by default"
    )
    life: Annotated[Duration, Field(ge=8760 * 3600.0, le=20 * 8760 * 3600.0)] = Field(
        5 * 8760 * 3600.0, description="over which a server bears its making, for example 5 years"
    )


_MONTH_S = 730 * 3600.0
_Term = Annotated[Duration, Field(ge=_MONTH_S, le=40 * 8760 * 3600.0)]


class Loan(Section):
    """A loan for the purchase, paid back in equal monthly payments."""

    share: Fraction = Field(1.0, gt=0, le=1, description="share of the purchase that the bank pays")
    rate: Fraction = Field(ge=0, le=1, description="nominal rate a year, a twelfth of it per month, for example 8 %")
    term: _Term = Field(description="until it is paid back, for example 48 months")


class Lease(Section):
    """A lease of the purchase, paid at the end of each month."""

    kind: Literal["operating", "finance"] = Field(
        "operating", description="operating: it goes back at the end; finance: it is bought at the residual"
    )
    rate: Fraction = Field(
        ge=0, le=1, description="the lessor's nominal rate a year, a twelfth of it per month, for example 8 %"
    )
    residual: Fraction = Field(0.0, ge=0, lt=1, description="share of the purchase that is left at the end")


class Financing(Section):
    """One way to pay for what is bought, ranked beside paying it at the order."""

    kind: Literal["buy", "loan", "operating_lease", "finance_lease"] = Field(
        description="buy: paid at the order; loan; operating_lease: the equipment goes back at the end; finance_lease: "
        "it is bought at the residual"
    )
    share: Fraction | None = Field(None, gt=0, le=1, description="of a loan: share of the purchase; all by default")
    rate: Fraction | None = Field(
        None, ge=0, le=1, description="nominal rate a year, a twelfth of it per month, for example 8 %"
    )
    term: _Term | None = Field(None, description="of a loan: until it is paid back, for example 48 months")
    residual: Fraction | None = Field(
        None, ge=0, lt=1, description="of a lease over the horizon: share of the purchase left at its end; 0 by default"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Financing":
        taken = {"buy": (), "loan": ("rate", "term")}.get(self.kind, ("rate",))
        optional = {"buy": (), "loan": ("share",)}.get(self.kind, ("residual",))
        for name in ("share", "rate", "term", "residual"):
            there = getattr(self, name) is not None
            if there and name not in (*taken, *optional):
                raise PydanticCustomError(
                    "choice",
                    "{kind} has no {name}",
                    {"kind": self.kind, "name": name, "at": name, "help": f"remove {name}, or choose another kind"},
                )
            if not there and name in taken:
                raise PydanticCustomError(
                    "choice",
                    "{kind} needs {name}",
                    {"kind": self.kind, "name": name, "at": "kind", "help": f"add {name}"},
                )
        return self


class TcoSection(Section):
    """What a finance department adds to the comparison."""

    tax_rate: Fraction = Field(0.0, ge=0, lt=1, description="on income; 0 counts before tax")
    depreciation: EquipmentMethod = Field("straight_line_5", description="how purchases are written off for the tax")
    depreciation_of: dict[str, AssetMethod] = Field(
        default_factory=dict,
        description="other methods by category of the cash flow, for example {rack: macrs_15, power: straight_line_15}",
    )
    bonus_depreciation: Literal["law"] | Fraction = Field(
        0.0,
        description="share written off at once in the first year; law: what United States law allows on the as-of day",
    )
    delivery: Annotated[Duration, Field(ge=0, le=5 * 8760 * 3600.0)] = Field(
        0.0, description="from order and payment to work, for example 6 months; until then the work is rented"
    )
    growth: Annotated[Fraction, Field(gt=-1, le=10)] = Field(
        0.0,
        description="share by which each year has more work than the one before (negative: less); nodes are added "
        "where it is full",
    )
    refresh: Annotated[Duration, Field(ge=6 * _MONTH_S, le=20 * 8760 * 3600.0)] | None = Field(
        None, description="age at which equipment is sold and bought again, for example 3 years; never by default"
    )
    purchase_price_change: Annotated[Fraction, Field(gt=-1, le=1)] = Field(
        0.0, description="of equipment bought later, per year, for example -10 %"
    )
    carbon: Carbon = Field(default_factory=Carbon, description="carbon of electricity and of making the equipment")
    owner: Owner = Field(default_factory=Owner, description="what owning costs besides the bill")
    housing: dict[Identifier, Housing] = Field(
        default_factory=dict,
        description="places where what is bought may stand, each an option: by name, what differs from tco.owner, for "
        "example {colocation: {}, own_building: {building_usd_per_kw: 12000}}",
    )
    deposit: Annotated[Fraction, Field(ge=0, le=1)] = Field(
        1.0, description="share of the purchase paid at the order, the rest at delivery"
    )
    loan: Loan | None = Field(None, description="a loan for the purchase; shown beside the cash flow")
    lease: Lease | None = Field(None, description="a lease instead of the purchase, over the horizon")
    financing: list[Financing] = Field(
        default_factory=list,
        description="ways to pay for what is bought, each an option beside buying: loans and leases",
    )

    uncertainty: dict[Identifier, UncertainBand] = Field(
        default_factory=dict,
        description="by input: a share by which it may differ either way (0: certain), or its band; the names are "
        "those of compare --finance --json",
    )
    currency: CurrencySection | None = Field(
        None, description="in which text, reports and workbook are written, for example EUR; JSON stays in USD"
    )
    price_path: PricePath = Field(default_factory=PricePath, description="where rental prices may go")

    contracts: list[CloudContract] = Field(
        default_factory=list, description="ways to pay a cloud, ranked beside its list prices"
    )
    cloud: CloudExtras = Field(default_factory=CloudExtras, description="what clouds charge beside the bill")
    hybrid: list[Hybrid] = Field(default_factory=list, description="mixes of owning and renting, ranked beside both")
    other_providers: OtherProviders = Field(
        "all", description="providers of which only GPU prices are known: all, none, or names such as [coreweave]"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "TcoSection":
        listed_once(self.contracts, "contracts", "contract")
        listed_once(self.hybrid, "hybrid", "mix")
        listed_once(self.financing, "financing", "way")
        if not isinstance(self.other_providers, str):
            listed_once(self.other_providers, "other_providers", "provider")
        for name, place in self.housing.items():
            place.over(self.owner).refuse_parts(f"housing.{name}.")
        bonus = self.bonus_depreciation
        if isinstance(bonus, float) and not 0 <= bonus <= 1:
            raise PydanticCustomError(
                "choice",
                "a bonus depreciation of {found} is no share",
                {"found": bonus, "at": "bonus_depreciation", "help": "write 0 % to 100 %"},
            )
        if (self.loan is not None or self.lease is not None) and (self.refresh is not None or self.growth > 0):
            raise PydanticCustomError(
                "choice",
                "a loan or a lease is of one purchase, and refresh or growth buys again",
                {
                    "at": "loan" if self.loan is not None else "lease",
                    "help": "remove loan and lease, or refresh and growth",
                },
            )
        borrowed = next((place for place, way in enumerate(self.financing) if way.kind != "buy"), None)
        if borrowed is not None and (self.refresh is not None or self.growth > 0):
            raise PydanticCustomError(
                "choice",
                "a loan or a lease is of one purchase, and refresh or growth buys again",
                {"at": f"financing.{borrowed}", "help": "remove it, or refresh and growth"},
            )
        if self.deposit < 1 and self.delivery == 0:
            raise PydanticCustomError(
                "choice",
                "a deposit is paid before delivery, and there is no time to it",
                {"at": "deposit", "help": "add delivery, for example 6 months, or remove deposit"},
            )
        if self.loan is not None and self.lease is not None:
            raise PydanticCustomError(
                "choice",
                "the purchase is paid by a loan or leased, not both",
                {"at": "lease", "help": "keep one of loan and lease"},
            )
        return self
