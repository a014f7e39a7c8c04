"""What machines are given at boot, as the program asks for it: the GPUs and the fabric of their type, and no secret."""

import base64
import gzip
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from clusterwright.checks.preflight.judging import named
from clusterwright.checks.preflight.programs.recorded_checks import unrecorded
from clusterwright.checks.preflight.records import SECRET, Resource
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject

#: Inputs that hold a machine's user data, by their last name.
_KEYS = ("userData", "userDataBase64", "customData", "user-data")
_VARIABLE = re.compile(r"CLUSTER_([A-Z0-9_]+)='([^']*)'")
_SECRET_NAME = re.compile(
    r"(?i)(password|passwd|secret_?(data|string)|connection_?string|access_?token|api_?key|private_?key(_?pem)?)$"
)
_SECRET_VARIABLE = re.compile(r"(PASSWORD|PASSWD|TOKEN|API_KEY|SECRET)$")
#: What a program writes in the place of a secret that somebody else makes.
_EMPTY = ("", "unknown until deployed")


def told_at_boot(subject: Subject) -> Iterator[Outcome]:
    """Compare the variables in user data with the type of the nodes, and look for secrets in what is asked for."""
    recorded = subject.recorded
    missing = unrecorded(subject)
    if missing is not None or recorded is None or recorded.run is None:
        yield missing or Outcome(status="UNKNOWN", message="the program was not run")
        return
    told, good = 0, True
    resources = recorded.run.whole.cloud_resources
    # Hosts of a TPU slice are no Slurm nodes: where no machine is one, the others hear of no accelerator.
    joined = any(_variables(one).get("ROLE") == "compute" for one in resources)
    for one in resources:
        for path in _plain_secrets(one.inputs, ()):
            good = False
            yield Outcome(
                status="FAIL",
                message=f"{named(one.urn)} has {'.'.join(path)} in plain text, and so has the state",
                fix="take it from pulumi.Config().require_secret, or let the cloud make it",
            )
        variables = _variables(one)
        told += bool(variables)
        for message in (*_wrong(subject, variables, joined=joined), *_secrets(variables), *_disks(one)):
            good = False
            yield Outcome(
                status="FAIL",
                message=f"{named(one.urn)} {message}",
                fix="./cluster.sh set nodeType.… is where it comes from",
            )
    if good:
        yield passed(
            f"{told} kinds of machines are given what they are" if told else "no secret is asked for in plain text"
        )


def _disks(resource: Resource) -> Iterator[str]:
    """Find nodes of Kubernetes that leave their local disks apart."""
    for text in _user_data(resource.inputs):
        for strategy in re.findall(r"localStorage:\s*\n\s*strategy:\s*(\S+)", text):
            if strategy != "RAID0":
                yield f"leaves its local disks apart (strategy {strategy}): images and scratch fill the system disk"


def _wrong(subject: Subject, variables: Mapping[str, str], *, joined: bool) -> Iterator[str]:
    instance = subject.instance
    if instance is None:
        return
    expected = {"GPUS_PER_NODE": str(instance.gpus if joined else 0)}
    if variables.get("ROLE") == "compute":
        expected["FABRIC_INTERFACES"] = str(instance.fabric_interfaces or 0)
    for name, value in expected.items():
        if name in variables and variables[name] != value:
            yield f"is told {name}={variables[name]}, {instance.id} has {value}"


def _secrets(variables: Mapping[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        if _SECRET_VARIABLE.search(name) and value:
            yield f"is told the secret {name}: every process on it can read that"


def _variables(resource: Resource) -> dict[str, str]:
    """Return the variables in a resource's user data, without their common prefix."""
    return {name: value for text in _user_data(resource.inputs) for name, value in _VARIABLE.findall(text)}


def _user_data(value: Any) -> Iterator[str]:  # noqa: ANN401 - recorded inputs
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = item[SECRET] if isinstance(item, Mapping) and SECRET in item else item
            if key in _KEYS and isinstance(inner, str):
                yield decoded(inner)
            else:
                yield from _user_data(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _user_data(item)


def decoded(text: str) -> str:
    """Return user data as cloud-init reads it: out of base64 and gzip where it is in them.

    >>> decoded("IyEvYmluL3No"), decoded("#!/bin/sh")
    ('#!/bin/sh', '#!/bin/sh')
    """
    raw = text.encode()
    with suppress(ValueError):
        raw = base64.b64decode(raw, validate=True)
    with suppress(OSError, EOFError):
        raw = gzip.decompress(raw)
    return raw.decode("utf-8", "replace")


def _plain_secrets(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - recorded inputs
    if isinstance(value, Mapping) and SECRET not in value:
        for key, item in value.items():
            if _SECRET_NAME.search(key) and isinstance(item, str) and item not in _EMPTY:
                yield (*path, key)
            else:
                yield from _plain_secrets(item, (*path, key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _plain_secrets(item, path)
