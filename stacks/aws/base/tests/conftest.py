"""Where the project is."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def project() -> Path:
    """The folder that holds the layers."""
    return Path(__file__).resolve().parent.parent
