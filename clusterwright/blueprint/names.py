"""Names that reach shell, YAML, Slurm files, host names and cloud tags: letters, digits and little else."""

import re

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,29}[a-z0-9])?")
_IDENTIFIER = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._/:+-]{0,199}")
_TAG_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_TAG_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,62}|")


def _name(text: str, what: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise ValueError(
            f"{text!r} cannot be a {what}: up to 31 lower-case letters, digits and hyphens, "
            "a letter first, no hyphen last"
        )
    return text


def cluster_name(text: str) -> str:
    """Return a name fit for a Slurm cluster, a folder and a cloud resource; raise ValueError otherwise."""
    return _name(text, "cluster name")


def partition_name(text: str) -> str:
    """Return a name fit for a Slurm partition; raise ValueError otherwise."""
    if text == "default":
        raise ValueError("'default' cannot be a partition name: Slurm gives it a meaning of its own")
    return _name(text, "partition name")


def host_prefix(text: str) -> str:
    """Return a prefix fit for host names (a number follows); raise ValueError otherwise."""
    if _NAME.fullmatch(text) is None or len(text) > 20 or text[-1].isdigit():  # noqa: PLR2004
        raise ValueError(
            f"{text!r} cannot be a host prefix: up to 20 lower-case letters, digits and hyphens, letters at both ends"
        )
    return text


def identifier(text: str) -> str:
    """Return an id of the catalogue or of a cloud (no spaces or shell characters); raise ValueError otherwise."""
    if _IDENTIFIER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not an id: letters, digits and . _ / : + - only, up to 200 of them")
    return text


def tags(pairs: dict[str, str]) -> dict[str, str]:
    """Return tags that every cloud accepts; raise ValueError otherwise."""
    for key, value in pairs.items():
        if _TAG_KEY.fullmatch(key) is None:
            raise ValueError(f"{key!r} cannot be a tag's key: a letter, then letters, digits, _ and -, up to 63")
        if _TAG_VALUE.fullmatch(value) is None:
            raise ValueError(f"{value!r} cannot be a tag's value: letters, digits, spaces and . _ @ -, up to 63")
    return pairs
