"""Unknown keys of a blueprint: what they are meant to be."""

import csv
from pathlib import Path
from typing import Any

import pytest

from clusterwright import assets
from clusterwright.blueprint import keys
from clusterwright.blueprint.keys import section, what_is_meant
from clusterwright.blueprint.load import load_values
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.errors import ClusterwrightError

_KINDS = ("train", "finetune", "serve")


def _other_names() -> list[dict[str, str]]:
    with (assets.root() / "blueprints" / "other_names.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _keys(path: tuple[str, ...], kind: str) -> set[str]:
    return {name for found in section((*path, ""), {"workload": {"kind": kind}}) for name in found.model_fields}


@pytest.mark.parametrize("row", _other_names(), ids=lambda row: row["other_name"])
def test_other_names_lead_to_keys_and_are_none_themselves(row: dict[str, str]) -> None:
    """Every key of the table exists for a kind of work, where its other name is unknown."""
    for key in row["keys"].split():
        *above, name = key.split(".")
        kinds = [kind for kind in _KINDS if name in _keys(tuple(above), kind)]
        assert kinds
        for kind in kinds:
            assert row["other_name"] not in _keys(tuple(above), kind)
            assert name in what_is_meant((*above, row["other_name"]), {"workload": {"kind": kind}})
    assert row["used_by"]


def test_another_name_is_listed_once() -> None:
    """No name has two rows, whatever its letters' size and dashes."""
    names = [row["other_name"] for row in _other_names()]
    assert len(names) == len(set(names))
    assert all(name == name.lower().replace("-", "_") for name in names)


@pytest.mark.parametrize(
    ("path", "kind", "value", "said"),
    [
        (("workload", "users"), "serve", 10_000, "it belongs in traffic"),
        (("workload", "users"), "train", [{"name": "ada", "uid": 2000, "ssh_keys": []}], "it belongs in cluster"),
        (("workload", "input_tokens"), "serve", {"mean": 1500, "p95": 4000}, "it belongs in traffic"),
        (("workload", "finish_within"), "train", "30 days", "it belongs in goals"),
        (("workload", "traffic"), "serve", {"users": 10}, "it belongs at the top level"),
        (("workload", "Seq-Len"), "finetune", 2048, "it is called sequence_length here"),
        (("workload", "ttft"), "serve", "1 s", "it is called goals.first_token here"),
        (("targets", "aws", "gpus"), "train", 64, "it is called min_nodes or max_nodes here"),
        (("targets", "aws", "gpus"), "train", "H100", "it is called instance here"),
        (("targets", "onprem", "nodes"), "serve", 4, "it is called min_nodes or max_nodes here"),
        (("traffic", "qps"), "serve", 3, "it is called requests_per_s here"),
        (("workload", "train_tokens"), "train", "1e12", "it is called tokens here"),
        (("workload", "train_tokens"), "finetune", "1e9", "it is called workload.data.tokens here"),
        (("workload", "rank"), "train", 16, "it is of kind: finetune"),
        (("workload", "tokens"), "serve", "1e12", "it is of kind: train"),
        (("workload", "tokens"), "finetune", "1e12", "it is of kind: train; here it belongs in workload.data"),
        (("workload", "sequence_length"), "serve", 4096, "it is of kind: train or finetune"),
        (("workload", "precison"), "serve", "fp8", "did you mean 'precision'?"),
        (
            ("workload", "input_tokens"),
            "train",
            1500,
            "did you mean 'tokens'? If not, it belongs in traffic, of kind: serve",
        ),
    ],
)
def test_what_an_unknown_key_is_meant_to_be(path: tuple[str, ...], kind: str, value: object, said: str) -> None:
    """Another section, another name, another kind of work, or a misspelt key, in this order."""
    written: dict[str, Any] = {"workload": {"kind": kind}}
    inside = written
    for part in path[:-1]:
        inside = inside.setdefault(part, {})
    inside[path[-1]] = value
    assert what_is_meant(path, written) == said


def test_keys_of_other_kinds_are_not_offered() -> None:
    """An unknown key of a service is held against what a service has."""
    said = what_is_meant(("workload", "zzz"), {"workload": {"kind": "serve", "zzz": 1}})
    assert said == "known here: framework, kind, kv_precision, model, options, parallelism, precision, task"


@pytest.mark.parametrize("kind", ["serv", None, 3, ["serve"], {"a": 1}])
def test_a_kind_that_is_none_leaves_all_keys(kind: object) -> None:
    """A kind that is wrong itself is not held against the keys."""
    said = what_is_meant(("workload", "zzz"), {"workload": {"kind": kind, "zzz": 1}})
    assert {"global_batch", "rank", "kv_precision"} <= set(said.removeprefix("known here: ").split(", "))


def test_a_service_that_is_written_in_one_section_is_told_where_its_keys_are() -> None:
    """Each key of a flat service has the section that it belongs in, all at once."""
    flat = {
        "name": "chat",
        "workload": {"kind": "serve", "model": "llama-3-70b", "users": 100, "input_tokens": 9, "ttft": "1 s"},
        "targets": {"aws": {"instance": "p5.48xlarge", "region": "us-east-1"}},
    }
    with pytest.raises(BlueprintError) as caught:
        load_values(flat, name="flat.yaml")
    helps = {str(problem.path[-1]): problem.help for problem in caught.value.problems}
    assert helps == {
        "users": "it belongs in traffic",
        "input_tokens": "it belongs in traffic",
        "ttft": "it is called goals.first_token here",
    }


def test_without_its_table_the_program_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the table ends in a message."""
    monkeypatch.setattr(assets, "root", lambda: tmp_path)
    keys._other_names.cache_clear()
    try:
        with pytest.raises(ClusterwrightError, match=r"other_names\.csv"):
            what_is_meant(("workload", "zzz"), {"workload": {"kind": "serve"}})
    finally:
        keys._other_names.cache_clear()
