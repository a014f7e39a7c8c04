"""Program that starts another one with the rights of a trial: it writes to its own folder, and reads no home folder.

Started as `python -I confinement.py FOLDER PROGRAM ARGUMENTS...`, by an interpreter that has nothing but its standard
library. The kernel keeps the confinement (Landlock, Linux 6.2 and newer) for whatever the program starts in its turn:
files are written, made, moved and removed in FOLDER only, and read there and in the folders of the system; where the
kernel knows how (6.7 and newer), no TCP connection is made or taken. Time of the processor, the size of a file and the
number of processes are limited. Where that cannot be had, PROGRAM is not started and the exit status is `UNAVAILABLE`.
"""

import contextlib
import ctypes
import os
import resource
import struct
import sys

UNAVAILABLE = 125
#: System calls have these numbers on every architecture; the headers are <linux/landlock.h> and <linux/prctl.h>.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
#: Everything that the version with truncation knows of files; requests to devices came later.
_EVERYTHING = (1 << 15) - 1
_TRUNCATES, _KNOWS_TCP = 3, 4
_TCP = 0b11
#: Of the system: programs, their libraries and what those read.
_READABLE = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix/store", "/dev")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
#: Bytes of a file, seconds of the processor of one process, and processes of the user.
_LIMITS = (
    (resource.RLIMIT_FSIZE, 50_000_000),
    (resource.RLIMIT_CPU, 60),
    (resource.RLIMIT_NPROC, 4096),
    (resource.RLIMIT_CORE, 0),
)


class UnavailableError(Exception):
    """The kernel cannot confine a program."""


def confine(folder: str) -> None:
    """Confine this process and whatever it starts.

    Args:
        folder: that may be written to.

    Raises:
        UnavailableError: where the kernel does not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION))
    if version < _TRUNCATES:
        message = f"Landlock has version {version}"
        raise UnavailableError(message)
    handled = struct.pack("=QQ", _EVERYTHING, _TCP if version >= _KNOWS_TCP else 0)
    size = len(handled) if version >= _KNOWS_TCP else struct.calcsize("=Q")
    rules = libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(size), ctypes.c_uint(0))
    if rules < 0:
        message = "no rules of Landlock could be made"
        raise UnavailableError(message)
    for path, rights in (
        (folder, _EVERYTHING),
        *((path, _READ) for path in (*_READABLE, sys.prefix, sys.base_prefix)),
        *((path, _READ_FILE | _WRITE_FILE) for path in _DEVICES),
    ):
        _allow(libc, rules, path, rights)
    for limit, wanted in _LIMITS:
        _, most = resource.getrlimit(limit)
        least = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(limit, (least, least))
    if libc.prctl(_NO_NEW_PRIVILEGES, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0))) != 0 or (
        libc.syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0)) != 0
    ):
        message = "the process could not be restricted"
        raise UnavailableError(message)
    os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    """Allow something of a path and of what is below it; a path that is not there needs no rule."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = struct.pack("=Qi", rights, opened)
            libc.syscall(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
        finally:
            os.close(opened)


def main(folder: str, program: str, *arguments: str) -> None:
    """Start a program in a folder that it may write to."""
    try:
        confine(folder)
    except (UnavailableError, OSError, ValueError) as error:
        sys.stderr.write(f"not confined: {error}\n")
        sys.exit(UNAVAILABLE)
    os.execv(program, (program, *arguments))  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main(*sys.argv[1:])
