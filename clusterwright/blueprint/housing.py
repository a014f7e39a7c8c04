"""Places where what is bought may stand, side by side: each with what it costs differently."""

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from clusterwright import units
from clusterwright.blueprint.owner import Band, Owner, Usd, number_between

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
        return self  # What a value is counted with may stand under tco.owner: the section tco looks at both.

    def over(self, owner: Owner) -> "Housing":
        """Return the values of an owner, those of this place, and what they exclude, in the place of his."""
        own = {name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None}
        given = {name: getattr(owner, name) for name in owner.model_fields_set}
        both = self.model_copy(update=given | own)
        pairs = (*both.rivals(), ("tariff", "power_price_usd_per_kwh"))
        gone = {other for pair in pairs for one, other in (pair, pair[::-1]) if one in own and other not in own}
        return both.model_copy(update={name: type(self).model_fields[name].get_default() for name in gone})
