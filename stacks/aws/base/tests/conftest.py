"""Assembles the project as its user has it: the program together with its folder of bootstrap scripts."""

import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the program and `node/`."""
    if (HERE / "node" / "bootstrap.sh").exists():
        return HERE
    folder = tmp_path_factory.mktemp("project")
    for path in (*HERE.glob("*.py"), *HERE.glob("Pulumi*.yaml")):
        shutil.copy(path, folder)
    shutil.copytree(HERE.parent.parent / "templates" / "node", folder / "node")
    return folder
