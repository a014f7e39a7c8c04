"""A blueprint whose model is a `config.json`: found beside the blueprint, and wrong ones shown at their place."""

import json
from pathlib import Path

import pytest

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.explain.explanation import find
from clusterwright.outputs.training.slurm import launch_files
from clusterwright.plan.decide import decide
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.facts import Facts
from clusterwright.workload.transformer import parameters
from tests.opened import explanations

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = (ROOT / "blueprints" / "train-gpt3-175b.yaml").read_text()
LLAMA_2_7B = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "intermediate_size": 11008,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
}


def blueprint(folder: Path, model: str) -> Path:
    """Write a blueprint with this model, and a config.json beside it."""
    (folder / "config.json").write_text(json.dumps(LLAMA_2_7B))
    path = folder / "job.yaml"
    path.write_text(SHIPPED.replace("model: gpt3-175b", f"model: {model}"))
    return path


def test_the_file_is_found_beside_the_blueprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path starts at the blueprint's folder, wherever the command runs, and gives the exact model."""
    path = blueprint(tmp_path, "{config: config.json}")
    monkeypatch.chdir("/")
    resolved = resolve(load(path).blueprint, load_catalogue())
    assert isinstance(resolved, Resolved)
    assert parameters(resolved.model) == 6_738_415_616


def test_the_model_can_be_set_from_the_command_line(tmp_path: Path) -> None:
    """`--set workload.model={config: …}` replaces a catalogue's model, relative to the blueprint as well."""
    path = blueprint(tmp_path, "gpt3-175b")
    resolved = resolve(load(path, ("workload.model={config: config.json}",)).blueprint, load_catalogue())
    assert isinstance(resolved, Resolved)
    assert resolved.model.layers == 32


def test_a_file_that_cannot_be_used_is_shown_at_the_model(tmp_path: Path) -> None:
    """The problem stands at `workload.model`, with the file's own fault as its message."""
    loaded = load(blueprint(tmp_path, "{config: other.json}"))
    problems = resolve(loaded.blueprint, load_catalogue())
    assert isinstance(problems, tuple)
    assert problems[0].path == ("workload", "model")
    assert "there is no file" in problems[0].message
    assert "job.yaml:7:" in loaded.error(problems).render()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("{confg: config.json}", "there is no key 'confg' here"),
        ("{config: 7}", "workload.model.config"),
        ("{config: ''}", "workload.model.config"),
        ("[config.json]", "workload.model"),
    ],
)
def test_other_forms_of_a_model_are_refused(model: str, said: str, tmp_path: Path) -> None:
    """Only an id or `config:` with a path is a model; the message names the key."""
    with pytest.raises(BlueprintError) as caught:
        load(blueprint(tmp_path, model))
    assert said in caught.value.render()
    assert "<file>" not in caught.value.render()


def test_a_plan_of_a_file_says_so_and_can_be_written(tmp_path: Path) -> None:
    """The plan holds the architecture, explanations name the file, and launch files are written from it."""
    loaded = load(blueprint(tmp_path, "{config: config.json}"), ("targets.azure=null", "targets.onprem=null"))
    resolved = resolve(loaded.blueprint, load_catalogue())
    assert isinstance(resolved, Resolved)
    plan = decide(loaded.blueprint, resolved, Facts.open())
    assert loads(dumps(plan)) == plan
    assert plan.workload.architecture == resolved.model
    entry = find(explanations(plan, "aws"), "parameters")
    sizes = {each.source for each in entry.inputs if each.name in {"layers", "hidden", "MLP width", "vocabulary"}}
    assert sizes == {"config.json, beside the blueprint"}
    assert not [each for each in entry.inputs if each.source.startswith("facts ")]
    assert str(tmp_path) not in dumps(plan)
    script = launch_files(plan, plan.options[0], load_catalogue())["train.sbatch"].content.decode()
    assert "--num-layers 32" in script
