"""The page of JSON documents: which command prints which, and the keys at the top of each."""

from collections.abc import Mapping
from typing import Any

from clusterwright.blueprint.schema import json_schema as blueprint_schema
from clusterwright.cli.answer_schemas import json_schema as answer_schema
from clusterwright.documentation.key_types import alternatives, reference_of
from clusterwright.documentation.markdown import code, page, prose, table
from clusterwright.evidence.cost_cases.case import json_schema as case_schema
from clusterwright.plan.document import json_schema as plan_schema

_INTRODUCTION = """
Commands that answer print JSON with `--json`, and `clusterwright schema NAME` prints the JSON Schema of a document.
Numbers are SI or USD with the unit in the key (`memory_bytes`, `npv_usd`), and unknown is `null`, never 0.

Every document has a number in `schema`. A newer version of Clusterwright may add keys; the number changes when a key
goes away or changes its meaning. If a command fails, standard output holds `{"schema", "error", "help", "problems",
"exit_code"}` with the place of each problem, and the exit code stays as documented.
"""
#: Name for `clusterwright schema`, what prints the document, and how its schema is made.
_DOCUMENTS: tuple[tuple[str, str, Any], ...] = (
    ("blueprint", "what you write; every key is in [Blueprint keys](blueprint.md)", blueprint_schema),
    ("plan", "`clusterwright plan --json`, and `plan.json` of every build: [what is in it](plan.md)", plan_schema),
    ("compare", "`clusterwright compare --json`", lambda: answer_schema("compare")),
    ("finance", "`clusterwright compare --finance --json`", lambda: answer_schema("finance")),
    ("diff", "`clusterwright diff --json`", lambda: answer_schema("diff")),
    ("actual", "`clusterwright actual --json`", lambda: answer_schema("actual")),
    ("case", "a published cost calculation for `clusterwright validate tco`", case_schema),
)


#: What keys mean that several documents have; the others are explained by their names and records.
_MEANINGS = {
    "schema": "version of the document",
    "clusterwright": "version of the program",
    "catalogue": "digest of the facts that were used",
    "name": "name of the blueprint",
    "description": "the blueprint's own line for people",
    "as_of": "day whose prices hold",
    "workload": "what is trained, fine-tuned or served",
    "goals": "what must be met",
    "economics": "horizon, runs, discount rate and the rest that money is counted with",
    "cluster": "names that reach Slurm, hosts and cloud resources",
    "recommended": "target of the answer for one run",
    "recommended_key": "option of that answer",
    "recommended_horizon": "target of the answer for the horizon",
    "recommended_horizon_key": "option of that answer",
    "options": "one entry per target: cluster, layout, performance and money",
    "other_options": "other capacities and commitments, planned whole",
    "alternatives": "every way to do the work, with its bill, terms of payment and money",
    "breakevens": "month and utilisation from which owning costs less, by pair",
    "parameters": "assumed values that were used, each with its source",
    "findings": "rules that failed, with code, place and help",
    "warnings": "rules that warn",
    "not_counted": "what the dollars leave out",
    "own_facts": "facts of your own that replaced the catalogue's",
    "finance": "tax, delivery, borrowing, chance and carbon that money was counted with",
    "currency": "currency in which people read the money, with its dated rate; `null` for USD",
    "software": "releases of the nodes' software",
    "hosted": "hosted models that a service is compared with",
    "managed": "managed endpoints that a service is compared with",
    "returns": "net present value saved, rate of return and payback of owning",
    "hybrid_returns": "the same of mixes of owning and renting",
    "after_tax": "money after tax, and what is written off by year",
    "uncertainty": "simulated totals, sensitivities, and what was drawn",
    "carbon": "energy and CO2e of each option",
    "before": "the first plan",
    "after": "the second plan",
    "inputs": "values of the blueprint that differ",
    "assumptions": "assumed values that differ",
    "work": "runs of the horizon, where they differ",
    "targets": "what changed on each target",
    "same": "whether nothing differs",
    "causes": "what each change does alone",
    "cost": "effective or billed",
    "untagged_share": "share of the accounts' cost that carries no tag",
    "other_share": "share that carries another tag",
    "repeated": "rows that repeat another one",
    "billing_periods": "months of the bill",
    "tag": "tag by which the cluster's rows were found",
}


def json_page() -> str:
    """Return the page."""
    overview = table(
        ("Document", "Printed by", "Its schema"),
        ((f"[{name}](#{name})", said, code(f"clusterwright schema {name}")) for name, said, _ in _DOCUMENTS),
    )
    parts = [part for name, _, schema in _DOCUMENTS for part in (f"## {name}", _top(name, schema()))]
    return page("JSON documents", _INTRODUCTION, overview, *parts)


def _top(name: str, schema: Mapping[str, Any]) -> str:
    """Return the keys at the top of a document; of one that has several forms, the keys of all."""
    if name == "blueprint":
        return "Every key has its row in [Blueprint keys](blueprint.md)."
    definitions = schema.get("$defs", schema.get("definitions", {}))
    forms = [definitions[reference_of(part)] for part in alternatives(schema, definitions) if reference_of(part)]
    properties = {key: node for form in (forms or [schema]) for key, node in form["properties"].items()}
    return table(
        ("Key", "Type", "Meaning"),
        (
            (code(key), _kind(node, definitions), prose(node.get("description") or _MEANINGS.get(key, "")))
            for key, node in properties.items()
        ),
    )


def _kind(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    if "$ref" in node:
        return "object"
    if "const" in node:
        return code(str(node["const"]))
    if found := [*node.get("anyOf", ()), *node.get("oneOf", ())]:
        return " or ".join(dict.fromkeys(_kind(part, definitions) for part in found))
    kind = node.get("type", "any")
    if kind == "array":
        inner = _kind(node["items"], definitions) if node.get("items") else "value"
        return f"list of {inner if ' ' in inner else f'{inner}s'}"
    return {"null": "`null`"}.get(kind, str(kind)) if isinstance(kind, str) else " or ".join(kind)
