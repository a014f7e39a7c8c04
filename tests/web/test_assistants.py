"""The service for assistants: a client of the protocol's own package over standard input and output."""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import clusterwright as cw

from .conftest import PATIENCE_S, ROOT


def within_a_session(script: Callable[[ClientSession], Awaitable[None]]) -> None:
    """Start the command as an assistant does, and run a conversation with it."""

    async def run() -> None:
        program = StdioServerParameters(
            command=sys.executable,
            args=["-c", "from clusterwright.cli.main import run; run()", "mcp"],
            env=dict(os.environ),
            cwd=ROOT,
        )
        with anyio.fail_after(PATIENCE_S):
            async with stdio_client(program) as (source, sink), ClientSession(source, sink) as session:
                await session.initialize()
                await script(session)

    anyio.run(run)


async def said(session: ClientSession, tool: str, **arguments: Any) -> tuple[bool, Any]:  # noqa: ANN401 - JSON
    """Return whether a tool refused, and what it said."""
    result = await session.call_tool(tool, arguments)
    return bool(result.is_error), json.loads(result.content[0].text)


def test_an_assistant_plans_changes_and_explains() -> None:
    """It finds the tools, starts from an example, gets the interface's figures, and reads what it did wrong."""

    async def script(session: ClientSession) -> None:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == {"example", "plan", "compare", "explain", "diff", "prices"}
        assert all(tool.description and tool.input_schema["required"] for tool in tools.values())
        _, example = await said(session, "example", kind="train")
        text = example["text"]
        assert text == (ROOT / "blueprints" / "train-gpt3-175b.yaml").read_text()
        wrong, plan = await said(session, "plan", blueprint=text)
        assert not wrong
        expected = cw.plan(ROOT / "blueprints" / "train-gpt3-175b.yaml").options[0]
        first = plan["options"][0]
        assert (first["instance"], first["nodes"], first["run_usd"]) == (
            expected.cluster.instance,
            expected.cluster.nodes,
            expected.money.run_cost_usd,
        )
        wrong, found = await said(session, "explain", blueprint=text, number="run_usd", on="aws")
        assert not wrong
        assert found["numbers"][0]["number"] == "run_usd"
        wrong, found = await said(session, "plan", blueprint=text.replace("tokens: 300e9", "tokens: many"))
        assert wrong
        assert [problem["path"] for problem in found["problems"]] == ["workload.tokens"]
        wrong, found = await said(
            session, "plan", blueprint=text.replace("model: gpt3-175b", "model: {config: /etc/passwd}")
        )
        assert wrong
        assert "names a file" in json.dumps(found)

    within_a_session(script)
