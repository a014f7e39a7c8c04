"""The commands that answer others than a terminal: the planner in the browser, and assistants."""

import importlib.util
import os
from typing import Annotated

import typer

from clusterwright.errors import InputError

#: Instead of --token, which others of this machine can see in the list of processes.
TOKEN = "CLUSTERWRIGHT_TOKEN"  # noqa: S105 - a name


def web(
    *,
    open_page: Annotated[bool, typer.Option("--open", help="open the page in the browser")] = False,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="address to answer at; others than this machine need a token")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="port; 0 takes a free one")] = 8080,
    workers: Annotated[int, typer.Option(min=1, max=64, help="processes that answer")] = 2,
    limit: Annotated[int, typer.Option(min=1, max=3600, help="seconds that an answer may take")] = 60,
) -> None:
    """Open the planner in the browser; the same as an HTTP interface.

    It answers this machine alone. With another --host each request needs the token of CLUSTERWRIGHT_TOKEN, or the one
    that is printed.
    """
    needed("web", "starlette", "uvicorn")
    from clusterwright.web.serving import Service, serve

    serve(
        Service(
            host=host,
            port=port,
            token=os.environ.get(TOKEN, ""),
            workers=workers,
            limit_s=float(limit),
            open_page=open_page,
        )
    )


def mcp(
    *,
    workers: Annotated[int, typer.Option(min=1, max=64, help="processes that answer")] = 1,
    limit: Annotated[int, typer.Option(min=1, max=3600, help="seconds that an answer may take")] = 60,
) -> None:
    """Answer an assistant over standard input and output (MCP).

    The tools are example, plan, compare, explain, diff and prices; nothing is written, and no file is read.
    """
    needed("mcp", "mcp")
    from clusterwright.web.assistants import serve

    serve(workers=workers, limit_s=float(limit))


def needed(extra: str, *packages: str) -> None:
    """Refuse to go on without the packages of an extra.

    Raises:
        InputError: one of them is not installed.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"this needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            help=f"pip install 'clusterwright[{extra}]'",
        )


COMMANDS = (web, mcp)
