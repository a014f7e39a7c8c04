"""Run Pulumi programs as the language host does, each in a process of its own that finds the SDKs already loaded.

Standard input: one JSON object a line, `{"folder", "path", "project", "stack", "organization", "monitor", "engine",
"dry_run", "config", "secret_keys", "environment", "said"}`: the program's folder (its working directory), what else is
on Python's path, the names that the engine gives it, the addresses of the engine's two services, and the file that
takes what the program prints and dies of. Standard output: one line `{"code", "reads"}` each.

This process imports the SDKs and forks; the program itself is unmodified and starts in a fresh namespace. Parts of an
SDK that a program has loaded are loaded here before the next one, because that is most of the time a run takes.
"""

import asyncio
import gc
import json
import os
import runpy
import signal
import sys
import traceback
import types
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import Settings, configure, run_in_stack
from pulumi.runtime import config as engine_config

_SDKS = ("pulumi_aws", "pulumi_azure_native", "pulumi_gcp", "pulumi_kubernetes")
_TIMEOUT_S = 300


def _watched() -> list[list[str]]:
    """Note every output that the program asks a stack reference for: the engine never hears which ones it takes."""
    reads: list[list[str]] = []
    names: dict[int, str] = {}
    kind = pulumi.StackReference
    make, get, require, details = kind.__init__, kind.get_output, kind.require_output, kind.get_output_details

    def made(self: Any, name: str, stack_name: str | None = None, opts: Any = None) -> None:  # noqa: ANN401
        names[id(self)] = stack_name if stack_name is not None else name
        make(self, name, stack_name, opts)

    def noted(function: Any) -> Any:  # noqa: ANN401
        def reader(self: Any, name: Any) -> Any:  # noqa: ANN401
            reads.append([names[id(self)], name if isinstance(name, str) else "(a name that is an output)"])
            return function(self, name)

        return reader

    kind.__init__ = made
    kind.get_output, kind.require_output = noted(get), noted(require)
    kind.get_output_details = noted(details)
    return reads


def _run(job: dict[str, Any]) -> int:
    """Run a program to its end and return its exit code; what it dies of is the last thing it prints."""
    os.environ.clear()
    os.environ.update(job["environment"])
    # A program that is edited and run again within a second must not meet its own compiled past.
    sys.dont_write_bytecode = True
    os.chdir(job["folder"])
    sys.path[:0] = [job["folder"], *job["path"]]
    sys.argv = [str(Path(job["folder"]) / "__main__.py")]
    engine_config.set_all_config(job["config"], job["secret_keys"])
    configure(
        Settings(
            project=job["project"],
            stack=job["stack"],
            organization=job["organization"],
            monitor=job["monitor"],
            engine=job["engine"],
            dry_run=job["dry_run"],
            root_directory=job["folder"],
            parallel=32,
        )
    )

    def program() -> None:
        runpy.run_path(sys.argv[0], run_name="__main__")

    try:
        asyncio.new_event_loop().run_until_complete(run_in_stack(program))
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - whatever the program dies of is the result
        if os.environ.get("STACK_TRACEBACK"):
            traceback.print_exc()
        # Pulumi prints its own errors as they are, without a traceback.
        sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
        return 1
    return 0


def _loaded() -> list[str]:
    """Return the parts of the SDKs that are really loaded; a part that nobody touched yet has a lazy module's type."""
    return sorted(
        name
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _SDKS and type(module) is types.ModuleType
    )


def _load(names: list[str]) -> None:
    for name in names:
        __import__(name)
        # Any attribute makes a lazy module load itself.
        getattr(sys.modules[name], "__all__", None)
    gc.collect()
    gc.freeze()


def _fork(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job in a child and return its exit code, what it read, and which parts of the SDKs it needed."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        # A program that hangs ends by this signal.
        signal.alarm(_TIMEOUT_S)
        said = os.open(job["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        # A program ends before its garbage is worth collecting; looking for it took a quarter of a large one's time.
        gc.disable()
        reads = _watched()
        code = _run(job)
        sys.stdout.flush()
        sys.stderr.flush()
        with os.fdopen(writing, "w") as answer:
            json.dump({"reads": reads, "loaded": _loaded()}, answer)
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    return {"code": os.waitstatus_to_exitcode(status), **(json.loads(text) if text else {"reads": [], "loaded": []})}


def main() -> None:
    """Run the jobs of standard input, one after the other."""
    known: set[str] = set()
    for line in sys.stdin:
        done = _fork(json.loads(line))
        loaded = done.pop("loaded")
        sys.stdout.write(json.dumps(done) + "\n")
        sys.stdout.flush()
        if new := [name for name in loaded if name not in known]:
            known.update(new)
            _load(new)


if __name__ == "__main__":
    main()
