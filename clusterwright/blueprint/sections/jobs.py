"""How jobs find their software and data: a container image, a virtual environment or modules, and paths they share."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.reading.problems import Problem

#: Where every machine of a cluster mounts the shared file system.
SHARED_PATH = "/shared"
#: Squash files are what Enroot makes of an image.
SQUASH_FILE = ".sqsh"
#: Paths and names that need no quotes in shell, YAML or an argument of Slurm.
_PATH = r"/[A-Za-z0-9._+-]+(/[A-Za-z0-9._+-]+)*"
_SHARED = rf"{SHARED_PATH}(/[A-Za-z0-9._+-]+)+"
_MODULE = r"[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9][A-Za-z0-9._+-]*){0,4}"
#: The distribution specification's repository, tag and digest; a registry is a host name with a dot, or with a port.
_HOST = r"([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:[0-9]{1,5})?|[A-Za-z0-9-]+:[0-9]{1,5})"
_COMPONENT = r"[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*"
_REPOSITORY = rf"({_HOST}/)?{_COMPONENT}(/{_COMPONENT})*"
_TAG, _DIGEST = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", r"sha256:[0-9a-f]{64}"
_REFERENCE = rf"{_REPOSITORY}(:{_TAG}|(:{_TAG})?@{_DIGEST})"
#: A name of Hugging Face: organisation and model, or a model alone.
_HUB_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?"
_LONGEST = 1000


def _refused(rule: str, message: str, advice: str, **values: str) -> PydanticCustomError:
    shown = {name: repr(value) for name, value in values.items()}
    return PydanticCustomError("identifier", message, {**shown, "id": rule, "help": advice})


def _matches(pattern: str, text: str) -> bool:
    return len(text) <= _LONGEST and re.fullmatch(pattern, text) is not None


def _path(text: str, example: str = f"for example {SHARED_PATH}/Megatron-LM") -> str:
    if not text.startswith("/"):
        message = "{found} is not an absolute path, and jobs start in a folder of their own"
        raise _refused("JOB005", message, example, found=text)
    if any(part in (".", "..") for part in text.split("/")) or not _matches(_PATH, text):
        message = "{found} is not a plain path: letters, digits and / . _ + - only"
        raise _refused("JOB005", message, example, found=text)
    return text


def _shared_path(text: str) -> str:
    example = f"for example {SHARED_PATH}/datasets/corpus"
    _path(text, example)
    if not _matches(_SHARED, text):
        message = "{found} is not on the shared file system, so the nodes do not see it"
        raise _refused("JOB003", message, f"every node mounts that at {SHARED_PATH}; {example}", found=text)
    return text


def _without_scheme(text: str) -> str | None:
    """Return the name that registries have for one written as Enroot or Docker take it; None where it is none."""
    name = text.rpartition("://")[2].replace("#", "/", 1)
    return name if _matches(_REFERENCE, name) else None


def _image(text: str) -> str:
    example = f"for example registry.example.com/team/megatron:1.0, or {SHARED_PATH}/images/megatron{SQUASH_FILE}"
    if text.startswith(("/", "./", "../", "~")):
        path = _shared_path(text)
        if not path.endswith(SQUASH_FILE):
            message = "{found} is not a squash file, the form in which Enroot reads an image from a path"
            advice = f"make it with: enroot import -o {SHARED_PATH}/images/NAME{SQUASH_FILE} docker://IMAGE"
            raise _refused("JOB004", message, advice, found=text)
        return path
    if "://" in text or "#" in text:
        message = "{found} is not the name of an image as registries have it"
        meant = _without_scheme(text)
        advice = f"write {meant}" if meant else f"leave the scheme out and write / for #; {example}"
        raise _refused("JOB004", message, advice, found=text)
    if _matches(_REPOSITORY, text):
        message = "{found} names no version, so a restarted job could find another image"
        raise _refused("JOB004", message, f"add a tag or a digest; {example}", found=text)
    if not _matches(_REFERENCE, text):
        message = "{found} is not the name of an image: REGISTRY/NAME:TAG, the name in lower-case letters"
        raise _refused("JOB004", message, example, found=text)
    if text.endswith(":latest"):
        message = "{found} changes with every release, so a restarted job could find another image"
        raise _refused("JOB004", message, f"name one version; {example}", found=text)
    return text


def _module(text: str) -> str:
    if not _matches(_MODULE, text):
        raise _refused("JOB006", "{found} is not the name of a module", "for example cuda/12.8", found=text)
    return text


def _tokenizer(text: str) -> str:
    if text.startswith(("/", ".", "~")):
        return _shared_path(text)
    if not _matches(_HUB_NAME, text):
        advice = f"for example {SHARED_PATH}/tokenizers/gpt2, or a name of Hugging Face such as openai-community/gpt2"
        raise _refused("JOB006", "{found} is neither a path nor a name of Hugging Face", advice, found=text)
    return text


def _pattern(*patterns: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^({'|'.join(patterns)})$"})


PlainPath = Annotated[str, AfterValidator(_path), _pattern(_PATH)]
SharedPath = Annotated[str, AfterValidator(_shared_path), _pattern(_SHARED)]
Image = Annotated[str, AfterValidator(_image), _pattern(_REFERENCE, rf"{_SHARED}\{SQUASH_FILE}")]
Module = Annotated[str, AfterValidator(_module), _pattern(_MODULE)]
Tokenizer = Annotated[str, AfterValidator(_tokenizer), _pattern(_SHARED, _HUB_NAME)]

#: The key that belongs to each environment.
_KEY = {"container": "image", "venv": "venv", "modules": "modules"}


#: Registries that a node without internet does not reach, as a shell reads it too; a name without a registry is in the
#: default one.
PUBLIC_REGISTRIES = (
    r"((docker|quay|nvcr|ghcr|gcr|registry\.gitlab)\.(io|com)|[a-z0-9-]+\.(docker|gcr)\.io|[a-z0-9-]+-docker\.pkg\.dev"
    r"|public\.ecr\.aws|mcr\.microsoft\.com|registry\.k8s\.io)"
)


def public_registry(image: str) -> str:
    """Return the public registry that an image is in; empty for a file, and for a registry that may be one's own.

    >>> public_registry("nvcr.io/nvidia/pytorch:26.04-py3"), public_registry("registry.example.com:5000/a:1")
    ('nvcr.io', '')
    """
    if image.startswith("/"):
        return ""
    first, slash, _ = image.partition("/")
    if not slash or not re.fullmatch(_HOST, first):
        return "docker.io"
    return first if re.fullmatch(PUBLIC_REGISTRIES, first) else ""


class Jobs(Section):
    """Software and data of the training job; what is left out, `launch/submit.sh` asks for."""

    environment: Literal["container", "venv", "modules"] = Field(
        "container",
        description="container: an image, run by Enroot and Pyxis under Slurm; venv: a Python virtual environment on "
        "shared storage; modules: environment modules, loaded with `module load`",
    )
    image: Image | None = Field(
        None,
        description="image with PyTorch, Transformer Engine and Megatron-LM's requirements: REGISTRY/NAME:TAG, or a "
        f"squash file on shared storage such as {SHARED_PATH}/images/megatron.sqsh",
    )
    internet: bool = Field(
        True,
        description="whether the nodes reach the internet; if not, image and tokenizer have to be on shared storage or "
        "in a registry of your network",
    )
    venv: SharedPath | None = Field(
        None, description=f"environment venv: its folder on shared storage, for example {SHARED_PATH}/venvs/megatron"
    )
    modules: Annotated[list[Module], Field(min_length=1, max_length=20)] | None = Field(
        None, description="environment modules: what is loaded, in this order, for example [cuda/12.8, pytorch/2.8]"
    )
    megatron: PlainPath = Field(
        f"{SHARED_PATH}/Megatron-LM", description="folder of Megatron-LM: on shared storage, or within the image"
    )
    data: SharedPath | None = Field(
        None,
        description="tokenised data: the path of Megatron-LM's .bin and .idx files without that ending; made-up tokens "
        "by default",
    )
    tokenizer: Tokenizer | None = Field(
        None, description=f"folder such as {SHARED_PATH}/tokenizers/gpt2, or a name of Hugging Face; needed with data"
    )
    learning_rate: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="peak learning rate, for example 6e-5; needed with data, given here or to the script"
    )
    checkpoints: SharedPath | None = Field(
        None,
        description=f"folder of the checkpoints; {SHARED_PATH}/checkpoints/NAME by default",
        examples=[f"{SHARED_PATH}/checkpoints"],
    )


def job_problems(
    jobs: Jobs, kubernetes: Sequence[str] = (), *, unread: frozenset[str] = frozenset()
) -> Iterator[Problem]:
    """Yield everything that keys of jobs say against each other, each at the key to change.

    Args:
        jobs: the section.
        kubernetes: names of the targets whose jobs Kubernetes places.
        unread: keys whose values could not be read, of which nothing is concluded.
    """
    if "environment" not in unread:
        yield from _other_environments(jobs)
        yield from _with_kubernetes(jobs, kubernetes)
    if jobs.data is not None and jobs.tokenizer is None and "tokenizer" not in unread:
        yield _problem(
            "JOB007",
            "data",
            "data is named without the tokenizer that made it",
            f"add tokenizer: {SHARED_PATH}/tokenizers/NAME, or a name of Hugging Face",
        )
    if not jobs.internet:
        yield from _without_internet(jobs)


def problems_as_written(cluster: dict[str, Any], kubernetes: Sequence[str]) -> list[Problem]:
    """Return what `job_problems` finds among the keys that can be read, for a section that has other mistakes too."""
    written = cluster.get("jobs")
    if not isinstance(written, dict):
        return []
    unread: frozenset[str] = frozenset()
    try:
        jobs = Jobs.model_validate(written)
    except ValidationError as error:
        unread = frozenset(str(found["loc"][0]) for found in error.errors(include_url=False) if found["loc"])
        jobs = Jobs.model_validate({key: value for key, value in written.items() if str(key) not in unread})
    return list(job_problems(jobs, kubernetes, unread=unread))


def _problem(rule: str, key: str, message: str, advice: str) -> Problem:
    return Problem(id=rule, path=("cluster", "jobs", key), message=message, help=advice)


def _other_environments(jobs: Jobs) -> Iterator[Problem]:
    """Yield keys that belong to another environment, and Megatron-LM where no image could hold it."""
    for environment, key in _KEY.items():
        if environment != jobs.environment and getattr(jobs, key) is not None:
            yield _problem(
                "JOB007",
                key,
                f"{key} belongs to environment: {environment}, and jobs use environment: {jobs.environment}",
                f"remove {key}, or set environment: {environment}",
            )
    if jobs.environment != "container" and not _matches(_SHARED, jobs.megatron):
        yield _problem(
            "JOB003",
            "megatron",
            f"{jobs.megatron!r} is not on the shared file system, and without an image the nodes have nothing else",
            f"for example {SHARED_PATH}/Megatron-LM",
        )


def _with_kubernetes(jobs: Jobs, targets: Sequence[str]) -> Iterator[Problem]:
    """Yield what pods cannot run: they start from an image of a registry."""
    named = ", ".join(f"targets.{name}" for name in targets)
    if not targets:
        return
    if jobs.environment != "container":
        yield _problem(
            "JOB008",
            "environment",
            f"jobs of {named} are placed by Kubernetes, whose pods start from a container image",
            "set environment: container, or scheduler: slurm",
        )
    elif jobs.image is not None and jobs.image.endswith(SQUASH_FILE):
        yield _problem(
            "JOB008",
            "image",
            f"jobs of {named} are placed by Kubernetes, which pulls images from registries and reads no squash file",
            "name the image as REGISTRY/NAME:TAG, or set scheduler: slurm",
        )


def _without_internet(jobs: Jobs) -> Iterator[Problem]:
    """Yield what nodes without a way to the internet cannot fetch."""
    registry = public_registry(jobs.image) if jobs.image is not None else ""
    if registry:
        yield _problem(
            "JOB001",
            "image",
            f"the nodes reach no internet, and {jobs.image} is in the public registry {registry}",
            "copy it to a registry of your network, or to a file on shared storage with: enroot import -o "
            f"{SHARED_PATH}/images/NAME{SQUASH_FILE} docker://IMAGE",
        )
    if jobs.tokenizer is not None and not jobs.tokenizer.startswith("/"):
        yield _problem(
            "JOB002",
            "tokenizer",
            f"the nodes reach no internet, and {jobs.tokenizer} is a name of Hugging Face",
            f"put the tokenizer's files on shared storage, for example {SHARED_PATH}/tokenizers/gpt2",
        )
