"""The page of the HTTP interface: addresses, what each takes and returns, and refusals, from the OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.documentation.markdown import code, page, prose, table
from clusterwright.web import openapi

_INTRODUCTION = """
`clusterwright web` answers these addresses beside the [planner in the browser](../howto/planner.md). Send JSON, or the
blueprint alone as YAML (`Content-Type: application/yaml`). `GET /openapi.json` is this page for programs, with the
schema of the blueprint.
"""
_REFUSALS = """
A refusal is JSON with `error`, `help` and `problems`, each with its `path`. A body may have 400 kB and 10 s to arrive;
an answer has the time of `--limit`. 503 means that too many requests wait.
"""


def http_page() -> str:
    """Return the page."""
    document = openapi.document()
    addresses = table(("Address", "Takes", "Returns"), _addresses(document["paths"]))
    statuses = next(iter(document["paths"].values()))["post"]["responses"]
    refused = table(("Status", "Meaning"), ((status, prose(each["description"])) for status, each in statuses.items()))
    return page("HTTP interface", _INTRODUCTION, addresses, "## Statuses", _REFUSALS, refused)


def _addresses(paths: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for path, methods in paths.items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            names = [*body.get("properties", {}), *(each["name"] for each in operation.get("parameters", ()))]
            yield code(f"{method.upper()} {path}"), ", ".join(map(code, names)), prose(operation["summary"])
