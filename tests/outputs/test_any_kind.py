"""A kind of workload without parts of its own gets every deliverable, in which nothing is of training."""

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace

import openpyxl
import pytest
from ruamel.yaml import YAML

from clusterwright.outputs.deliverables import cloud_files, everything, onprem_files
from clusterwright.outputs.exports.formats import export_text
from clusterwright.outputs.folder import File
from clusterwright.outputs.kinds import KINDS
from clusterwright.outputs.project.configuration import LAYERS
from clusterwright.outputs.report.comparison import comparison_markdown
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.plan.training.record import TrainingPlan
from tests.opened import target_files
from tests.plan.drawing import plan_of_images

_OF_TRAINING = re.compile(r"(?i)\b(?:train\w*(?!-cost)|mfu|steps?|megatron\w*)\b|_step\b")
#: The same without words that programs have too; Trainium is a product, and links and slots train when they come up.
WORD_OF_TRAINING = re.compile(
    r"(?i)(?<![a-z])(?<!links )(?<!slot that )(?:train(?!ium|ed their links)[a-z]*|mfu\b|megatron[a-z]*)"
)
#: A run as the unit of work, not as a program's.
_RUN = re.compile(r"(?i)\b(?:this|a|an|one|the|per|each|such|of) runs?\b|\d runs?\b|\bruns of\b")
FACTS = Facts.open()


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan of images on AWS and on premises."""
    return plan_of_images(most_days=0.7)


@pytest.fixture(scope="module")
def files(plan: Plan) -> dict[str, File]:
    """All that `build` writes for it."""
    return everything(plan, FACTS, money=USD)


def _read(plan: Plan, text: str) -> str:
    """Return a text without the reasons of assumptions, which say what work they were measured with."""
    for fact in filter(None, (told for entry in plan.parameters for told in (entry.reason, entry.source))):
        text = text.replace(fact, "")
    return text.replace("economics.runs", "")


def _shown(page: str) -> str:
    """Return the words of a page of HTML, those of its drawings too."""
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(style|script)[^>]*>.*?</\1>", "", page)))


def _cells(workbook: File) -> Iterator[str]:
    """Yield names and texts of all sheets."""
    for sheet in openpyxl.load_workbook(io.BytesIO(workbook.content)):
        yield sheet.title
        yield from (cell.value for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str))


def test_the_report_has_every_common_section_and_calls_the_unit_an_image(plan: Plan, files: dict[str, File]) -> None:
    """Comparison, own or rent, how sure, cash, tax, prices and cluster stand in it; an image is what it counts."""
    page = files["tco/report.html"].content.decode()
    shown = _read(plan, _shown(page))
    assert all(f'id="{name}"' in page for name in ("compare", "breakeven", "sure", "cash", "prices", "cluster", "not"))
    assert 'aria-label="Cost of this image"' in page
    assert all(words in shown for words in ("Share of an image", "One image, cash", "decoding", "1,752 images"))
    assert "PFLOP" not in shown
    assert "Million tokens" not in shown
    assert _OF_TRAINING.findall(shown) == []
    assert _RUN.findall(shown) == []


def test_the_workbook_counts_images_and_has_no_column_of_what_they_lack(plan: Plan, files: dict[str, File]) -> None:
    """Its sheets say image, have no cost of tokens or FLOPs, and its own checks of all formulas are all zero."""
    cells = [_read(plan, cell) for cell in _cells(files["tco/tco.xlsx"])]
    titles = {cell for cell in cells if not cell.startswith("=")}
    assert {
        "this image, USD",
        "share of an image, USD",
        "days of an image",
        "an image in cash or its share, USD",
    } <= titles
    assert {"Summary", "Ranking", "Unit costs", "Inputs", "Checks"} <= titles
    assert not any("token" in cell or "PFLOP" in cell for cell in titles)
    assert _OF_TRAINING.findall("\n".join(cells)) == []
    assert _RUN.findall("\n".join(titles)) == []
    checks = openpyxl.load_workbook(io.BytesIO(files["tco/tco.xlsx"].content), data_only=True)["Checks"]
    results = [cell.value for (cell,) in checks.iter_rows(min_row=5, min_col=3, max_col=3) if cell.value]
    assert len(results) > 100
    assert set(results) - {"result"} == {"OK"}


def test_the_readme_of_the_build_says_what_the_kind_says(plan: Plan, files: dict[str, File]) -> None:
    """Its decision is for this image, its reasons are the engine's limits, and no launch files are named."""
    text = _read(plan, files["README.md"].content.decode())
    assert "For this image: rent" in text
    assert "limited by decoding" in text
    assert "launch" not in text
    assert _OF_TRAINING.findall(text) == []
    assert _RUN.findall(text) == []
    markdown = _read(plan, comparison_markdown(plan, USD))
    assert _OF_TRAINING.findall(markdown) + _RUN.findall(markdown) == []


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_a_cloud_gets_its_stack_without_launch_files(plan: Plan, scheduler: str) -> None:
    """The project has all its layers; what of it speaks of the workload speaks of images, and nothing starts a job."""
    written = cloud_files(
        plan,
        replace(plan.options[0], deployment=replace(plan.options[0].deployment, scheduler=scheduler)),
        FACTS.catalogue,
        USD,
    )
    texts = {name: file.content.decode() for name, file in written.items()}
    assert {f"{layer}/Pulumi.yaml" for layer in LAYERS} <= set(texts)
    assert not any(name.startswith("launch/") for name in texts)
    values = [text for name, text in texts.items() if re.fullmatch(r"\w+/Pulumi\.(?!yaml|example).+\.yaml", name)]
    # After the checks come the pages of the stacks, which are the same for every plan.
    ours, _, _ = texts["README.md"].partition("## Checks")
    assert len(values) == len(LAYERS)
    assert "One image takes" in ours
    assert "Limited by decoding." in ours
    assert "Run the job" not in ours
    for text in (ours, *values):
        assert _OF_TRAINING.findall(text) + _RUN.findall(text) == [], text


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_no_file_of_the_whole_build_speaks_of_training(plan: Plan, files: dict[str, File], scheduler: str) -> None:
    """Names and texts of projects, documents, report and workbook hold no word of training, whatever the scheduler."""
    written = dict(files)
    for option in plan.options:
        chosen = replace(option, deployment=replace(option.deployment, scheduler=scheduler))
        parts = target_files(plan, chosen, FACTS.catalogue)
        written |= {f"{option.target}-{scheduler}/{name}": file for name, file in parts.items()}
    named = {name: file.content.decode("utf-8", "ignore") for name, file in written.items()}
    named["tco/tco.xlsx"] = "\n".join(_cells(written["tco/tco.xlsx"]))
    # The settings of jobs are of the blueprint, which has one section for all kinds.
    named["plan.json"] = named["plan.json"].replace('"megatron": "/shared/Megatron-LM"', "")
    spoken = {name: WORD_OF_TRAINING.findall(name + text) for name, text in named.items()}
    assert {name: words for name, words in spoken.items() if words} == {}
    assert len(named) > 150


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_a_cluster_on_premises_is_written_for_any_kind(plan: Plan, scheduler: str) -> None:
    """Design, acceptance test and the scheduler's files are there, and none that start a job."""
    option = replace(plan.options[1], deployment=replace(plan.options[1].deployment, scheduler=scheduler))
    written = {
        name: file.content.decode("utf-8", "replace")
        for name, file in onprem_files(plan, option, FACTS.catalogue).items()
    }
    started = {"launch/", "kubernetes/jobs/train", "kubernetes/jobs/submit"}
    assert {"bill_of_materials.csv", "racks.csv", "cables.csv", "acceptance.md"} <= set(written)
    assert ("slurm.conf" if scheduler == "slurm" else "kubernetes/queues.yaml") in written
    assert not any(name.startswith(tuple(started)) for name in written)
    assert "submit" not in written["acceptance.md"]
    if scheduler == "slurm":
        assert f"`srun -N {option.cluster.nodes} --gres=gpu:8 hostname`" in written["acceptance.md"]
        assert "| `jobs.md` | what jobs need on the machines |" in written["README.md"]


