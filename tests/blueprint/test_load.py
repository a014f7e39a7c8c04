"""Blueprints: every mistake at once, each where it stands, with what to do."""

import json
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.schema import json_schema
from clusterwright.blueprint.shared import lists_workloads, load_shared
from clusterwright.errors import InputError

GOOD = """\
name: small
workload:
  kind: train
  model: gpt3-175b
  tokens: 300e9
  sequence_length: 2048
  global_batch: 1536
targets:
  onprem:
    system: dgx-h100
"""


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "blueprint.yaml"
    path.write_text(text)
    return path


def _errors(tmp_path: Path, text: str) -> str:
    with pytest.raises(BlueprintError) as caught:
        load(_write(tmp_path, text))
    assert caught.value.exit_code == 2
    return caught.value.render()


def test_values_arrive_in_si_units(tmp_path: Path) -> None:
    """Quantities are floats in SI units and defaults are filled in."""
    blueprint = load(_write(tmp_path, GOOD + "goals: {finish_within: 30 days}\nsite: {rack_power: 42 kW}\n")).blueprint
    assert blueprint.workload.tokens == 3e11
    assert blueprint.goals.finish_within == 30 * 86400
    assert blueprint.goals.confidence == 0.9
    assert blueprint.site.rack_power == 42_000


def test_every_mistake_is_shown_at_once_with_its_place(tmp_path: Path) -> None:
    """Unknown and duplicate keys, wrong units and impossible values come in one answer, each with line and column."""
    text = _errors(
        tmp_path,
        GOOD.replace("tokens: 300e9", "tokens: 300 apples").replace("global_batch: 1536", "global_batch: -1")
        + "goals:\n  finish_within: 30\n  finish_within: 40 days\nsitee: {}\n",
    )
    assert "'apples' is not a unit of count" in text
    assert "blueprint.yaml:5:11" in text
    assert "   5 |   tokens: 300 apples\n      |           ^^^^^^^^^^" in text
    assert "blueprint.yaml:7:17" in text
    assert "'30' has no unit" in text
    assert "'finish_within' is given twice; the first is on line 12" in text
    assert "did you mean 'site'?" in text
    assert text.count("error") == 5


def test_unknown_names_are_reported_with_the_mistakes_of_form(tmp_path: Path) -> None:
    """Model, instance, system, storage and switch are looked up though a number is wrong; own parts are not known."""
    wrong = GOOD.replace("gpt3-175b", "gpt3-174b").replace("tokens: 300e9", "tokens: 300 GB")
    targets = (
        "    system: dgx-h1000\n    storage: {system: vasty}\n    fabric: {switch: sn5699}\n"
        "  aws: {instance: p5.49xlarge, region: us-east-1}\n"
        "  gcp: {allowed_instances: [a3-highgpu-8g, a3-lowgpu-9g], region: us-central1}\n"
    )
    text = _errors(tmp_path, wrong.replace("    system: dgx-h100\n", targets))
    named = ("gpt3-174b", "dgx-h1000", "vasty", "sn5699", "p5.49xlarge", "a3-lowgpu-9g")
    for name in named:
        assert text.count(f"is called {name!r}") == 1, name
    assert "blueprint.yaml:4:10" in text
    assert "blueprint.yaml:14:44" in text
    assert "'GB' is a unit of size" in text
    assert text.count("error") == 1 + len(named)
    own = wrong.replace("    system: dgx-h100\n", "    system: of-our-own\n    parts: parts.csv\n")
    assert "of-our-own'" not in _errors(tmp_path, own)
    nothing = wrong.replace("gpt3-174b", "[gpt3]").replace("system: dgx-h100", "system: 'dgx h100; rm'")
    assert "is called" not in _errors(tmp_path, nothing)


def test_keys_in_lists_and_under_names_of_the_user_have_help(tmp_path: Path) -> None:
    """A key of a list's item, or of a section that the user names, is held against what stands there."""
    text = _errors(
        tmp_path, GOOD + "tco:\n  housing: {basement: {buildin_usd: 3}}\n  financing: [{kind: loan, months: 36}]\n"
    )
    assert "did you mean 'building_usd_per_kw'?" in text
    assert "known here: kind, rate, residual, share, term" in text


@pytest.mark.parametrize(("typed", "meant"), [("bf61", "bf16"), ("mxpf8", "mxfp8"), ("quick", None)])
def test_a_misspelt_choice_names_the_nearest(tmp_path: Path, typed: str, meant: str | None) -> None:
    """Of a closed list of words all are named, and the one that is meant; none where no one is close."""
    text = _errors(tmp_path, GOOD.replace("  sequence_length: 2048", f"  sequence_length: 2048\n  precision: {typed}"))
    assert f"(found '{typed}')" in text
    assert ("did you mean" in text) == (meant is not None)
    assert meant is None or f"did you mean '{meant}'?" in text


