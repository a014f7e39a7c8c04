"""Faults put into a copy of the catalogue: each is found, with its file and line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.errors import ClusterwrightError

Damage = Callable[[str, str, str], str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the shipped catalogue that a test may damage."""
    copy = tmp_path / "catalog"
    shutil.copytree(assets.root() / "catalog", copy)
    return copy


@pytest.fixture
def damaged(folder: Path) -> Damage:
    """Return a function that replaces a text in a file (or appends, if `old` is empty) and returns the error."""

    def damage(file: str, old: str, new: str) -> str:
        path = folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text, "the fault could not be put in: the shipped file has changed"
        path.write_text(text.replace(old, new, 1) if old else text + new, encoding="utf-8")
        with pytest.raises(ClusterwrightError) as caught:
            load(folder)
        assert caught.value.help
        return caught.value.message

    return damage


BF16 = 'h100-sxm-80gb,dense_bf16_flop_per_s,989.4,TFLOP/s,nvidia-h100-architecture,"table 2, SXM5",chosen,'


def test_an_undamaged_copy_loads(folder: Path) -> None:
    """The copy itself has no fault and is the same catalogue."""
    assert load(folder).version == load().version


def test_a_second_chosen_claim(damaged: Damage) -> None:
    """Two chosen claims for one fact are a fault."""
    message = damaged("accelerators.csv", "", "h100-sxm-80gb,power_w,650,W,from-memory,,chosen,\n")
    assert "2 claims are chosen for power_w of h100-sxm-80gb" in message
    assert "accelerators.csv:" in message


def test_no_chosen_claim(damaged: Damage) -> None:
    """A fact with rejected claims only is a fault."""
    message = damaged("accelerators.csv", BF16, BF16.replace("chosen,", "rejected,not so"))
    assert "no claim is chosen for dense_bf16_flop_per_s of h100-sxm-80gb" in message


def test_a_unit_of_another_kind(damaged: Damage) -> None:
    """A bandwidth where the field's name promises FLOP/s is a fault."""
    message = damaged("accelerators.csv", BF16, BF16.replace("TFLOP/s", "GB/s"))
    assert "'GB/s' is a unit of bandwidth, not of FLOP rate" in message


def test_a_missing_unit(damaged: Damage) -> None:
    """A quantity without a unit is a fault."""
    assert "has no unit" in damaged("accelerators.csv", BF16, BF16.replace("TFLOP/s", ""))


def test_a_slip_of_a_prefix(damaged: Damage) -> None:
    """A peak of 989 GFLOP/s passes the unit check but not the order of the rates."""
    message = damaged("accelerators.csv", BF16, BF16.replace("TFLOP/s", "GFLOP/s"))
    assert "the dense tf32 peak of h100-sxm-80gb is above the bf16 one" in message


def test_an_impossible_value(damaged: Damage) -> None:
    """A value outside the bounds of its kind is a fault."""
    message = damaged("accelerators.csv", BF16, BF16.replace("989.4,TFLOP/s", "9894,EFLOP/s"))
    assert "outside" in message


def test_a_sparse_figure_taken_for_a_dense_one(damaged: Damage) -> None:
    """A dense peak at the sparse figure is a fault."""
    message = damaged("accelerators.csv", BF16, BF16.replace("989.4", "1978.9"))
    assert "the sparse bf16 peak of h100-sxm-80gb is not above the dense one" in message


def test_an_unknown_source(damaged: Damage) -> None:
    """A claim from a document that is not listed is a fault."""
    message = damaged("accelerators.csv", BF16, BF16.replace("nvidia-h100-architecture", "hearsay"))
    assert "source 'hearsay' is not in sources.csv" in message


def test_an_unknown_source_of_a_row(damaged: Damage) -> None:
    """A row of a wide table from a document that is not listed is a fault."""
    assert "source 'hearsay'" in damaged("switches.csv", "nvidia-qm97x0-manual", "hearsay")


def test_a_row_without_a_source(damaged: Damage) -> None:
    """A row of a wide table without a source is a fault."""
    assert "qm9700 has no source" in damaged("switches.csv", "nvidia-qm97x0-manual", "")


def test_an_unknown_attribute(damaged: Damage) -> None:
    """A claim about a field that the record does not have is a fault."""
    message = damaged("accelerators.csv", "h100-sxm-80gb,power_w", "h100-sxm-80gb,tdp_w")
    assert "Accelerator has no attribute 'tdp_w'" in message


def test_an_unknown_entity(damaged: Damage) -> None:
    """A claim about an accelerator without a name is a fault."""
    message = damaged("accelerators.csv", "h100-sxm-80gb,power_w", "h101-sxm-80gb,power_w")
    assert "'h101-sxm-80gb' is not in accelerator_names.csv" in message


def test_an_instance_with_an_unknown_accelerator(damaged: Damage) -> None:
    """An instance must name an accelerator that exists."""
    message = damaged("instances.csv", "p5.48xlarge,aws,h100-sxm-80gb", "p5.48xlarge,aws,h100")
    assert "accelerator 'h100' of p5.48xlarge is not in accelerators.csv" in message


