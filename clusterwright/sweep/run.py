"""Where questions are answered: in this process, in one per core, or on a Dask cluster. The answers are the same."""

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from typing import Any, TypeAlias

from clusterwright import __version__
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.pricing.lake import Reach
from clusterwright.sweep.fronts import answers
from clusterwright.sweep.records import Answer, Question

#: Answers the questions of one batch.
Answered: TypeAlias = Callable[[Sequence[Question]], list[Answer]]
#: Questions of one scenario that are answered and costed together: a query costs 0.1 s, whatever it is asked.
BATCH = 18
#: Fewer batches than this per process are not worth starting one, which takes about a second.
BATCHES_PER_PROCESS = 3
_CONNECT_TIMEOUT_S = 10
Done = Callable[[int], None]


def run(
    questions: Sequence[Question],
    *,
    jobs: int | None = None,
    dask: str | None = None,
    done: Done = lambda _: None,
    reach: Reach | None = None,
) -> list[Answer]:
    """Answer every question and return the answers in the order of the questions.

    Args:
        questions: to be answered.
        jobs: processes; None takes as many as there are cores and questions for, 1 stays in this one.
        dask: address of a Dask scheduler that answers instead, for example `tcp://10.0.0.1:8786`.
        done: called with how many are answered.
        reach: lists object storage; without it prices there cannot be read.

    Raises:
        InputError: no Dask, no scheduler at that address, or workers of another version.
        ClusterwrightError: a process ended before its time.
    """
    answered = partial(answers, reach=reach)
    parts = batches(questions)
    if dask is not None:
        return list(itertools.chain.from_iterable(_on_dask(parts, dask, answered)))
    wanted = processes(len(parts)) if jobs is None else min(jobs, max(len(parts), 1))
    found: list[Answer] = []
    for part in map(answered, parts) if wanted == 1 else _in_processes(parts, wanted, answered):
        found += part
        done(len(found))
    return found


def batches(questions: Sequence[Question]) -> list[list[Question]]:
    """Return the questions in pieces of one scenario each, in their order."""
    return [
        group[start : start + BATCH]
        for _, entries in itertools.groupby(questions, key=lambda question: id(question.scenario))
        for group in [list(entries)]
        for start in range(0, len(group), BATCH)
    ]


def processes(parts: int) -> int:
    """Return how many processes to start: one per core, but none for fewer batches than are worth its start."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, parts // BATCHES_PER_PROCESS))


def _in_processes(parts: Sequence[list[Question]], wanted: int, answered: Answered) -> Iterator[list[Answer]]:
    # Started afresh rather than forked: a fork copies whatever locks other threads hold.
    with ProcessPoolExecutor(max_workers=wanted, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(answered, parts)
        except BrokenProcessPool:
            raise ClusterwrightError(
                "a process of the sweep ended before its time", help="run again with --jobs 1, or with less at once"
            ) from None


def identity() -> tuple[str, str]:
    """Return what must be the same here and on a worker: the program's version and the catalogue's."""
    return __version__, load_catalogue().version


def _on_dask(parts: Sequence[list[Question]], address: str, answered: Answered) -> list[list[Answer]]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError(
            "--dask needs the package distributed", help='install it with: pip install "clusterwright[dask]"'
        ) from None
    try:
        client = distributed.Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r}: {error}", help="for example --dask tcp://10.0.0.1:8786"
        ) from None
    with client:
        _check_workers(client.run(identity, on_error="return"), address)
        found: list[list[Answer]] = client.gather(client.map(answered, list(parts), pure=False))
    return found


def _check_workers(found: dict[str, object], address: str) -> None:
    """Refuse a cluster whose workers would answer otherwise than this program.

    Raises:
        InputError: there is no worker, or one lacks this program or has another version or other facts.
    """
    if not found:
        raise InputError(f"the Dask cluster at {address} has no workers", help="start some with: dask worker ADDRESS")
    for worker, other in sorted(found.items()):
        if isinstance(other, Exception) or other != identity():
            said = f"{type(other).__name__}: {other}" if isinstance(other, Exception) else f"version and facts {other}"
            raise InputError(
                f"the Dask worker {worker} does not have this program ({said}, here {identity()})",
                help="install the same version of clusterwright on every worker",
            )
