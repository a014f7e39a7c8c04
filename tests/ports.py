"""Ports of this machine that a test hands to a program, which listens on them later."""

import random
import socket
from contextlib import suppress

#: Below those that the kernel gives to whoever asks for any (32768 and above on Linux): one of these, found free, was
#: taken by another test's connection before the program came to listen.
_PORTS = range(20_000, 32_000)


def free_port() -> int:
    """Return a port that nothing listens on, and that the kernel gives to nobody."""
    while True:
        port = random.SystemRandom().choice(_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