def test_an_id_used_twice(damaged: Damage) -> None:
    """An id names one thing, whatever its kind."""
    message = damaged("switches.csv", "qm9790,", "qm9700,")
    assert "id 'qm9700' is already used at switches.csv:2" in message


def test_a_rejected_claim_without_a_reason(damaged: Damage) -> None:
    """A rejected claim must say why."""
    message = damaged("accelerators.csv", "", "h100-sxm-80gb,power_w,650,W,from-memory,,rejected,\n")
    assert "needs its reason" in message


def test_the_same_claim_twice(damaged: Damage) -> None:
    """A line that stands twice is a fault."""
    line = "h100-sxm-80gb,power_w,650,W,from-memory,,rejected,a test of the audits\n"
    assert "the same claim stands at" in damaged("accelerators.csv", "", line + line)


def test_an_unknown_status(damaged: Damage) -> None:
    """A claim is chosen or rejected and nothing else."""
    message = damaged("accelerators.csv", BF16, BF16.replace("chosen", "maybe"))
    assert "status 'maybe' is neither chosen nor rejected" in message


def test_a_dispute_that_the_record_contradicts(damaged: Damage) -> None:
    """The chosen claim about a cell must say what the cell says."""
    message = damaged("disputes.csv", "qm9700,ports,64", "qm9700,ports,66")
    assert "the chosen claim says 66, qm9700's record says 64" in message


def test_a_row_with_a_missing_cell(damaged: Damage) -> None:
    """A line with fewer cells than the header is a fault, with its line."""
    assert "aliases.csv: line " in damaged("aliases.csv", "", "H100 again\n")


def test_a_required_field_that_is_empty(damaged: Damage) -> None:
    """A model without layers is a fault."""
    message = damaged(
        "models.csv", "174604259328,174604259328,175000000000,96,", "174604259328,174604259328,175000000000,,"
    )
    assert "Model without layers" in message


def test_a_word_where_a_number_belongs(damaged: Damage) -> None:
    """A count that is not a number is a fault, with its line."""
    message = damaged("switches.csv", "infiniband,64", "infiniband,many")
    assert "switches.csv:2: ports: 'many' is not a plain number" in message


def test_a_yes_that_is_not_one(damaged: Damage) -> None:
    """Truth is written yes or no."""
    assert "is neither yes nor no" in damaged("models.csv", ",no,50257,yes", ",no,50257,true")


def test_an_alias_of_nothing(damaged: Damage) -> None:
    """An alias must mean something that exists, and only one thing."""
    assert "'h101' is not the id of anything" in damaged("aliases.csv", "", "H101,h101\n")


def test_an_alias_that_is_taken(damaged: Damage) -> None:
    """An alias means one thing."""
    assert "'H100' already names something" in damaged("aliases.csv", "", "H100,h100-sxm-80gb\n")


def test_a_source_of_unknown_confidence(damaged: Damage) -> None:
    """Confidence is high, medium or low."""
    message = damaged("sources.csv", "", "a-blog,A blog,example.org,2026,sure\n")
    assert "confidence 'sure' is none of high, medium, low" in message


def test_an_attribute_that_stands_in_the_index_too(damaged: Damage) -> None:
    """A fact has one place: the index of names or the claims."""
    message = damaged("accelerators.csv", "", "h100-sxm-80gb,form,sxm,,from-memory,,chosen,\n")
    assert "stands in accelerator_names.csv too" in message


def test_all_faults_are_listed_at_once(folder: Path) -> None:
    """Two faults in two files are both in the message."""
    for file, line in (("aliases.csv", "H101,h101\n"), ("sources.csv", "a-blog,A blog,example.org,2026,sure\n")):
        path = folder / file
        path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")
    with pytest.raises(ClusterwrightError, match="2 faults"):
        load(folder)


def test_a_missing_file(folder: Path) -> None:
    """A file that is not there is named."""
    (folder / "systems.csv").unlink()
    with pytest.raises(ClusterwrightError, match=r"cannot read the catalogue's file .*systems\.csv"):
        load(folder)


def test_the_version_follows_every_byte(folder: Path) -> None:
    """A changed note changes the version, so that a plan names exactly its facts."""
    path = folder / "topics.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("misspelled", "misspelt"), encoding="utf-8")
    assert load(folder).version != load().version


def test_an_instance_without_accelerators(damaged: Damage) -> None:
    """An instance of this catalogue has at least one accelerator."""
    message = damaged("instances.csv", "p5.4xlarge,aws,h100-sxm-80gb,1,", "p5.4xlarge,aws,h100-sxm-80gb,0,")
    assert "p5.4xlarge has 0 accelerators" in message


def test_comment_lines_are_skipped(folder: Path) -> None:
    """A line that begins with # is for people."""
    path = folder / "switches.csv"
    header, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(header + "# InfiniBand first\n" + "".join(rest), encoding="utf-8")
    assert load(folder).switches.keys() == load().switches.keys()
