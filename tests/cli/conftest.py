"""Running the command line through its real entry, in this process."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.cli.main import run

SMALL = (Path(__file__).parents[1] / "small.yaml").read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a command ended: exit code, results on stdout, diagnostics on stderr."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs `clusterwright` with arguments and never lets a traceback through."""

    def call(*arguments: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["clusterwright", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        captured = capsys.readouterr()
        code = ended.value.code
        assert "Traceback" not in captured.out + captured.err
        assert code is None or isinstance(code, int)
        return Ended(code=code or 0, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a small blueprint in a folder of its own."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def shipped() -> Path:
    """Return the shipped blueprint."""
    return assets.root() / "blueprints" / "train-gpt3-175b.yaml"
