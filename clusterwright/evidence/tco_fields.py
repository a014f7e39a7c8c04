"""Kinds of values in a TCO case: amounts, shares, texts and names."""

import keyword
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.json_schema import WithJsonSchema

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Fraction

Number = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[Fraction, Field(ge=0, le=1)]
Charge = Annotated[Fraction, Field(ge=0, le=10)]


def _text(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return a bare number as the text it stands for, as in `date: 2026`."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | float)]

_PERIODS = ("once", "hour", "used_hour", "month", "year")
#: What a cost line may be counted per: of the whole option, of a GPU, a server or a kW of nameplate load.
Per = Literal[
    "once", "hour", "used_hour", "month", "year",
    "gpu", "gpu_hour", "gpu_used_hour", "gpu_month", "gpu_year",
    "server", "server_hour", "server_used_hour", "server_month", "server_year",
    "kw", "kw_hour", "kw_used_hour", "kw_month", "kw_year",
]  # fmt: skip
_NAME = r"[a-z][a-z0-9_]{0,39}"


def _name(text: str) -> str:
    import re  # noqa: PLC0415 - only cases need it

    if not re.fullmatch(_NAME, text) or keyword.iskeyword(text) or text == "vs":
        raise ValueError(f"{text!r} cannot be a name: lower-case letters, digits and _, a letter first, up to 40")
    return text


Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME}$"})]


def one_of(section: Section, names: tuple[str, ...]) -> None:
    """Refuse a section of which none of the named keys is given."""
    if all(getattr(section, name) is None for name in names):
        raise ValueError(f"one of {', '.join(names)} is needed")


def units_of(per: str) -> tuple[str, str]:
    """Return what a cost line counts (`gpu`, `server`, `kw`, or empty for the option) and its period.

    >>> units_of("gpu_used_hour"), units_of("server"), units_of("month")
    (('gpu', 'used_hour'), ('server', 'once'), ('', 'month'))
    """
    if per in _PERIODS:
        return "", per
    counted, _, period = per.partition("_")
    return counted, period or "once"


assert set(get_args(Per)) >= set(_PERIODS)  # noqa: S101 - the two lists stand side by side
