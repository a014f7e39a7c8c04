"""A running planner, and a browser that is driven over its debugging pipe."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
#: Only to end what hangs.
PATIENCE_S = 120.0


@dataclass(frozen=True, kw_only=True)
class Running:
    """A planner that answers: its address, with a slash at the end, and the token it wants."""

    address: str
    token: str = ""


def started(*options: str, **environment: str) -> tuple["subprocess.Popen[str]", Running]:
    """Start the command and return it with its address."""
    program = subprocess.Popen(
        [sys.executable, "-c", "from clusterwright.cli.main import run; run()", "web", "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
    )
    assert program.stderr is not None
    line = program.stderr.readline()
    found = re.search(r"(http://\S+:\d+/)(?:#token=(\S+))?", line)
    if found is None:
        program.wait(PATIENCE_S)
        program.stderr.close()
    assert found is not None, line
    return program, Running(address=found[1], token=found[2] or "")


@contextmanager
def running(*options: str, **environment: str) -> Iterator[Running]:
    """Run a planner for as long as it is asked."""
    program, found = started(*options, **environment)
    try:
        yield found
    finally:
        program.terminate()
        program.wait(PATIENCE_S)
        assert program.stderr is not None
        program.stderr.close()


@pytest.fixture(scope="session")
def planner() -> Iterator[Running]:
    """Run a planner for this machine."""
    with running() as found:
        yield found


class Browser:
    """Chromium, driven over two pipes by its DevTools protocol."""

    def __init__(self, profile: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self._program = subprocess.Popen(
            [
                # A shell puts the pipes where Chromium reads and writes.
                "bash",
                "-c",
                f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}',
                "bash",
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--hide-scrollbars",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": str(profile), "NO_PROXY": "*"},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._left, self._number = ours_in, ours_out, b"", 0
        self.console: list[str] = []
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session: str | None = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    _session: str | None = None

    def _call(self, method: str, **arguments: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        os.write(
            self._out, json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0"
        )
        while True:
            while b"\0" not in self._left:
                part = os.read(self._in, 65536)
                assert part, "the browser ended"
                self._left += part
            text, _, self._left = self._left.partition(b"\0")
            got = json.loads(text)
            self._noted(got)
            if got.get("id") == self._number:
                assert "error" not in got, got
                result: dict[str, Any] = got["result"]
                return result

    def _noted(self, got: dict[str, Any]) -> None:
        if got.get("method") == "Log.entryAdded":
            self.console.append(got["params"]["entry"]["text"])
        if got.get("method") == "Runtime.exceptionThrown":
            self.console.append(json.dumps(got["params"]["exceptionDetails"]))

    def open(self, address: str, *, width: int = 1400, height: int = 1000) -> None:
        """Open a page in a window of a width, as if for the first time."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def prefer(self, scheme: str) -> None:
        """Be the browser of somebody who prefers `light` or `dark` pages."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script: str) -> Any:  # noqa: ANN401 - what the page holds
        """Return what an expression of the page is, its promise kept."""
        got = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def until(self, script: str) -> Any:  # noqa: ANN401 - what the page holds
        """Wait until an expression of the page is true, and return it."""
        end = time.monotonic() + PATIENCE_S
        while not (found := self.run(script)):
            assert time.monotonic() < end, (script, self.console)
            time.sleep(0.05)
        return found

    def type(self, field: str, text: str) -> None:
        """Put a text into a field as a person would: by the keyboard."""
        self.run(f"(f => {{ f.focus(); f.select(); }})(document.querySelector({json.dumps(field)}))")
        self._call("Input.insertText", text=text)

    def key(self, name: str, code: int, text: str = "") -> None:
        """Press a key; text is what it types."""
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **typed)

    def picture(self) -> bytes:
        """Return what the window shows, as PNG."""
        import base64  # noqa: PLC0415 - only where a picture is wanted

        return base64.b64decode(self._call("Page.captureScreenshot")["data"])

    def close(self) -> None:
        """End the browser."""
        self._program.kill()
        self._program.wait(PATIENCE_S)
        os.close(self._in)
        os.close(self._out)


@pytest.fixture(scope="module")
def browser(require_engine: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Run a browser."""
    require_engine("chromium")
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()
