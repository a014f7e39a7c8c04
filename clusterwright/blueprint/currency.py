"""The currency that a comparison is told in; everything is counted in USD."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from clusterwright.blueprint import names
from clusterwright.blueprint.fields import Day, Section


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
        if handler.mode == "serialization":
            return section
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
