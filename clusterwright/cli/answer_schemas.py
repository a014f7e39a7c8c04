"""JSON Schemas of what commands print with --json, made from the records that they print.

A newer version may add keys; the number in `schema` changes when one goes or changes its meaning.
"""

from typing import Any, Literal, get_type_hints

from clusterwright.cli.compare.finance import OPTION
from clusterwright.errors import InputError
from clusterwright.interface.documents import COMPARED

#: What an option says of its hardware.
_WORDS = ("instance", "accelerator", "note", "reason")
_UNCERTAINTY = {"options": "drawn", "tornado": "swings", "heat_map": "heat"}
_UNCERTAIN = (
    "draws",
    "seed",
    "inputs",
    "price_paths",
    "options",
    "regrets",
    "compared_with",
    "mapped_with",
    "base_saving_usd",
    "tornado",
    "heat_map",
)


def json_schema(of: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a command's JSON.

    Args:
        of: `compare`, `finance` (compare --finance), `diff` or `actual`.

    Raises:
        InputError: no such command.
    """
    documents = {"compare": _compare, "finance": _finance, "diff": _diff, "actual": _actual}
    if of not in documents:
        raise InputError(f"there is no schema of {of!r}", help=", ".join(documents))
    schema: dict[str, Any] = documents[of]().model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"Clusterwright {of}"}


def _model(name: str, fields: dict[str, Any], *, versioned: bool = True) -> Any:  # noqa: ANN401 - made at run time
    from pydantic import Field, create_model

    made: dict[str, Any] = {key: (kind, ...) for key, kind in fields.items()}
    if versioned:
        made["version"] = (Literal[1], Field(alias="schema"))
    return create_model(name, **made)


def _compare() -> Any:  # noqa: ANN401
    from clusterwright.plan.record import Option, Plan

    plan, option = get_type_hints(Plan), get_type_hints(Option)
    records = {name: get_type_hints(option[name]) for name in COMPARED}
    entry = _model(
        "ComparedOption",
        {"target": option["target"], "basis": records["money"]["basis"]}
        | {name: records[record][name] for record, names in COMPARED.items() for name in names},
        versioned=False,
    )
    told = {
        name: plan[name]
        for name in (
            "name",
            "as_of",
            "recommended",
            "recommended_key",
            "recommended_horizon",
            "recommended_horizon_key",
            "economics",
            "breakevens",
        )
    }
    return _model("Compared", told | {"options": list[entry]})  # type: ignore[valid-type]


def _finance() -> Any:  # noqa: ANN401
    from clusterwright.finance.finances import Finances
    from clusterwright.finance.unit_costs import UnitCost
    from clusterwright.plan.record import Plan
    from clusterwright.tco.terms.records import CandidateCost

    found, plan, cost = get_type_hints(Finances), get_type_hints(Plan), get_type_hints(CandidateCost)
    option = _model(
        "FinanceOption",
        {name: cost[name] for name in OPTION}
        | dict.fromkeys(("run_usd", "run_share_usd"), cost["run_usd"])
        | get_type_hints(UnitCost)
        | dict.fromkeys(_WORDS, str),
        versioned=False,
    )
    uncertainty = _model(
        "Uncertainty", {name: found[_UNCERTAINTY.get(name, name)] for name in _UNCERTAIN}, versioned=False
    )
    told = {name: plan[name] for name in ("name", "as_of", "economics")}
    return _model(
        "Finance",
        told
        | {
            "options": list[option],  # type: ignore[valid-type]
            "carbon": found["carbon"],
            "returns": found["returns"],
            "hybrid_returns": found["hybrid_returns"],
            "after_tax": found["taxed"],
            "uncertainty": uncertainty,
        },
    )


def _diff() -> Any:  # noqa: ANN401
    from clusterwright.diff.causes import Causes
    from clusterwright.diff.differences import Differences

    return _model("Diff", get_type_hints(Differences) | {"same": bool, "causes": Causes})


def _actual() -> Any:  # noqa: ANN401
    from clusterwright.actual.records import Comparison

    return _model("Actual", get_type_hints(Comparison) | {"name": str, "tag": str})
