"""`plan.json`: writing the Plan as JSON, reading it back strictly, and its JSON Schema."""

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Union

from clusterwright.errors import InputError
from clusterwright.plan.finetuning.record import FinetuningPlan
from clusterwright.plan.record import SCHEMA, Plan
from clusterwright.plan.serving.record import ServingPlan
from clusterwright.plan.training.record import TrainingPlan

#: The record of a plan by the kind of its workload.
_RECORDS: Mapping[str, type[Plan]] = {
    "train": TrainingPlan,
    "finetune": FinetuningPlan,
    "serve": ServingPlan,
}


#: How to make a plan in the place of one that cannot be read.
_NEW_PLAN = (
    "make a new one from its blueprint: clusterwright plan BLUEPRINT --json > plan.json; "
    "or, where it is of a folder: clusterwright build BLUEPRINT -o FOLDER"
)

#: Numbers that a schema can have; anything else is no plan.
_SCHEMAS = range(1, 1000)


def dumps(plan: Plan) -> str:
    """Return the plan as JSON text: the same plan gives the same bytes; days are ISO 8601; no NaN."""
    document = asdict(plan, dict_factory=_without_none_divided)
    return json.dumps(document, indent=1, allow_nan=False, default=_json_form)


def _without_none_divided(fields: list[tuple[str, object]]) -> dict[str, object]:
    """Return a record's fields; without `divided_nodes` where no node is: few plans have such nodes."""
    return {name: value for name, value in fields if (name, value) != ("divided_nodes", 0)}


def _json_form(value: object) -> object:
    if isinstance(value, dt.date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def loads(text: str, *, file: str = "this") -> Plan:
    """Return the plan of a JSON text.

    Args:
        text: the JSON.
        file: name of its file, for errors.

    Raises:
        InputError: not JSON, another version, a key missing or unknown, or a value of the wrong type.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - only where a plan is read back

    kind, schema = _kind_and_schema(text)
    if schema is not None and schema != SCHEMA:
        by = "an older" if schema < SCHEMA else "a newer"
        raise InputError(
            f"{file} is a plan of schema {schema}, of {by} version of the program; this one reads schema {SCHEMA}",
            help=_NEW_PLAN,
        )
    try:
        plan: Plan = _adapter(kind).validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{file} is not a plan that this version can read: {place}: {first['msg']}",
            help=_NEW_PLAN,
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


def _kind_and_schema(text: str) -> tuple[type[Plan], int | None]:
    """Return the record that a plan's text is of, and its schema; that of training, and None, where it says neither."""
    try:
        document = json.loads(text)
        kind, schema = document["workload"]["kind"], document.get("schema")
    except (ValueError, TypeError, LookupError, RecursionError):
        return TrainingPlan, None
    record = _RECORDS.get(kind, TrainingPlan) if isinstance(kind, str) else TrainingPlan
    return record, schema if isinstance(schema, int) and schema in _SCHEMAS else None


def _new_adapter(record: Any) -> Any:  # noqa: ANN401 - pydantic's generic adapter
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(record)


#: A quarter of a second each time: a reader of many plans pays it once.
_adapter: Callable[[Any], Any] = lru_cache(maxsize=8)(_new_adapter)
