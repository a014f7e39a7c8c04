"""Names that reach shell, YAML, Slurm files, host names and cloud tags: letters, digits and little else."""

import re
import unicodedata

#: Patterns of whole names, for the checks here and for editors; a host prefix is followed by a number.
NAME = r"[a-z]([a-z0-9-]{0,29}[a-z0-9])?"
HOST_PREFIX = r"[a-z]([a-z0-9-]{0,18}[a-z])?"
IDENTIFIER = r"[A-Za-z0-9/][A-Za-z0-9._/:+-]{0,199}"
TAG_KEY = r"[A-Za-z][A-Za-z0-9_-]{0,62}"
TAG_VALUE = r"([A-Za-z0-9][A-Za-z0-9 ._@-]{0,62})?"
#: Control characters but tab and ends of lines, and marks that turn the direction of writing.
_NOT_PLAIN = "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]"
#: Tags that the stacks set, and how many more fit: Azure's DNS zones take 15, three of which are taken.
RESERVED_TAGS = ("cluster", "expires-at", "gpu-cluster", "layer", "managed-by", "role", "workload")
MOST_TAGS = 12
#: Letters that a suggested name is made from.
_MOST_WORDS = 200


def _is(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _name(text: str, what: str) -> str:
    if not _is(NAME, text):
        like = name_like(text)
        raise ValueError(
            f"{text!r} cannot be a {what}: up to 31 lower-case letters, digits and hyphens, "
            f"a letter first, no hyphen last{f', such as {like}' if like else ''}"
        )
    return text


def name_like(text: str) -> str:
    """Return the name that is closest to some words; empty where they hold no letter of one.

    >>> name_like("My Training Run"), name_like("70B für Köln"), name_like("42")
    ('my-training-run', 'b-fur-koln', '')
    """
    plain_letters = unicodedata.normalize("NFKD", text[:_MOST_WORDS]).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain_letters)
    return re.sub(r"^[^a-z]+", "", words)[:31].rstrip("-")


def plain(text: str) -> str:
    """Return words that a terminal only prints; raise ValueError otherwise.

    Control characters would colour or rewrite what is printed, and marks of direction show words in another order.
    """
    if re.search(_NOT_PLAIN, text):
        raise ValueError(f"{text!r} holds characters that control a terminal")
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
    if not _is(HOST_PREFIX, text):
        raise ValueError(
            f"{text!r} cannot be a host prefix: up to 20 lower-case letters, digits and hyphens, letters at both ends"
        )
    return text


def identifier(text: str) -> str:
    """Return an id of the catalogue or of a cloud (no spaces or shell characters); raise ValueError otherwise."""
    if not _is(IDENTIFIER, text):
        raise ValueError(f"{text!r} is not an id: letters, digits and . _ / : + - only, up to 200 of them")
    return text


def tags(pairs: dict[str, str]) -> dict[str, str]:
    """Return tags that every cloud accepts; raise ValueError otherwise."""
    if len(pairs) > MOST_TAGS:
        raise ValueError(f"{len(pairs)} tags are too many: at most {MOST_TAGS} beside those that the stacks set")
    for key, value in pairs.items():
        if key.lower() in RESERVED_TAGS or key.lower().startswith("clusterwright-"):
            raise ValueError(f"{key!r} is a tag that the stacks set themselves")
        if not _is(TAG_KEY, key):
            raise ValueError(f"{key!r} cannot be a tag's key: a letter, then letters, digits, _ and -, up to 63")
        if not _is(TAG_VALUE, value):
            raise ValueError(f"{value!r} cannot be a tag's value: letters, digits, spaces and . _ @ -, up to 63")
    return pairs
