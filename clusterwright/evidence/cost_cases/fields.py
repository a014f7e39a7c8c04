"""Kinds of values in a TCO case: amounts, shares, times, texts and names, as people write them."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Fraction, QuantitySchema, reader
from clusterwright.units import Kind

#: Amounts above this are slips of the pen: sums of them would not be finite.
_MOST, _LEAST = 1e18, 1e-12
_MONEY = re.compile(
    r"(?P<minus>-?)\s*(?P<sign>\$?)\s*(?P<number>\d[\d,_]*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)\s*"
    r"(?P<scale>k|K|M|B|bn|million|billion|%?)\s*(?P<code>[A-Z]{3})?"
)
_SCALES = {"": 1.0, "%": 0.01, "k": 1e3, "K": 1e3, "M": 1e6, "million": 1e6, "B": 1e9, "bn": 1e9, "billion": 1e9}


def _read(value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return an amount: a number, or text such as `$1,250,000`, `2.5 M`, `8 %`, `90 EUR` (at the case's rate)."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _no_number(value)
    if not isinstance(value, str):
        return value
    match = _MONEY.fullmatch(value.strip())
    if match is None:
        raise _no_number(value)
    rates = {"USD": 1.0} | ((info.context or {}).get("usd_per") or {})
    code = match["code"] or "USD"
    if code not in rates:
        raise PydanticCustomError(
            "quantity",
            "{found}: no rate of {code} is given",
            {"found": repr(value), "code": code, "help": f"give what one is worth, as in usd_per: {{{code}: 1.08}}"},
        )
    number = float(match["number"].replace(",", "").replace("_", ""))
    return number * _SCALES[match["scale"]] * rates[code] * (-1.0 if match["minus"] else 1.0)


def _no_number(value: Any) -> PydanticCustomError:  # noqa: ANN401
    help_text = "write a bare number in the unit that the key's name ends in, for example 1250000"
    return PydanticCustomError("quantity", "{found} is not a number", {"found": repr(value), "help": help_text})


_AMOUNT = BeforeValidator(_read, json_schema_input_type=float | str)
Number = Annotated[float, Field(allow_inf_nan=False, ge=-_MOST, le=_MOST), _AMOUNT]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, le=_MOST), _AMOUNT]
Positive = Annotated[float, Field(gt=_LEAST, allow_inf_nan=False, le=_MOST), _AMOUNT]
Share = Annotated[Fraction, Field(ge=0, le=1)]
Charge = Annotated[Fraction, Field(ge=0, le=1)]
#: A change a year; a factor on what something cost at first.
Change = Annotated[Fraction, Field(gt=-1, le=1)]
Factor = Annotated[Fraction, Field(ge=0, le=1000)]

_MONTHS = Kind(
    name="term",
    base="months",
    example="36",
    factors={"": 1.0, "month": 1.0, "months": 1.0, "year": 12.0, "years": 12.0},
)
_HOURS = Kind(name="number of hours", base="h", example="730", factors={"": 1.0, "h": 1.0, "hours": 1.0})
_LOAD = Kind(name="load", base="kW", example="10.2", factors={"": 1.0, "kW": 1.0, "W": 1e-3, "MW": 1e3})
Months = Annotated[float, reader(_MONTHS), QuantitySchema(_MONTHS)]
WholeMonths = Annotated[Months, Field(ge=0, multiple_of=1)]
Hours = Annotated[float, reader(_HOURS), QuantitySchema(_HOURS)]
Load = Annotated[float, reader(_LOAD), QuantitySchema(_LOAD), Field(ge=0, le=_MOST)]


def _text(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return a bare number as the text it stands for, as in `date: 2026`."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | float)]

_PERIODS = ("once", "hour", "used_hour", "month", "year")
#: What a cost line may be counted per: of the whole option, of a GPU, a server, a kW of nameplate load or a USD bought.
Per = Literal[
    "once",
    "hour",
    "used_hour",
    "month",
    "year",
    "gpu",
    "gpu_hour",
    "gpu_used_hour",
    "gpu_month",
    "gpu_year",
    "server",
    "server_hour",
    "server_used_hour",
    "server_month",
    "server_year",
    "kw",
    "kw_hour",
    "kw_used_hour",
    "kw_month",
    "kw_year",
    "purchase",
    "purchase_month",
    "purchase_year",
]
_NAME = r"[A-Za-z][A-Za-z0-9_]{0,39}"


def _name(text: str) -> str:
    if not re.fullmatch(_NAME, text) or text == "vs":
        near = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:40]
        near = near if near[:1].isalpha() else f"x{near}"
        raise PydanticCustomError(
            "quantity",
            "{found} cannot be a name: letters, digits and _, a letter first, up to 40, not vs",
            {"found": repr(text), "help": f"for example {near if near != 'vs' else 'versus'}"},
        )
    return text


Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^(?!vs$){_NAME}$"})]


def one_of(section: Section, names: tuple[str, ...]) -> None:
    """Refuse a section of which none of the named keys is given."""
    if all(getattr(section, name) is None for name in names):
        raise ValueError(f"one of {', '.join(names)} is needed")


def units_of(per: str) -> tuple[str, str]:
    """Return what a cost line counts (`gpu`, `server`, …, or empty for the option) and its period.

    >>> units_of("gpu_used_hour"), units_of("server"), units_of("month")
    (('gpu', 'used_hour'), ('server', 'once'), ('', 'month'))
    """
    if per in _PERIODS:
        return "", per
    counted, _, period = per.partition("_")
    return counted, period or "once"
