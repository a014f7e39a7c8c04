"""Processes that answer: each holds the facts, does one thing at a time, and is ended when that takes too long.

A thread cannot be ended while it computes, a process can; and two of them use two cores.
"""

import asyncio
import gc
import multiprocessing
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from clusterwright import assets
from clusterwright.web.operations import FIRST, Desk, Reply, done
from clusterwright.web.refusal import BUSY, FAULT, TIMEOUT, LostError, RefusalError

#: A worker makes records and keeps them: cycles are looked for seldom.
_GENERATION = 50_000
_POLL_S = 0.005
_START_S = 60.0
#: Requests that wait for each worker; one more is asked to come back.
_WAITING = 16


def work(pipe: Connection) -> None:
    """Answer what comes through a pipe until it closes; this is what a worker's process runs."""
    from clusterwright.plan.facts import Facts  # noqa: PLC0415 - loaded where facts are opened

    gc.set_threshold(_GENERATION)
    desk = Desk(facts=Facts.open())
    # What most requests need is loaded before the first of them, and the page's own first question is answered.
    with suppress(RefusalError):
        done(desk, "answer", {"blueprint": (assets.root() / "blueprints" / f"{FIRST['train']}.yaml").read_text()})
    pipe.send(None)
    while True:
        try:
            operation, asked = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            pipe.send(done(desk, operation, asked))
        except RefusalError as error:
            pipe.send(error)


class Worker:
    """One process, and the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(target=work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    async def do(self, operation: str, asked: Mapping[str, Any], *, limit_s: float) -> Reply:
        """Return what the process answers.

        Raises:
            RefusalError: it refused, took longer than the limit, or ended.
        """
        if not self._ready:
            await self._received(_START_S)
            self._ready = True
        self._pipe.send((operation, dict(asked)))
        got = await self._received(limit_s)
        if isinstance(got, RefusalError):
            raise got
        assert isinstance(got, Reply)  # noqa: S101 - what `work` sends
        return got

    async def _received(self, limit_s: float) -> object:
        end = time.monotonic() + limit_s
        while not self._pipe.poll():
            if not self._process.is_alive() and not self._pipe.poll():
                raise LostError(FAULT, "the process that answered has ended", help="try again")
            if time.monotonic() > end:
                message = f"the answer took longer than {limit_s:g} s"
                raise LostError(TIMEOUT, message, help="ask for fewer targets or less hardware")
            await asyncio.sleep(_POLL_S)
        try:
            received: object = self._pipe.recv()
        except (EOFError, OSError):
            raise LostError(FAULT, "the process that answered has ended", help="try again") from None
        return received

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


class Workers:
    """As many workers as were asked for; requests wait for a free one, replaced where it had to be ended."""

    def __init__(self, count: int, *, limit_s: float) -> None:
        self._limit_s = limit_s
        self._free: asyncio.Queue[Worker] = asyncio.Queue()
        self._all: list[Worker] = []
        self._waiting, self._most = 0, count * _WAITING
        for _ in range(count):
            self._add()

    def _add(self) -> None:
        worker = Worker()
        self._all.append(worker)
        self._free.put_nowait(worker)

    async def do(self, operation: str, asked: Mapping[str, Any]) -> Reply:
        """Return the reply of an operation, done by the next free worker.

        Raises:
            RefusalError: as `Worker.do`, or too many requests wait.
        """
        if self._waiting >= self._most:
            raise RefusalError(BUSY, "too many requests wait for an answer", help="try again in some seconds")
        self._waiting += 1
        try:
            worker = await self._free.get()
        finally:
            self._waiting -= 1
        whole = False
        try:
            reply = await worker.do(operation, asked, limit_s=self._limit_s)
            whole = True
        except RefusalError as error:
            whole = not isinstance(error, LostError)
            raise
        finally:
            # A request that was given up leaves a worker that still computes.
            if whole:
                self._free.put_nowait(worker)
            else:
                worker.end()
                self._all.remove(worker)
                self._add()
        return reply

    def end(self) -> None:
        """End every worker."""
        for worker in self._all:
            worker.end()
        self._all.clear()
