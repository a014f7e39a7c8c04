"""`plan.json`: writing the Plan as JSON, reading it back strictly, and its JSON Schema."""

import datetime as dt
import json
from dataclasses import asdict
from typing import Any

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import IN_SI
from clusterwright.errors import InputError
from clusterwright.plan.record import Plan, TrainingPlan


def dumps(plan: Plan) -> str:
    """Return the plan as JSON text: the same plan gives the same bytes; days are ISO 8601; no NaN."""
    return json.dumps(asdict(plan), indent=1, allow_nan=False, default=_json_form)


def _json_form(value: object) -> object:
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Section):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def loads(text: str) -> TrainingPlan:
    """Return the plan of a JSON text.

    Raises:
        InputError: not JSON, another version, a key missing or unknown, or a value of the wrong type.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - only where a plan is read back

    try:
        plan: TrainingPlan = _adapter().validate_json(text, strict=True, extra="forbid", context=IN_SI)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"this is not a plan that this version can read: {place}: {first['msg']}",
            help="make it again with: clusterwright build BLUEPRINT -o FOLDER",
        ) from None
    return plan


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `plan.json`."""
    schema: dict[str, Any] = _adapter().json_schema(mode="serialization")
    definitions = schema.get("$defs", {})
    for definition in (schema, *definitions.values()):
        if definition.get("type") == "object":
            definition["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Clusterwright plan"}


def _adapter() -> Any:  # noqa: ANN401 - pydantic's generic adapter
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(TrainingPlan)
