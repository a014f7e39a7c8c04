"""Schema types for quantities: text with a unit in the blueprint, an SI float inside, a pattern in the JSON Schema."""

from typing import Annotated, Any

from pydantic import BeforeValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from clusterwright import units
from clusterwright.errors import UnitError


class QuantitySchema:
    """Describes a quantity to editors: a string with a pattern, or a bare number where the kind allows one."""

    def __init__(self, kind: units.Kind) -> None:
        self.kind = kind

    def __get_pydantic_json_schema__(self, _core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        text = {"type": "string", "pattern": units.pattern(self.kind), "examples": [self.kind.example]}
        return {"anyOf": [{"type": "number"}, text]} if "" in self.kind.factors else text


def reader(kind: units.Kind) -> BeforeValidator:
    """Return what reads a quantity of a kind, or says why it is none."""

    def read(value: Any) -> float:  # noqa: ANN401 - YAML holds anything
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise PydanticCustomError(
                "quantity",
                "{found} is not {kind}",
                {
                    "found": "nothing" if value is None else repr(value),
                    "kind": units.named(kind),
                    "help": f"for example {kind.example}",
                },
            )
        try:
            number = units.parse(value, kind)
        except UnitError as error:
            raise PydanticCustomError("quantity", "{text}", {"text": error.message, "help": error.help or ""}) from None
        if not abs(number) < float("inf"):
            raise PydanticCustomError(
                "quantity",
                "{text}",
                {"text": f"{value!r} is not a finite {kind.name}", "help": f"for example {kind.example}"},
            )
        return number

    return BeforeValidator(read, json_schema_input_type=str)


Count = Annotated[float, reader(units.COUNT), QuantitySchema(units.COUNT)]
Fraction = Annotated[float, reader(units.FRACTION), QuantitySchema(units.FRACTION)]
Duration = Annotated[float, reader(units.DURATION), QuantitySchema(units.DURATION)]
Power = Annotated[float, reader(units.POWER), QuantitySchema(units.POWER)]
EnergyPrice = Annotated[float, reader(units.ENERGY_PRICE), QuantitySchema(units.ENERGY_PRICE)]
Mass = Annotated[float, reader(units.MASS), QuantitySchema(units.MASS)]
RackUnits = Annotated[float, reader(units.RACK_UNITS), QuantitySchema(units.RACK_UNITS)]
Money = Annotated[float, reader(units.MONEY), QuantitySchema(units.MONEY)]
Size = Annotated[float, reader(units.BYTES), QuantitySchema(units.BYTES)]
Bandwidth = Annotated[float, reader(units.BANDWIDTH), QuantitySchema(units.BANDWIDTH)]
Length = Annotated[float, reader(units.LENGTH), QuantitySchema(units.LENGTH)]
FloorLoad = Annotated[float, reader(units.FLOOR_LOAD), QuantitySchema(units.FLOOR_LOAD)]
Current = Annotated[float, reader(units.CURRENT), QuantitySchema(units.CURRENT)]
ApparentPower = Annotated[float, reader(units.APPARENT_POWER), QuantitySchema(units.APPARENT_POWER)]
