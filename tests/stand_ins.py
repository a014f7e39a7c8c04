"""Records with the attributes alone that a function reads, in the place of whole ones."""

from types import SimpleNamespace
from typing import Any

#: Records of options and alternatives.
_RECORDS = ("cluster", "performance", "money", "deployment", "design")


class _Record(SimpleNamespace):
    def __getattr__(self, name: str) -> "_Record":
        """Return the record itself for each of an option's that it does not have: its values stand in that one too."""
        if name in _RECORDS:
            return self
        raise AttributeError(name)


def stand_in(**values: object) -> Any:  # noqa: ANN401 - in place of any record
    """Return a record of the attributes alone that a function reads; those of an option need no nesting."""
    return _Record(**values)
