"""The planner's form: it holds what the schema holds."""

from clusterwright.blueprint.schema import json_schema
from clusterwright.web.form import SHOWN, fields, steps


def test_every_section_of_the_blueprint_has_its_step() -> None:
    """No section of the schema is left out, none stands twice, and every field that is always shown is one."""
    sections = {group.section.split(".")[0] for step in steps() for group in step.groups}
    # Lists of workloads and of tenants are of the YAML alone.
    assert sections == set(json_schema()["properties"]) - {"workloads", "tenants"}
    known = {field.path for field in fields()}
    assert known >= SHOWN
    identities = [field.identity for field in fields()]
    assert len(identities) == len(set(identities))


def test_fields_say_what_they_are_and_none_names_a_file() -> None:
    """Every field has the schema's description; keys that name files of the server are in no form."""
    found = list(fields())
    assert len(found) > 300
    assert [field.path for field in found if not field.words] == []
    assert not {"targets.onprem.parts", "traffic.trace", "workload.model.config"} & {field.path for field in found}


def test_choices_are_those_of_the_schema() -> None:
    """A word that may be one of several is chosen, a truth value too, and numbers are told from text."""
    by_identity = {field.identity: field for field in fields()}
    assert by_identity["train-workload-precision"].choices == ("bf16", "fp16", "fp8", "fp8-block", "mxfp8", "nvfp4")
    assert by_identity["reliability-elastic"].choices == ("true", "false")
    assert by_identity["train-workload-sequence_length"].form == "number"
    assert by_identity["goals-finish_within"].example == "30 days"
    assert by_identity["targets-aws-allowed_instances"].form == "list"


def test_a_goal_of_services_is_no_field_of_a_run() -> None:
    """What the schema says of one kind of workload is shown for that kind, with an example of its own."""
    by_path = {field.path: field for field in fields() if field.path.startswith("goals.")}
    assert {path.removeprefix("goals."): field.kind for path, field in by_path.items()} == {
        "finish_within": "",
        "confidence": "",
        "first_token": "serve",
        "time_per_token": "serve",
        "percentile": "serve",
        "memory_confidence": "train finetune",
    }
    assert by_path["goals.first_token"].example == "1 s"
    assert by_path["goals.first_token"].words.startswith("longest time from a request")
    assert by_path["goals.percentile"].example == "95"
    memory = by_path["goals.memory_confidence"]
    assert (memory.identity, memory.example) == ("train-finetune-goals-memory_confidence", "95 %")
    assert memory.words.startswith("a layout has to fit")
