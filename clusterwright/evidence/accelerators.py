"""Accelerators that measurements name, with or without maker and memory."""

import re
from collections.abc import Mapping

from clusterwright.catalog.records import Accelerator, Catalogue
from clusterwright.evidence.rows import NotPublishedError

#: What follows a name and says how boards are put together or sold, not what they are.
_SOLD = re.compile(
    r"[\s-]+(NVL\d{2,}|Server Edition|Workstation Edition|Superchip|GraceHopper-Superchip)\b", re.IGNORECASE
)
_SIZE = re.compile(r"\d+GB.*$", re.IGNORECASE)
_MAKERS = re.compile(r"^(virtualized\s+)?(nvidia|amd|intel|google|aws)?\s*(instinct|corporation)?\s*", re.IGNORECASE)


def named(catalogue: Catalogue) -> dict[str, Accelerator]:
    """Return the catalogue's accelerators by name, id and alias, without case and punctuation."""
    found = {_plain(one.name): one for one in catalogue.accelerators.values()}
    found |= {_plain(identity): one for identity, one in catalogue.accelerators.items()}
    found |= {
        _plain(alias): catalogue.accelerators[identity]
        for alias, identity in catalogue.aliases.items()
        if identity in catalogue.accelerators
    }
    return found


def find(name: str, known: Mapping[str, Accelerator]) -> Accelerator:
    """Return the accelerator behind a name, with or without its maker and memory.

    Raises:
        NotPublishedError: none has the name.
    """
    if not name:
        raise NotPublishedError("the accelerator is not published")
    if "," in name or " (x" in name:
        raise NotPublishedError(f"more than one kind of accelerator: {name}")
    bare = _SOLD.sub("", _MAKERS.sub("", name))
    without = _SIZE.sub("", bare).strip(" -")
    short = re.sub(r"-(SXM\d?|OAM)$", "", without, flags=re.IGNORECASE)
    for spoken in (name, bare, without, short):
        found = known.get(_plain(spoken))
        if found is None:
            continue
        if not (
            found.hbm_bytes and found.hbm_bytes_per_s and (found.dense_bf16_flop_per_s or found.dense_fp16_flop_per_s)
        ):
            raise NotPublishedError(f"the catalogue lacks memory or peak of {name}")
        return found
    raise NotPublishedError(f"no accelerator {name} in the catalogue")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", name.lower())
