"""Serve the stand-in providers and the stand-in language host for every run of the engine that a test makes.

Argument: the folder of the stand-in account. Standard output: one line, the ports as a JSON object `{"provider",
"language"}`. The engine attaches by PULUMI_DEBUG_PROVIDERS and PULUMI_DEBUG_LANGUAGES instead of starting a plugin for
each of its runs, which would load the SDKs every time. Serves until standard input ends.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from language_host import LanguageHost
from provider import served
from pulumi.runtime.proto import language_pb2_grpc

_MESSAGE_BYTES = 64 * 2**20


def main() -> None:
    """Serve until whoever started this is gone."""
    _provider, provider_port = served(Path(sys.argv[1]))
    options = [("grpc.max_receive_message_length", _MESSAGE_BYTES), ("grpc.max_send_message_length", _MESSAGE_BYTES)]
    host = grpc.server(ThreadPoolExecutor(16), options=options)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(LanguageHost(), host)
    language_port = host.add_insecure_port("127.0.0.1:0")
    host.start()
    sys.stdout.write(json.dumps({"provider": provider_port, "language": language_port}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
