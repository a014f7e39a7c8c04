"""How uncertain the inputs of the comparison are, where the user knows better than the shipped bands."""

from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Duration, Fraction

_MONTH_S = 730 * 3600.0
_ROUNDING = 1e-9


class UncertainBand(Section):
    """The band of one input, in the unit of its value; of prices, purchases and run time as a factor on them.

    A share alone, such as `10 %`, is short for `{spread: 10 %}`.
    """

    spread: Fraction | None = Field(
        None, ge=0, le=10, description="both ends lie so far from the value, as a share of it; 0 makes it certain"
    )
    low: Fraction | None = Field(None, ge=0, description="lower end (triangular, beta), or P10 (normal, lognormal)")
    high: Fraction | None = Field(None, ge=0, description="upper end (triangular, beta), or P90 (normal, lognormal)")
    distribution: Literal["triangular", "beta", "normal", "lognormal", "discrete"] = Field(
        "triangular", description="triangular and beta have their peak at the value itself; discrete takes values"
    )
    values: list[Annotated[Fraction, Field(ge=0)]] = Field([], max_length=100, description="discrete: what it may be")
    shares: list[Annotated[Fraction, Field(ge=0, le=1)]] = Field(
        [], max_length=100, description="discrete: probability of each value; equal if left out"
    )

    @model_validator(mode="before")
    @classmethod
    def _spread_alone(cls, given: Any) -> Any:  # noqa: ANN401 - YAML holds anything
        if isinstance(given, UncertainBand | dict):
            return given
        if isinstance(given, bool) or not isinstance(given, str | int | float):
            raise _wrong(f"{given!r} is no band", "write a share such as 10 %, or {low: 60 %, high: 90 %}")
        return {"spread": given}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        section = handler(core)
        return {"anyOf": [{"type": "number"}, {"type": "string", "examples": ["10 %"]}, section]}

    @model_validator(mode="after")
    def _consistent(self) -> "UncertainBand":
        if self.spread is not None:
            if self.values or self.shares or self.low is not None or self.high is not None:
                raise _wrong("a spread stands for both ends", "keep spread, or low and high", "spread")
            if self.distribution == "discrete":
                raise _wrong("a discrete input takes values, and no spread", "write values: [0.8, 1, 1.2]")
            return self
        if self.distribution == "discrete":
            if not self.values or self.low is not None or self.high is not None:
                raise _wrong("a discrete input takes values, and no ends", "write values: [0.8, 1, 1.2]")
            if self.shares and len(self.shares) != len(self.values):
                raise _wrong(
                    f"{len(self.shares)} shares do not fit {len(self.values)} values",
                    "give one share for each value",
                    "shares",
                )
            if self.shares and abs(sum(self.shares) - 1) > _ROUNDING:
                raise _wrong(f"the shares sum to {sum(self.shares):.6g}", "let them sum to 100 %", "shares")
            return self
        if self.low is None or self.high is None or self.values or self.shares:
            raise _wrong(f"a {self.distribution} input takes low and high", "write {low: 60 %, high: 90 %}")
        if self.low > self.high:
            raise _wrong(f"low is {self.low:g}, above high, {self.high:g}", "put the lower end first", "low")
        return self


class PricePath(Section):
    """Where rental prices may go over the horizon."""

    source: Literal["history", "band"] = Field(
        "history",
        description="history: blocks of past monthly changes, drawn at random; band: one level for the whole horizon",
    )
    block: Annotated[Duration, Field(ge=_MONTH_S, le=120 * _MONTH_S)] = Field(
        6 * _MONTH_S, description="months in a row that are taken from the history at once, for example 6 months"
    )
    drift: Literal["none", "historic"] = Field(
        "none", description="none: prices fall as likely as they rise; historic: the mean change of the past goes on"
    )
    resale_correlation: Fraction = Field(
        0.7, ge=0, le=1, description="how closely resale follows the rental price at the end of the horizon"
    )


def _wrong(message: str, what_to_do: str, at: str = "") -> PydanticCustomError:
    return PydanticCustomError("choice", "{text}", {"text": message, "at": at, "help": what_to_do})