def test_other_tools_get_the_cluster_and_a_task_without_a_command(plan: Plan) -> None:
    """A task of SkyPilot has the nodes and says that its command is to be written; it ends with an error until then."""
    text = export_text(plan, plan.options[0], FACTS.catalogue, "skypilot")
    task = YAML(typ="safe").load(text)
    assert task["num_nodes"] == plan.options[0].cluster.nodes
    assert "exit 2" in task["run"]
    assert "envs" not in task
    for told in (text, export_text(plan, plan.options[0], FACTS.catalogue, "parallelcluster")):
        assert _OF_TRAINING.findall(told) + _RUN.findall(told) == []


def test_the_plans_of_every_kind_have_charges_by_month(files: dict[str, File]) -> None:
    """FOCUS rows and the plan's own document are written, whatever the work is."""
    rows = list(csv.DictReader(io.StringIO(files["tco/focus.csv"].content.decode())))
    assert {row["x_Plan"] for row in rows} == {"pictures"}
    assert json.loads(files["plan.json"].content)["workload"]["kind"] == "draw"


def test_training_has_its_parts_by_its_entry_alone(plan: Plan, shipped_plan: TrainingPlan) -> None:
    """What only training has is in the table of kinds; a plan of images asks for none of it."""
    assert "draw" not in KINDS
    trains = KINDS[shipped_plan.workload.kind]
    assert trains.arrangement(shipped_plan.options[0]).startswith("TP ")
    assert trains.terms[0][0].startswith("MFU")
