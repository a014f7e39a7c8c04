"""Assemble the project as `clusterwright stack` does, and run it for several clusters."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recording import PROJECT, Program, changed, node_folder, run_program


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the program with the bootstrap scripts beside it."""
    folder = tmp_path_factory.mktemp("azure")
    for path in PROJECT.glob("*.py"):
        shutil.copy(path, folder)
    shutil.copytree(node_folder(), folder / "node")
    return folder


@pytest.fixture(scope="session")
def run(project: Path) -> Callable[..., Program]:
    """Return a function that runs the example with changes, once for equal changes."""
    done: dict[str, Program] = {}

    def cached(**changes: Any) -> Program:
        key = repr(sorted(changes.items()))
        if key not in done:
            done[key] = run_program(project, changed(**changes))
        return done[key]

    return cached
