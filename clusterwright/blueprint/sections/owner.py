"""What owning costs besides the bill: every value that `tco/owner_costs.csv` counts with, as one number or a band."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationInfo, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from clusterwright import units
from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Duration, Fraction
from clusterwright.errors import UnitError

_YEAR_S = 8760 * 3600.0
_ENDS = ("low", "base", "high")
#: What is counted with another value: the one that is needed, and what needs it.
_WANTED = (
    ("demand_usd_per_kw_month", "demand_reserved_kw"),
    ("demand_usd_per_kw_month", "demand_power_fraction"),
    ("demand_usd_per_kw_month", "demand_ratchet_fraction"),
    ("gpu_failures_per_year", "gpu_replacement_usd"),
    ("gpu_replacement_usd", "gpu_failures_per_year"),
    ("building_usd_per_kw", "building_upkeep_fraction_per_year"),
    ("building_usd_per_kw", "building_insurance_fraction_per_year"),
    ("building_usd_per_kw", "building_tax_fraction_per_year"),
)


class Band(Section):
    """A value, and the ends between which it may lie; ends that are not given are the value."""

    base: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def __get_pydantic_json_schema__(cls, _core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe what may be written: a number with or without unit, or a section with ends."""
        handler(_core)
        value = {"type": ["number", "string"], "examples": [5, "5 %", "4500 USD"]}
        band = {"type": "object", "properties": {end: {**value} for end in _ENDS}, "required": ["base"]}
        return {"anyOf": [value, {**band, "additionalProperties": False}]}


def _number(value: Any, kind: units.Kind, name: str) -> float:  # noqa: ANN401 - YAML holds anything
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            return float(units.parse(value, kind))
        except UnitError as error:
            raise PydanticCustomError("quantity", "{text}", {"text": error.message, "help": error.help or ""}) from None
    raise PydanticCustomError(
        "quantity",
        "{name}: {found} is no number",
        {"name": name, "found": repr(value), "help": "write a number, or low, base and high"},
    )


