"""`plan.json`: writing the Plan as JSON, reading it back strictly, and its JSON Schema."""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Union

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import IN_SI
from clusterwright.errors import InputError
from clusterwright.plan.finetuning.record import FinetuningPlan
from clusterwright.plan.record import Plan, TrainingPlan
from clusterwright.plan.serving.record import ServingPlan

#: The record of a plan by the kind of its workload.
_RECORDS: Mapping[str, type[Plan]] = {
    "train": TrainingPlan,
    "finetune": FinetuningPlan,
    "serve": ServingPlan,
}


def dumps(plan: Plan) -> str:
    """Return the plan as JSON text: the same plan gives the same bytes; days are ISO 8601; no NaN."""
    return json.dumps(asdict(plan), indent=1, allow_nan=False, default=_json_form)


def _json_form(value: object) -> object:
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Section):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def loads(text: str) -> Plan:
    """Return the plan of a JSON text.

    Raises:
        InputError: not JSON, another version, a key missing or unknown, or a value of the wrong type.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - only where a plan is read back

    try:
        plan: Plan = _adapter(_record_of(text)).validate_json(text, strict=True, extra="forbid", context=IN_SI)
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
    kinds = tuple(_RECORDS.values())
    schema: dict[str, Any] = _adapter(Union[kinds]).json_schema(mode="serialization")  # noqa: UP007 - of a tuple
    definitions = schema.get("$defs", {})
    for definition in (schema, *definitions.values()):
        if definition.get("type") == "object":
            definition["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Clusterwright plan"}


def _record_of(text: str) -> type[Plan]:
    """Return the record that a plan's text is of; that of training where it says no kind that is known."""
    try:
        kind = json.loads(text)["workload"]["kind"]
    except (ValueError, TypeError, LookupError, RecursionError):
        kind = "train"
    return _RECORDS.get(kind, TrainingPlan) if isinstance(kind, str) else TrainingPlan


def _adapter(record: Any) -> Any:  # noqa: ANN401 - pydantic's generic adapter
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(record)
