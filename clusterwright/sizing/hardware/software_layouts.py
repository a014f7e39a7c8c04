"""Which layouts training software runs: `catalog/software_layouts.csv`.

A framework that a blueprint names is given no layout that it cannot run, unless the blueprint holds it. A name is
looked up as it is, without its release, and by its family (`training_software`); one without a row runs every layout.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.hardware.training_software import family_of, named


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """What a software's layouts may have.

    Attributes:
        tensor, pipeline, context, expert: parallelism of that kind.
        interleaved: several chunks per pipeline stage; selective, partial: recomputation of attention
            alone, and of some of the layers.
    """

    tensor: bool = True
    pipeline: bool = True
    interleaved: bool = True
    context: bool = True
    expert: bool = True
    selective: bool = True
    partial: bool = True


EVERY = Runs()
_KINDS = ("tensor", "pipeline", "interleaved", "context", "expert", "selective", "partial")


def runs_of(release: str) -> Runs:
    """Return which layouts a software runs; every one of an empty name.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    if not release:
        return EVERY
    rows = _rows()
    return next((rows[name] for name in (release, named(release), family_of(release)) if name in rows), EVERY)


@cache
def _rows() -> Mapping[str, Runs]:
    path = assets.root() / "catalog" / "software_layouts.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {
                row["software"]: Runs(**{kind: row[kind] != "no" for kind in _KINDS}) for row in csv.DictReader(file)
            }
    except (OSError, KeyError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
