"""Errors of values that take several forms, as a share or the word `law`: one error, of the form that was meant."""

from collections.abc import Iterable
from typing import Any

from clusterwright.blueprint.problems import Path as KeyPath

_WORDS = "literal["


def without_forms(location: tuple[str | int, ...], value: Any) -> KeyPath:  # noqa: ANN401 - YAML holds anything
    """Return where an error is without the parts that name a form, which stand nowhere in the document.

    >>> without_forms(("support", "literal['business']"), {"support": "busines"})
    ('support',)
    """
    path: list[str | int] = []
    for part in location:
        known = part in value if isinstance(value, dict) else False
        if isinstance(part, str) and "[" in part and not known:
            continue
        path.append(part)
        inside = isinstance(value, list) and isinstance(part, int) and part < len(value)
        value = value[part] if inside else value.get(part) if known else None
    return tuple(path)


def meant(errors: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return errors without those of forms that were not meant.

    A word is meant to be one of the words that may stand there, anything else the other form.
    """
    found = list(errors)
    forms: dict[KeyPath, list[dict[str, Any]]] = {}
    for error in found:
        place = next((index for index, part in enumerate(error["loc"]) if str(part).startswith(_WORDS)), None)
        if place is not None:
            forms.setdefault(error["loc"][:place], []).append(error)
    for where, words in forms.items():
        others = [
            error
            for error in found
            if error["loc"][: len(where)] == where
            and error not in words
            and "[" in str(next(iter(error["loc"][len(where) :]), ""))
        ]
        if not others:
            continue
        written = words[0]["input"]
        not_meant = others if isinstance(written, str) and written[:1].isalpha() else words
        found = [error for error in found if error not in not_meant]
    return found
