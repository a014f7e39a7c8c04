"""Do jobs find what they start from: image, folders, tokenizer and data, as the blueprint's rules of jobs have it."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from clusterwright.blueprint.load import rule_of_form
from clusterwright.blueprint.sections.jobs import Jobs, job_problems
from clusterwright.checks.preflight.files.project import Layer, Project
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject

#: What `submit.sh` starts from.
FILE = "launch/job.env"
#: Its variables by the blueprint's key of `cluster.jobs`.
_VARIABLES = {
    "environment": "JOB_ENVIRONMENT",
    "image": "CONTAINER_IMAGE",
    "venv": "VENV_PATH",
    "modules": "MODULES",
    "megatron": "MEGATRON_PATH",
    "checkpoints": "CHECKPOINT_PATH",
    "data": "DATA_PATH",
    "tokenizer": "TOKENIZER_MODEL",
    "internet": "JOB_INTERNET",
}
_ASSIGNMENT = re.compile(r"(?m)^([A-Z_]+)=(.*)$")
#: The section of the layers that prepare machines, with its word for the environment.
_SECTION = "jobEnvironment"


def reached(subject: Subject) -> Iterator[Outcome]:
    """Look at `launch/job.env` and at the layers' `jobEnvironment`, each mistake at its line."""
    project = subject.project
    found, looked_at = list[Outcome](), 0
    if FILE in project.files:
        looked_at += 1
        found += _of_file(project)
    for layer in project.layers:
        key = next((key for key in layer.config if key.rpartition(":")[2] == _SECTION), None)
        if key is not None and isinstance(layer.config[key], dict):
            looked_at += 1
            found += _of_layer(project, layer, key)
    yield from found
    if looked_at and not found:
        yield passed("every node can reach image, folders and data of the job")


def _of_file(project: Project) -> Iterator[Outcome]:
    content = project.files[FILE]
    written, lines = dict[str, str](), dict[str, int]()
    for match in _ASSIGNMENT.finditer(content):
        written[match[1]] = _word(match[2])
        lines[match[1]] = content.count("\n", 0, match.start()) + 1
    values: dict[str, Any] = {key: written[name] for key, name in _VARIABLES.items() if written.get(name)}
    if "modules" in values:
        values["modules"] = values["modules"].replace(",", " ").split()
    values["internet"] = values.get("internet", "yes") != "no"
    for rule, key, message, advice in _problems(values, project):
        name = _VARIABLES[key]
        place = Place(file=project.shown(FILE), line=lines.get(name, 0), column=1 if name in lines else 0)
        yield _outcome(rule, name, message, advice, place)


def _of_layer(project: Project, layer: Layer, key: str) -> Iterator[Outcome]:
    section: dict[str, Any] = layer.config[key]
    known = {name: section[name] for name in ("image", "venv", "modules") if section.get(name)}
    values = {"environment": section.get("kind", "container"), **known}
    for rule, name, message, advice in _problems(values, project):
        below = "kind" if name == "environment" else name
        yield _outcome(rule, f"{_SECTION}.{below}", message, advice, project.place(layer, key, (below,)))


def _problems(values: dict[str, Any], project: Project) -> Iterator[tuple[str, str, str, str]]:
    """Yield rule, key, message and help of everything that is wrong with values of `cluster.jobs`."""
    unread: frozenset[str] = frozenset()
    try:
        jobs = Jobs.model_validate(values)
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        unread = frozenset(str(one["loc"][0]) for one in wrong)
        for one in wrong:
            said, key = one.get("ctx", {}), str(one["loc"][0])
            rule = said.get("id") or rule_of_form(("cluster", "jobs", key), one["type"]) or ""
            advice = said.get("help") or Jobs.model_fields[key].description or ""
            yield rule, key, f"{one['msg'][0].lower()}{one['msg'][1:]}" if "id" not in said else one["msg"], advice
        jobs = Jobs.model_validate({key: value for key, value in values.items() if key not in unread})
    pods = [project.cloud] if project.scheduler == "kubernetes" else []
    for problem in job_problems(jobs, pods, unread=unread):
        yield problem.id or "", str(problem.path[2]), problem.message, problem.help


def _outcome(rule: str, name: str, message: str, advice: str, place: Place) -> Outcome:
    return Outcome(status="FAIL", message=f"{name}: {message} ({rule})", fix=advice, place=place, rule=rule)


def _word(text: str) -> str:
    """Return what a shell makes of the value of a plain assignment; the text itself where it is no such value."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return text
    return words[0] if len(words) == 1 else "" if not words else text
