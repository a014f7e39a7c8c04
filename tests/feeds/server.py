"""A small HTTP server on the loopback whose answers a test scripts: whole, cut, changed, or wrong."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer.

    Attributes:
        cut_at: bytes after which the connection breaks, although the length of all was said; None for all.
        say_length: whether the length is said.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    say_length: bool = True


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """A running server: its address, what it was asked, and how it answers."""

    url: str
    asked: list[Asked]
    answer: Callable[[Asked], Answer]


@contextmanager
def serving(answer: Callable[[Asked], Answer]) -> Iterator[Server]:
    """Serve on a free port of the loopback while the block runs."""
    state = Server(url="", asked=[], answer=answer)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = Asked(
                path=self.path,
                headers={name.lower(): value for name, value in self.headers.items()},
                body=self.rfile.read(int(self.headers.get("content-length", 0))),
            )
            state.asked.append(asked)
            said = state.answer(asked)
            self.send_response(said.status)
            for name, value in ({"Content-Type": "application/json"} | said.headers).items():
                self.send_header(name, value)
            if said.say_length:
                self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body[: said.cut_at])
            self.close_connection = True

        do_POST = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def scripted(*answers: Answer) -> Callable[[Asked], Answer]:
    """Return answers one after the other, the last one again and again."""
    left = list(answers)
    return lambda _asked: left.pop(0) if len(left) > 1 else left[0]
