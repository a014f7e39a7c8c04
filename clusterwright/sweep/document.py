"""A sweep as plain values: the JSON document and the rows of the table."""

from dataclasses import asdict
from typing import Any

from clusterwright.sweep.records import NotSized, Sweep, SweptPoint
from clusterwright.workload.transformer import active_parameters, parameters

SCHEMA = 1
Row = dict[str, Any]

#: The layout's fields by the names of the table's columns.
_LAYOUT = {
    "tensor_parallel": "tp",
    "context_parallel": "cp",
    "pipeline_parallel": "pp",
    "pipeline_chunks": "vpp",
    "data_parallel": "dp",
    "expert_parallel": "ep",
    "zero_stage": "zero_stage",
    "micro_batch": "micro_batch",
    "micro_batches": "micro_batches",
    "recompute": "recompute",
    "recompute_layers": "recompute_layers",
    "sharding_group": "sharding_group",
    "schedule": "schedule",
}


def document(sweep: Sweep) -> Row:
    """Return the whole sweep for `--json`: scenarios, points, what was not sized and why. Units are in the keys."""
    return {
        "schema": SCHEMA,
        "catalogue": sweep.catalogue,
        "layouts_evaluated": sweep.layouts_evaluated,
        "scenarios": [
            {
                "blueprint": entry.name,
                "varied": dict(entry.varied),
                "model": entry.model.name,
                "parameters": parameters(entry.model),
                "active_parameters": active_parameters(entry.model),
                "prices_as_of": as_of,
            }
            for entry, as_of in zip(sweep.scenarios, sweep.as_of, strict=True)
        ],
        "points": [{**asdict(point), "varied": dict(point.varied)} for point in sweep.points],
        "not_sized": [{**asdict(entry), "varied": dict(entry.varied)} for entry in sweep.not_sized],
    }


def rows(sweep: Sweep) -> list[Row]:
    """Return one flat row per point, then one per node type that was not sized, with its reason."""
    return [*(_point_row(point) for point in sweep.points), *(_missing_row(entry) for entry in sweep.not_sized)]


def _point_row(point: SweptPoint) -> Row:
    values = asdict(point)
    layout = values.pop("layout")
    return {
        **_varied(values),
        **{column: layout[name] for column, name in _LAYOUT.items()},
        "not_sized_reason": None,
    }


def _missing_row(entry: NotSized) -> Row:
    values = asdict(entry)
    reason = values.pop("reason")
    blank = dict.fromkeys((*SweptPoint.__slots__, *_LAYOUT))
    del blank["layout"], blank["varied"]
    return {**blank, **_varied(values), "not_sized_reason": reason}


def _varied(values: Row) -> Row:
    varied = values.pop("varied")
    return {
        **values,
        "varied_paths": [path for path, _ in varied],
        "varied_values": [value for _, value in varied],
    }
