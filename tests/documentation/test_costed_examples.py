"""The gallery's blueprints: each can be planned and compared, and the page has figures and a picture of each."""

import re
import xml.etree.ElementTree as ET

import pytest
from typer.testing import CliRunner

from clusterwright import assets
from clusterwright.cli.main import app
from clusterwright.documentation.costed_examples import EXAMPLES

_REFERENCE = assets.root() / "docs" / "reference"
_BLUEPRINTS = assets.root() / "blueprints"
_SHARED = "train-then-serve"


def _section(title: str) -> str:
    """Return what the page says of an example."""
    text = (_REFERENCE / "examples.md").read_text(encoding="utf-8")
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_has_its_answer_figures_and_picture(name: str) -> None:
    """Each section has a sentence with an amount, at least three figures, and a picture that is a drawing with bars."""
    section = _section(EXAMPLES[name])
    assert re.search(r"^- .*\$[\d.,]+", section, re.M)
    assert len(re.findall(r"^\| (?!Figure)[A-Z0-9]", section, re.M)) >= 3
    picture = re.search(r"\]\((\S+\.svg)\)", section)
    assert picture is not None
    root = ET.fromstring((_REFERENCE / picture[1]).read_text(encoding="utf-8"))  # noqa: S314 - our own file
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) > 2


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {_SHARED}))
def test_an_example_can_be_compared(name: str) -> None:
    """`compare` ranks the ways to do the work and ends well."""
    result = CliRunner().invoke(app, ["compare", str(_BLUEPRINTS / f"{name}.yaml"), "--csv"])
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) > 1


def test_the_gallery_has_every_kind_of_hardware_that_it_names() -> None:
    """TPU, MI300X, B200 and what is bought are in answers, not in titles alone."""
    text = (_REFERENCE / "examples.md").read_text(encoding="utf-8")
    for words in ("TPU v5p)", "MI300X 192 GB)", "× dgx-b200", "buy "):
        assert words in text
