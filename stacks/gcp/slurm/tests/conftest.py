"""The project folder that the tests look at."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def project() -> Path:
    """The folder of the whole project: layers, package and boot scripts."""
    return Path(__file__).resolve().parent.parent
