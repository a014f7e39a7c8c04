"""Whatever is wrong with a blueprint, the message says what to do: mistakes are planted in every place of good ones."""

import io
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.blueprint.keys import what_stands_here
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.shared import lists_workloads
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import ClusterwrightError

_WHOLE = """
name: small
workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}
targets:
  aws:
    instance: p5.48xlarge
    region: us-east-1
    zone: us-east-1a
    capacity: capacity-block
    reservation: cr-0123456789abcdef0
    network: {existing: {vpc_id: vpc-01234567, node_subnet_id: subnet-01234567}, algorithms: [ring]}
    file_system: {capacity: 19200 GiB, mb_per_s_per_tib: 250}
    state: {url: "s3://state?region=us-east-1"}
  azure: {instance: Standard_ND96isr_H100_v5, region: eastus, zone: 1, network: {cidr: 10.40.0.0/16}}
  gcp: {allowed_instances: [a3-highgpu-8g, a3-megagpu-8g], region: us-central1, capacity: spot, max_nodes: 8}
  onprem: {system: dgx-h100, facility: {rack_power: 42 kW}}
reliability: {checkpoint: {strategy: memory, flush_every: 10 min}}
goals: {finish_within: 30 days, confidence: 0.9}
cluster: {time_to_live: 7 days, tags: {owner: research}}
"""
#: What nobody means: other kinds of value, words and numbers out of any range.
_WRONG: tuple[Any, ...] = (
    None,
    True,
    "",
    "nonsense",
    "1e999",
    -1,
    0,
    2.5,
    10**12,
    [],
    ["x", 3],
    {},
    {"nonsense": 1},
    "12 parsecs",
    "\u2028",
    "us-east-1z",
    "capacity-block",
    "block-reservation",
    "flex-start",
    "300.0.0.0/8",
    ".nan",
)
_PLACED = st.integers(0, 10**6)


@cache
def _examples() -> tuple[Any, ...]:
    yaml = YAML(typ="safe")
    files = [path for path in sorted((assets.root() / "blueprints").glob("*.yaml")) if not lists_workloads(path)]
    return tuple(yaml.load(text) for text in (_WHOLE, *(path.read_text() for path in files)))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401 - YAML
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return (
        [path, *(place for key, item in inner for place in _places(item, (*path, key)))]
        if path
        else [place for key, item in inner for place in _places(item, (key,))]
    )


def _planted(example: Any, place: tuple[Any, ...], change: Any) -> Any:  # noqa: ANN401 - YAML
    """Return a copy with a value in one place, the place left out, or a misspelt key beside it."""
    whole = deepcopy(example)
    *outer, last = place
    section = whole
    for key in outer:
        section = section[key]
    if change == "left out":
        del section[last]
    elif change == "misspelt" and isinstance(section, dict):
        section[f"{last}x"] = section.pop(last)
    else:
        section[last] = change
    return whole


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(example=_PLACED, place=_PLACED, change=st.sampled_from((*_WRONG, "left out", "misspelt")))
def test_every_problem_says_what_to_do(tmp_path: Path, *, example: int, place: int, change: Any) -> None:  # noqa: ANN401
    """Every problem of form or of facts ends with a line of help that is no repetition."""
    whole = _examples()[example % len(_examples())]
    places = _places(whole)
    stream = io.StringIO()
    YAML(typ="safe").dump(_planted(whole, places[place % len(places)], change), stream)
    path = tmp_path / "blueprint.yaml"
    path.write_text(stream.getvalue())
    try:
        loaded = load(path)
        found = resolve(loaded.blueprint, load_catalogue())
        if isinstance(found, Resolved):
            return
        error: ClusterwrightError = loaded.error(found)
    except ClusterwrightError as caught:
        error = caught
    problems = error.problems if isinstance(error, BlueprintError) else (error,)
    for problem in problems:
        assert problem.help, problem.message
        assert problem.help.strip() not in ("", problem.message)
    if isinstance(error, BlueprintError):
        assert error.render().count("\n  help: ") == len(problems)


@pytest.mark.parametrize(
    ("old", "new", "help_"),
    [
        ("max_nodes: 8", "max_nodes: 0", "max_nodes: "),
        ("max_nodes: 8", "max_nodes: many", "max_nodes: "),
        ("{rack_power: 42 kW}", "3", "known here: "),
        ("{rack_power: 42 kW}", "[{}, [], 3]", "known here: "),
        ("algorithms: [ring]", "algorithms: [{}]", "algorithms: ways that collectives may go"),
        ("capacity: spot", "capacity: Spot", "did you mean 'spot'?"),
        ("kind: train", "kind: traning", "did you mean 'train'?"),
        ("kind: train", "kind: inference", "did you mean 'serve'?"),
        ("kind: train", "kind: 3", "did you mean one of train, finetune, serve?"),
        ("kind: train", "type: training", "type is called kind here: add kind: train"),
    ],
)
def test_help_of_what_the_schema_alone_refuses(tmp_path: Path, old: str, new: str, help_: str) -> None:
    """The key's own description, or the keys of a section."""
    assert old in _WHOLE
    path = tmp_path / "blueprint.yaml"
    path.write_text(_WHOLE.replace(old, new))
    with pytest.raises(BlueprintError) as caught:
        load(path)
    assert any(problem.help.startswith(help_) for problem in caught.value.problems), caught.value.render()


@pytest.mark.parametrize(("written", "more"), [(["aws", "gcp"], True), ([{"aws": {}}], False), ([["aws"]], False)])
def test_a_list_of_keys_gets_advice_about_sections(written: list[object], more: bool) -> None:
    """Targets in a list of names are keys, each with a section; what else is in the list is no name."""
    said = what_stands_here(("targets",), {"targets": written})
    assert said == f"known here: api, aws, azure, gcp, onprem{'; each is a key with a section of its own' * more}"
