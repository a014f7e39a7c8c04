"""The same service for assistants: tools of the Model Context Protocol over standard input and output."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from clusterwright import __version__
from clusterwright.web.refusal import RefusalError
from clusterwright.web.workers import Workers

_BLUEPRINT = {
    "type": ["string", "object"],
    "description": "the blueprint: YAML text, or the same as an object; it may name no file (see the tool example)",
}
_TARGET = {"type": "string", "description": "aws, azure, gcp or onprem"}
#: Name, what it answers, its arguments, those that are needed, and the operation.
_TOOLS: tuple[tuple[str, str, dict[str, Any], tuple[str, ...], str], ...] = (
    (
        "example",
        "A shipped blueprint to start from, by kind of workload, as YAML text.",
        {"kind": {"type": "string", "enum": ["train", "finetune", "serve"]}},
        ("kind",),
        "example",
    ),
    (
        "plan",
        "Size the cluster of a blueprint for every target, and what it costs: answer, options, failed rules, warnings.",
        {"blueprint": _BLUEPRINT},
        ("blueprint",),
        "summary",
    ),
    (
        "compare",
        "Every way to have the cluster, renting and owning, cheapest first, with bands and probabilities.",
        {"blueprint": _BLUEPRINT, "draws": {"type": "integer", "minimum": 1, "maximum": 10_000}},
        ("blueprint",),
        "compare",
    ),
    (
        "explain",
        "Where a number of a plan comes from: equation, inputs, sources. Its name is that of plan, such as run_usd.",
        {"blueprint": _BLUEPRINT, "number": {"type": "string"}, "on": _TARGET},
        ("blueprint", "number"),
        "explain",
    ),
    (
        "diff",
        "What changes from one blueprint's plan to another's, and which change of the blueprint causes how much.",
        {"before": _BLUEPRINT, "blueprint": _BLUEPRINT},
        ("before", "blueprint"),
        "diff",
    ),
    (
        "prices",
        "Documented prices of an accelerator such as h100, or a product such as aws/p5.48xlarge, with source and day.",
        {"name": {"type": "string"}, "as_of": {"type": "string", "description": "a day such as 2026-10-16"}},
        ("name",),
        "prices",
    ),
)
_OPERATION = {name: operation for name, _, _, _, operation in _TOOLS}
_WORDS = (
    "Clusterwright sizes GPU clusters for AI workloads and compares what renting and owning cost. Begin with example, "
    "change its YAML, then plan. Every figure is calculated; prices carry source and day, unknown is null, never 0."
)


def serve(*, workers: int, limit_s: float) -> None:
    """Answer on standard input and output until the input ends.

    Args:
        workers: processes that answer.
        limit_s: of one answer.
    """
    anyio.run(_serve, workers, limit_s)


async def _serve(count: int, limit_s: float) -> None:
    workers = Workers(count, limit_s=limit_s)

    async def call(context: ServerRequestContext[Any], asked: CallToolRequestParams) -> CallToolResult:
        del context
        return await called(workers, asked.name, asked.arguments or {})

    server = Server("clusterwright", version=__version__, instructions=_WORDS, on_list_tools=_listed, on_call_tool=call)
    try:
        async with stdio_server() as (source, sink):
            await server.run(source, sink, server.create_initialization_options())
    finally:
        workers.end()


async def called(workers: Workers, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """Return the result of a tool; a refusal is a result that says so, for the assistant to mend."""
    operation = _OPERATION.get(tool)
    if operation is None:
        return _result(f"there is no tool {tool!r}; there are {', '.join(_OPERATION)}", wrong=True)
    try:
        reply = await workers.do(operation, arguments)
    except RefusalError as error:
        return _result(json.dumps(error.to_dict()), wrong=True)
    return _result(reply.content.decode())


async def _listed(context: ServerRequestContext[Any], asked: PaginatedRequestParams | None) -> ListToolsResult:
    del context, asked
    return ListToolsResult(
        tools=[
            Tool(
                name=name,
                description=words,
                input_schema={"type": "object", "properties": arguments, "required": list(needed)},
            )
            for name, words, arguments, needed, _ in _TOOLS
        ]
    )


def _result(text: str, *, wrong: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=wrong)
