"""A service with an OpenAI-compatible interface on loopback: answers come at the step times of the simulator.

Client and service share an event loop whose clock moves only when nothing else is left to do: what they measure does
not depend on how busy the machine is, and two minutes of load take seconds.
"""

import asyncio
import json
import selectors
from dataclasses import dataclass, field
from typing import Any

from clusterwright.sizing.serving.simulation.step_table import StepTable


class Clock:
    """Seconds that pass only where an event loop would wait."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def perf_counter(self) -> float:
        """Return the time, as the module `time` does."""
        return self.now_s


class _Selector(selectors.DefaultSelector):  # type: ignore[valid-type,misc] # an alias of the platform's own
    """Waits by moving the clock on; data on loopback are there as soon as they are sent."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; else let the time pass until the next timer."""
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            waited: list[tuple[selectors.SelectorKey, int]] = super().select(5)
            return waited
        self._clock.now_s += timeout
        return []


class Loop(asyncio.SelectorEventLoop):
    """An event loop by a clock of its own."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(_Selector(clock))
        self._own_clock = clock

    def time(self) -> float:
        """Return the seconds of the clock."""
        return self._own_clock.now_s


@dataclass(slots=True, eq=False)
class _Sequence:
    """A request in the engine: tokens of the input that are left to compute, tokens of the answer, and its stream."""

    left: int
    context: int
    wanted: int
    writer: asyncio.StreamWriter
    written: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)


class StandIn:
    """One replica with continuous batching and chunked inputs, as `sizing.serving.simulation.worker` has it.

    Attributes:
        table: of step times; cached: share of every input that a prefix cache holds; slower: times as long.
        asked: bodies of the requests, in the order of their arrival.
    """

    def __init__(self, table: StepTable, *, cached: float, slower: float = 1.0) -> None:
        self._table, self._cached, self._slower = table, cached, slower
        self._waiting: list[_Sequence] = []
        self._running: list[_Sequence] = []
        self._come = asyncio.Event()
        self.asked: list[dict[str, Any]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request and stream its answer."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")
        )
        body = json.loads(await reader.readexactly(length))
        self.asked.append(body)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        tokens = len(body["prompt"])
        cached = min(int(tokens * self._cached), tokens - 1)
        one = _Sequence(left=tokens - cached, context=tokens, wanted=int(body["max_tokens"]), writer=writer)
        self._waiting.append(one)
        self._come.set()
        await one.done.wait()
        usage = {"choices": [], "usage": {"completion_tokens": one.written}}
        writer.write(f"data: {json.dumps(usage)}\n\ndata: [DONE]\n\n".encode())
        await writer.drain()
        writer.close()

    async def run(self) -> None:
        """Take steps for as long as there are requests."""
        table = self._table
        while True:
            if not self._waiting and not self._running:
                self._come.clear()
                await self._come.wait()
            budget = max(table.chunk_tokens - len(self._running), 1)
            added, complete = 0.0, []
            while self._waiting and budget > 0 and len(self._running) + len(complete) < table.most_sequences:
                one = self._waiting[0]
                piece, begun = min(one.left, budget), one.context - one.left
                added += table.prefill[begun + piece] - table.prefill[begun]
                one.left -= piece
                budget -= piece
                if one.left:
                    break
                complete.append(self._waiting.pop(0))
            count = len(self._running)
            mean = sum(one.context + one.written for one in self._running) / count if count else 0.0
            step = table.step_s(count, mean) + added if count else max(added, table.carrying_s)
            await asyncio.sleep(step * self._slower)
            self._running += complete
            for one in self._running:
                one.written += 1
                one.writer.write(b'data: {"choices": [{"text": "x"}]}\n\n')
            for one in [one for one in self._running if one.written >= one.wanted]:
                self._running.remove(one)
                one.done.set()
