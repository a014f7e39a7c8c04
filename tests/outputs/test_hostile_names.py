"""Hostile descriptions, names of parts, vendors and files: every written file is parsed, and none obeys them."""

import csv
import html.parser
import io
import json
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import openpyxl
import pytest
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.parts_file import read_parts
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.planning import planned
from clusterwright.errors import ClusterwrightError
from clusterwright.outputs.deliverables import everything
from clusterwright.outputs.folder import File
from clusterwright.plan.text.money import USD

HOSTILE = (
    "EVIL<script>x</script>|`a`$(id) [l](http://evil) <img src=x> *b* __c__ =cmd() {{7*7}} ${HOME} @all www.evil.com"
    " '\" \\"
)
BLUEPRINT = """\
name: small
description: {description}
workload: {{kind: train, model: llama-2-7b, tokens: 100e9, sequence_length: 2048, global_batch: 512}}
targets:
  aws: {{instance: p5.48xlarge, region: us-east-1, max_nodes: 8}}
  onprem: {{system: our-hgx, max_nodes: 8, parts: "own |`x`<b>.csv"}}
"""
#: Parts of the bill of such a cluster, whose names the user may replace.
PARTS = (
    "qm9700",
    "sn4600c",
    "sn2201",
    "cat6-copper",
    "mfp7e10",
    "management-server",
    "vast-df-3015v2",
    "vast-cbox-gen6",
    "ufm-enterprise-appliance",
    "legrand-nvidpd13",
)
HEADER = ("part", "like", "name", "power_max_w", "height_u", "weight_kg", "price_usd", "priced_on", "note")


def table(*rows: tuple[str, ...]) -> str:
    """Return a CSV table."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, File]:
    """Everything that is written for a cluster whose owner is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    ours = ("our-hgx", "dgx-h100", HOSTILE, "9800", "6", "", "280000", "2026-10-02", HOSTILE)
    others = [(part, "", HOSTILE, "", "", "", "4.5", "2026-10-02", HOSTILE) for part in PARTS]
    (folder / "own |`x`<b>.csv").write_text(table(HEADER, ours, *others))
    blueprint = folder / "a |`x`<b>.yaml"
    blueprint.write_text(BLUEPRINT.format(description=json.dumps(f"{HOSTILE}\n## heading")))
    quotes = folder / "q |`x`<b>.csv"
    columns = ("line", "part", "quantity", "unit", "quote_unit_price", "quote_currency", "quote_vendor", "quoted_on")
    quotes.write_text(table(columns, ("1", "our-hgx", "1", "each", "300000", "USD", HOSTILE, "2026-10-01")))
    made = planned(blueprint, None, "all", quotes)
    return everything(made.plan, made.facts, money=USD)


def named(files: Mapping[str, File], *endings: str) -> dict[str, str]:
    """Return the texts of files by how their names end."""
    return {name: file.content.decode() for name, file in files.items() if name.endswith(endings)}


def test_markdown_shows_the_words(files: Mapping[str, File]) -> None:
    """Rendered, no page has an element, link, code or heading of theirs, and each line of a table as many cells."""
    carrying = 0
    for name, text in named(files, ".md").items():
        shown = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").render(text)
        carrying += "EVIL" in shown
        for mark in ("<script", "<img", "<code>a</code>", 'href="http://evil', "<em>b", "<strong>c", "<b>"):
            assert mark not in shown, (name, mark)
        assert not any(line.startswith("## heading") for line in text.splitlines()), name
    assert carrying >= 5


class _Elements(html.parser.HTMLParser):
    """Names of elements and of attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element."""
        self.found.append((tag, dict(attrs)))


def test_pages_have_no_element_of_theirs(files: Mapping[str, File]) -> None:
    """The report has no image and no script but its own; drawings are XML without any."""
    for name, text in named(files, ".html").items():
        page = _Elements()
        page.feed(text)
        assert ("img", {"src": "x"}) not in page.found, name
        assert "EVIL<" not in text, name
    drawings = named(files, ".svg")
    assert any("EVIL" in text for text in drawings.values())
    for name, text in drawings.items():
        kinds = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}  # noqa: S314 - ours
        assert not kinds & {"script", "img", "image", "foreignObject"}, name


def test_spreadsheets_calculate_nothing_of_theirs(files: Mapping[str, File]) -> None:
    """No cell of a CSV file is one that may be run; no formula of a workbook holds their words."""
    tables = named(files, ".csv")
    assert any("EVIL" in text for text in tables.values())
    for name, text in tables.items():
        for row in csv.reader(io.StringIO(text, newline=""), strict=True):
            for cell in row:
                assert not cell.startswith(("=", "@", "\t", "\r")), (name, cell)
                assert not cell.startswith(("+", "-")) or cell.replace(".", "").strip("+-e").isdigit(), (name, cell)
    for name, file in files.items():
        if not name.endswith(".xlsx"):
            continue
        for sheet in openpyxl.load_workbook(io.BytesIO(file.content)).worksheets:
            for cells in sheet.iter_rows():
                for one in cells:
                    assert one.data_type != "f" or "EVIL" not in str(one.value), (name, one.coordinate)
                    assert one.hyperlink is None or "evil" not in str(one.hyperlink.target), (name, one.coordinate)


def test_documents_hold_them_as_text(files: Mapping[str, File]) -> None:
    """YAML and JSON parse, and hold the words as the texts that they are."""
    for text in named(files, ".json").values():
        json.loads(text)
    held = []
    for name, text in named(files, ".yaml", ".yml").items():
        if "EVIL" in text and "{{" not in name:
            document = YAML(typ="safe", pure=True).load(text)
            held.append(document.get("model"))
    assert HOSTILE in held


def test_programs_never_hold_them(files: Mapping[str, File]) -> None:
    """No script, program or configuration of Slurm has any of their words."""
    programs = named(files, ".sh", ".py", ".sbatch", ".conf", ".env", ".toml", ".dot", ".ibnetdiscover", ".sql")
    assert len(programs) > 20
    assert not [name for name, text in programs.items() if "EVIL" in text]


@pytest.mark.parametrize("text", ["a\u202eb", "a\x1b[2Jb", "a\x00b"])
def test_what_turns_or_controls_is_refused(tmp_path: Path, text: str) -> None:
    """Control characters and marks of direction come neither through a description nor through the name of a part."""
    blueprint = tmp_path / "blueprint.yaml"
    blueprint.write_text(BLUEPRINT.format(description=json.dumps(text)))
    with pytest.raises(ClusterwrightError):
        load(blueprint)
    parts = tmp_path / "parts.csv"
    parts.write_text(table(HEADER, ("our-hgx", "dgx-h100", text, "9800", "6", "", "", "", "")))
    with pytest.raises(ClusterwrightError):
        read_parts(parts, load_catalogue())
