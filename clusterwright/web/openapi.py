"""The OpenAPI document of the service: what each address takes and gives, with the schema of the blueprint."""

from typing import Any

from clusterwright import __version__
from clusterwright.blueprint.schema import json_schema
from clusterwright.web.refusal import (
    BAD_REQUEST,
    FORBIDDEN,
    TIMEOUT,
    TOO_LARGE,
    UNAUTHORIZED,
    UNPROCESSABLE,
    UNSUPPORTED,
)

_ON = {"type": "string", "description": "one target, such as aws, or all", "default": "all"}
_BLUEPRINT = {
    "description": "text (YAML), or the same as an object; keys that name files are refused",
    "oneOf": [{"type": "string"}, {"$ref": "#/components/schemas/Blueprint"}],
}
#: Address, summary, arguments besides the blueprint, and the media type of the answer.
ADDRESSES: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("plan", "Size the cluster for every target: plan.json", {"on": _ON}, "application/json"),
    (
        "compare",
        "Every way to have the cluster, as `compare --json`",
        {"draws": {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 1_000}},
        "application/json",
    ),
    ("build", "Every file of the build, as a zip", {"on": _ON}, "application/zip"),
    (
        "explain",
        "Where numbers of a target come from: one, or all",
        {"on": {"type": "string"}, "number": {"type": "string"}},
        "application/json",
    ),
    ("diff", "What changed from one blueprint's plan to another's", {"before": _BLUEPRINT}, "application/json"),
)
_REFUSED = {
    BAD_REQUEST: "the request cannot be read",
    UNAUTHORIZED: "the token is missing or wrong",
    FORBIDDEN: "the request came from a page of another site",
    TIMEOUT: "the answer, or the request itself, took too long",
    TOO_LARGE: "the request is too large",
    UNSUPPORTED: "the body is neither JSON nor YAML",
    UNPROCESSABLE: "the blueprint is wrong, or a rule failed: `problems` has every one with its path",
}


def document() -> dict[str, Any]:
    """Return the OpenAPI document (3.1) of the service."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Clusterwright",
            "version": __version__,
            "description": "Sizing, infrastructure code and cost of AI clusters from one blueprint.",
        },
        "paths": {
            **{
                f"/{name}": {
                    "post": {
                        "operationId": name,
                        "summary": summary,
                        "requestBody": {"required": True, "content": _content(more)},
                        "responses": _responses(media),
                    }
                }
                for name, summary, more, media in ADDRESSES
            },
            "/prices": {
                "get": {
                    "operationId": "prices",
                    "summary": "Documented prices of a product or an accelerator; of all without a name",
                    "parameters": [
                        {"name": name, "in": "query", "schema": {"type": "string"}} for name in ("name", "as_of")
                    ],
                    "responses": _responses("application/json"),
                }
            },
        },
        "components": {
            "schemas": {"Blueprint": _blueprint(), "Refusal": _refusal()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _content(more: dict[str, Any]) -> dict[str, Any]:
    asked = {"type": "object", "properties": {"blueprint": _BLUEPRINT, **more}, "required": ["blueprint"]}
    return {"application/json": {"schema": asked}, "application/yaml": {"schema": {"type": "string"}}}


def _responses(media: str) -> dict[str, Any]:
    refusal = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    return {
        "200": {"description": "the answer", "content": {media: {}}},
        **{str(status): {"description": words, "content": refusal} for status, words in _REFUSED.items()},
    }


def _blueprint() -> dict[str, Any]:
    """Return the blueprint's schema, its definitions where OpenAPI keeps them."""

    def moved(node: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(node, list):
            return [moved(entry) for entry in node]
        if not isinstance(node, dict):
            return node
        return {
            key: value.replace("#/", "#/components/schemas/Blueprint/", 1)
            if key == "$ref" and isinstance(value, str)
            else moved(value)
            for key, value in node.items()
        }

    found: dict[str, Any] = moved(json_schema())
    return found


def _refusal() -> dict[str, Any]:
    text = {"type": "string"}
    problem = {"id": {"type": ["string", "null"]}, "path": text, "message": text, "help": text}
    return {
        "type": "object",
        "required": ["schema", "error", "help", "problems"],
        "properties": {
            "schema": {"const": 1},
            "error": text,
            "help": text,
            "problems": {"type": "array", "items": {"type": "object", "properties": problem}},
        },
    }