def test_an_unknown_key_points_at_the_key(tmp_path: Path) -> None:
    """The caret of an unknown key stands under the key and the advice names the nearest one."""
    text = _errors(tmp_path, GOOD.replace("  sequence_length: 2048", "  sequence_lenght: 2048"))
    assert "  sequence_lenght: 2048\n      |   ^^^^^^^^^^^^^^^" in text
    assert "did you mean 'sequence_length'?" in text
    assert "workload.sequence_length is missing" in text


def test_a_missing_section_says_what_belongs_there(tmp_path: Path) -> None:
    """A workload without a kind names the kinds."""
    assert "must be one of train, finetune, serve" in _errors(tmp_path, GOOD.replace("  kind: train\n", ""))
    assert "no target is given" in _errors(tmp_path, GOOD[: GOOD.index("targets")] + "targets: {}\n")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("name: 'a b'", "cannot be a cluster name"),
        ("name: $(reboot)", "cannot be a cluster name"),
        ("name: Upper", "cannot be a cluster name"),
        ('name: "a\\nPartitionName=evil"', "cannot be a cluster name"),
        ("name: 5", "valid string"),
    ],
)
def test_names_that_could_break_files_are_refused(tmp_path: Path, bad: str, says: str) -> None:
    """No name with spaces, quotes, newlines or shell characters gets past the schema."""
    assert says in _errors(tmp_path, GOOD.replace("name: small", bad))


@pytest.mark.parametrize("value", ["=HYPERLINK(1)", "a;b", 'x"y', "${HOME}"])
def test_tags_that_could_break_files_are_refused(tmp_path: Path, value: str) -> None:
    """Tag values hold nothing that a shell, YAML or a spreadsheet would act on."""
    assert "tag's value" in _errors(tmp_path, GOOD + f"cluster:\n  tags:\n    owner: '{value}'\n")


def test_yaml_1_2_is_read_as_people_mean_it(tmp_path: Path) -> None:
    """`no` stays text and is refused as a PUE, rather than read as false."""
    assert "site.pue" in _errors(tmp_path, GOOD + "site: {pue: no}\n")


def test_broken_yaml_points_at_the_place(tmp_path: Path) -> None:
    """A syntax error has a line, a column and no traceback."""
    text = _errors(tmp_path, GOOD + "goals: [1\nfoo: bar\n")
    assert "not valid YAML" in text
    assert "blueprint.yaml:1" in text


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "there is no file"),
        (lambda path: path.write_text(""), "is empty"),
        (lambda path: path.write_text("# only a comment\n"), "is empty"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00name"), "not UTF-8"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_text("- 1\n- 2\n"), "not a blueprint"),
        (lambda path: path.write_text("x" * 1_000_001), "larger than"),
    ],
)
def test_unusable_files_are_refused_in_words(tmp_path: Path, make, says: str) -> None:  # noqa: ANN001
    """Missing, empty, binary, huge and wrongly shaped files each get a sentence."""
    path = tmp_path / "blueprint.yaml"
    make(path)
    with pytest.raises(InputError, match=says):
        load(path)


def test_anchors_cannot_blow_up(tmp_path: Path) -> None:
    """Anchors that multiply are refused instead of filling the memory."""
    bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 9)
    )
    with pytest.raises(InputError, match="too large"):
        load(_write(tmp_path, bomb))


def test_overrides_replace_values(tmp_path: Path) -> None:
    """`--set` replaces and adds values and is checked like the file."""
    path = _write(tmp_path, GOOD)
    assert load(path, ("workload.tokens=2e12", "site.pue=1.2")).blueprint.workload.tokens == 2e12
    with pytest.raises(BlueprintError, match="1 problem"):
        load(path, ("workload.tokens=many",))
    with pytest.raises(InputError, match="not path=value"):
        load(path, ("workload.tokens",))


def test_the_shipped_schema_is_current() -> None:
    """`blueprints/blueprint.schema.json` is what the code generates."""
    shipped = json.loads((assets.root() / "blueprints" / "blueprint.schema.json").read_text())
    assert shipped == json_schema()


@pytest.mark.parametrize("path", sorted((assets.root() / "blueprints").glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_blueprints_load_and_name_the_schema(path: Path) -> None:
    """Every shipped blueprint is valid and starts with the line that editors read."""
    assert path.read_text().startswith("# yaml-language-server: $schema=./blueprint.schema.json\n")
    assert (load_shared(path).name if lists_workloads(path) else load(path).blueprint.name) == path.stem


def test_durations_miss_their_bounds_in_their_own_units(tmp_path: Path) -> None:
    """Not in seconds, which nobody wrote."""
    path = tmp_path / "blueprint.yaml"
    text = (assets.root() / "blueprints" / "train-gpt3-175b.yaml").read_text()
    path.write_text(f"{text}\ncluster: {{time_to_live: 10 min, stop_when_idle: 8 days}}\n")
    with pytest.raises(BlueprintError) as caught:
        load(path)
    shown = caught.value.render()
    assert "cluster.time_to_live: '10 min' is shorter than 1 hour" in shown
    assert "cluster.stop_when_idle: '8 days' is longer than 7 days" in shown
