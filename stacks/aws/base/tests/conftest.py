"""Where the project is, and what its tests' log leaves out."""

import logging
from pathlib import Path

import pytest

# A program that is refused on purpose leaves many futures that nobody awaits, and asyncio writes a traceback of each when
# the tests end. Pulumi's own Python executor turns that log off for the same reason (`pulumi-language-python-exec`).
logging.getLogger("asyncio").setLevel(logging.CRITICAL)


@pytest.fixture(scope="session")
def project() -> Path:
    """The folder that holds the layers."""
    return Path(__file__).resolve().parent.parent