def number_between(kind: units.Kind, least: float, most: float) -> BeforeValidator:
    """Read a number or `{low, base, high}`, each from `least` to `most`."""

    def read(value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - YAML holds anything
        if value is None or isinstance(value, Band):
            return value
        name = info.field_name or "the value"
        given = value if isinstance(value, Mapping) else {"base": value}
        if given.get("base") is None or not set(given) <= set(_ENDS):
            raise PydanticCustomError(
                "choice",
                "{name} is a number, or a band with base, low and high",
                {"name": name, "help": f"write {name}: 5, or {name}: {{low: 4, base: 5, high: 6}}"},
            )
        found = {end: _number(given[end], kind, name) for end in _ENDS if given.get(end) is not None}
        for number in found.values():
            if not least <= number <= most:
                raise PydanticCustomError(
                    "choice",
                    "{name}: {found} is not from {least} to {most}",
                    {
                        "name": name,
                        "found": f"{number:g}",
                        "least": f"{least:g}",
                        "most": f"{most:g}",
                        "help": f"write a value from {least:g} to {most:g}",
                    },
                )
        if not found.get("low", found["base"]) <= found["base"] <= found.get("high", found["base"]):
            raise PydanticCustomError(
                "choice", "{name}: low, base and high are not in order", {"name": name, "help": "low <= base <= high"}
            )
        base = found["base"]
        return Band(base=base, low=found.get("low", base), high=found.get("high", base))

    return BeforeValidator(read)


#: A share from 0 to 1; USD; a plain number.
Share = Annotated[Band, number_between(units.FRACTION, 0.0, 1.0)]
Usd = Annotated[Band, number_between(units.MONEY, 0.0, 1e12)]
Number = Annotated[Band, number_between(units.COUNT, 0.0, 1e9)]
_Time = Annotated[Duration, Field(ge=0, le=40 * _YEAR_S)]


class ResalePoint(Section):
    """What equipment of an age brings."""

    age: Annotated[Duration, Field(gt=0, le=40 * _YEAR_S)] = Field(
        description="age of the equipment, for example 24 months"
    )
    share: Share = Field(description="of the purchase price")


class ResaleDecay(Section):
    """Exponential decay of the price of used equipment, with a step at each successor."""

    per_year: Number = Field(description="exponent, as {low: 0.15, base: 0.35, high: 0.55}: exp(-0.35 x years)")
    step: Annotated[Fraction, Field(gt=0, le=1)] = Field(1.0, description="share left when a successor comes, as 75 %")
    step_every: Annotated[Duration, Field(ge=_YEAR_S / 4, le=40 * _YEAR_S)] | None = Field(
        None, description="time between successors, for example 2 years; none by default"
    )


#: Of equipment. `_q1` to `_q4`: mid-quarter convention, by the quarter of the tax year in which it begins to work.
EquipmentMethod = Literal[
    "straight_line_3",
    "straight_line_4",
    "straight_line_5",
    "straight_line_6",
    "macrs_3",
    "macrs_5",
    "macrs_7",
    "macrs_15",
    "macrs_5_q1",
    "macrs_5_q2",
    "macrs_5_q3",
    "macrs_5_q4",
]
#: Of any class of assets.
AssetMethod = Literal[
    "straight_line_3",
    "straight_line_4",
    "straight_line_5",
    "straight_line_6",
    "straight_line_7",
    "straight_line_10",
    "straight_line_15",
    "straight_line_20",
    "straight_line_39",
    "macrs_3",
    "macrs_3_q1",
    "macrs_3_q2",
    "macrs_3_q3",
    "macrs_3_q4",
    "macrs_5",
    "macrs_5_q1",
    "macrs_5_q2",
    "macrs_5_q3",
    "macrs_5_q4",
    "macrs_7",
    "macrs_7_q1",
    "macrs_7_q2",
    "macrs_7_q3",
    "macrs_7_q4",
    "macrs_15",
    "macrs_15_q1",
    "macrs_15_q2",
    "macrs_15_q3",
    "macrs_15_q4",
    "macrs_39",
]


class Owner(Section):
    """What owning costs besides the bill. Values that are not given are as in tco/assumptions.csv, or not counted."""

    load_power_fraction: Share | None = Field(None, description="draw while working, share of nameplate")
    idle_power_fraction: Share | None = Field(None, description="draw while waiting, share of nameplate")
    tariff: str | None = Field(
        None, description="price of electricity by region and kind, for example us-va/industrial; not with power_price"
    )
    demand_usd_per_kw_month: Usd | None = Field(None, description="charge for the highest draw, per kW and month")
    demand_power_fraction: Share | None = Field(
        None, description="highest draw of a month, share of nameplate; 100 % by default; times PUE"
    )
    demand_ratchet_fraction: Share | None = Field(
        None, description="least share of nameplate times PUE that is charged in any month, for example 80 %"
    )
    demand_reserved_kw: Number | None = Field(None, description="kW reserved at the meter, charged in their place")
    colocation_usd_per_kw_month: Usd | None = Field(None, description="space and cooling per kW of IT load and month")
    building_usd_per_kw: Usd | None = Field(
        None, description="a building of one's own, paid once per kW of IT load; no colocation price unless given"
    )
    building_life: Annotated[Duration, Field(ge=_YEAR_S, le=60 * _YEAR_S)] = Field(
        20 * _YEAR_S, description="over which the building loses its value in a straight line, for example 20 years"
    )
    building_depreciation: AssetMethod = Field(
        "straight_line_20", description="how the building is written off for the tax"
    )
    building_upkeep_fraction_per_year: Share | None = Field(None, description="of the building's cost, each year")
    building_insurance_fraction_per_year: Share | None = Field(None, description="of the building's cost, each year")
    building_tax_fraction_per_year: Share | None = Field(
        None, description="property tax of the building, share of its cost, each year"
    )
    building_staff_fte: Number | None = Field(None, description="full-time posts that the building takes")
    installation_fraction: Share | None = Field(None, description="of the equipment, at the start")
    spares_fraction: Share | None = Field(None, description="of the equipment, at the start")
    freight_fraction: Share | None = Field(None, description="freight and its insurance, share of the equipment")
    duty_fraction: Share | None = Field(None, description="customs duty, share of the equipment")
    sales_tax_fraction: Share | None = Field(None, description="tax on the purchase, share of the equipment")
    contingency_fraction: Share | None = Field(None, description="reserve for the unforeseen, share of the equipment")
    support_fraction_per_year: Share | None = Field(None, description="hardware support, share of the equipment a year")
    warranty: _Time = Field(0.0, description="in which support and replaced GPUs cost nothing, for example 3 years")
    gpu_failures_per_year: Share | None = Field(None, description="share of the GPUs that fail in a year")
    gpu_replacement_usd: Usd | None = Field(None, description="price of one GPU to replace")
    gpu_replacement_paid_fraction: Share | None = Field(
        None, description="share of replaced GPUs that no contract covers, after the warranty; 100 % by default"
    )
    staff_fte_per_gpu: Number | None = Field(None, description="full-time posts per GPU")
    staff_usd_per_fte_year: Usd | None = Field(None, description="salary with overheads of one post")
    ai_enterprise: Literal["subscription", "perpetual"] | None = Field(
        None, description="NVIDIA AI Enterprise for every GPU at the documented list price"
    )
    software_usd_per_gpu_year: Usd | None = Field(None, description="software licences per GPU and year")
    software_usd_per_gpu: Usd | None = Field(None, description="perpetual software licences per GPU, paid once")
    insurance_fraction_per_year: Share | None = Field(None, description="of the equipment's price, each year")
    property_tax_fraction_per_year: Share | None = Field(None, description="of the equipment's price, each year")
    transit_usd_per_month: Usd | None = Field(None, description="network transit")
    cross_connect_usd_per_month: Usd | None = Field(None, description="cross connects")
    decommission_usd_per_server: Usd | None = Field(None, description="to take out and erase one server, at the end")
    decommission_fraction: Share | None = Field(None, description="the same as a share of the equipment's price")
    wind_down: _Time = Field(0.0, description="space and staff after the horizon, paid at its end, as 2 months")
    resale_fraction: Share | None = Field(None, description="what equipment brings at the end of the horizon")
    resale_by_age: list[ResalePoint] = Field(
        default_factory=list,
        max_length=50,
        description="the same by age, straight lines from 100 % at the purchase",
    )
    resale_decay: ResaleDecay | None = Field(None, description="the same as exponential decay")

    @model_validator(mode="after")
    def _consistent(self) -> "Owner":
        for one, other in self.rivals():
            if getattr(self, one) not in (None, []) and getattr(self, other) not in (None, []):
                raise PydanticCustomError(
                    "choice",
                    "{one} and {other} say the same thing twice",
                    {"one": one, "other": other, "at": other, "help": f"keep one of {one} and {other}"},
                )
        ages = [point.age for point in self.resale_by_age]
        if ages != sorted(set(ages)):
            raise PydanticCustomError(
                "choice",
                "ages of resale_by_age are not in order",
                {"at": "resale_by_age", "help": "write each age once, the youngest first"},
            )
        return self

    @model_validator(mode="after")
    def _whole(self) -> "Owner":
        self.refuse_parts()
        return self

    def rivals(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of keys that exclude each other."""
        software = "software_usd_per_gpu" if self.ai_enterprise == "perpetual" else "software_usd_per_gpu_year"
        return (
            ("ai_enterprise", software),
            ("demand_reserved_kw", "demand_power_fraction"),
            ("demand_reserved_kw", "demand_ratchet_fraction"),
            ("resale_fraction", "resale_decay"),
            ("resale_fraction", "resale_by_age"),
            ("resale_decay", "resale_by_age"),
        )

    def refuse_parts(self, above: str = "") -> None:
        """Refuse a value without the one that it is counted with.

        Args:
            above: path of this section, with a point at its end, from where mistakes are placed.

        Raises:
            PydanticCustomError: names both.
        """
        for wanted, given in _WANTED:
            if getattr(self, given) is not None and getattr(self, wanted) is None:
                raise PydanticCustomError(
                    "choice",
                    "{given} is counted with {wanted}, which is missing",
                    {"given": given, "wanted": wanted, "at": above + given, "help": f"add {wanted}, or remove {given}"},
                )
