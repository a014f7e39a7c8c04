"""Reads YAML for all proofs: a text is parsed once, since parsing takes most of the time of a proof."""

from functools import lru_cache
from typing import Any

#: Texts in memory; folders of services and of training have up to 40.
_KEPT = 256


class YamlTextError(ValueError):
    """A text is no YAML; the message says where on one line."""


@lru_cache(maxsize=_KEPT)
def yaml_documents(text: str) -> tuple[Any, ...]:
    """Return the documents of a text, which the caller must not change.

    Raises:
        YamlTextError: it is no YAML.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - its start-up is long
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        return tuple(YAML(typ="safe", pure=True).load_all(text))
    except YAMLError as error:
        raise YamlTextError(" ".join(str(error).split())) from None


def yaml_document(text: str) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return the first document of a text; None of an empty one.

    Raises:
        YamlTextError: it is no YAML.
    """
    return next(iter(yaml_documents(text)), None)
