"""Work in a forked process: what is loaded already need not be loaded again, and what goes wrong stays there."""

import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass

#: Exit code of work that ended in an exception, whose traceback is on standard error.
EXCEPTION = 99


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a process ended: exit code, or minus the signal; processor seconds; the most bytes of memory it had."""

    code: int
    processor_s: float
    bytes: int


def forked(work: Callable[[], int]) -> int:
    """Start a process that does the work, with no standard output, and exits with its code; return its id."""
    child = os.fork()
    if child == 0:
        code = EXCEPTION
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = work()
        finally:
            # Nothing of the parent's may run in the child.
            if code == EXCEPTION:
                traceback.print_exc()
            os._exit(code)
    return child


def finished(child: int) -> Ended:
    """Wait for a process to end."""
    _, status, used = os.wait4(child, 0)
    return Ended(
        code=os.waitstatus_to_exitcode(status),
        processor_s=used.ru_utime + used.ru_stime,
        bytes=used.ru_maxrss * 1024,
    )
