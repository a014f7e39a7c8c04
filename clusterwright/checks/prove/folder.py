"""Finds a written folder's plan and its documents on premises."""

from dataclasses import replace
from pathlib import Path

from clusterwright.checks.prove.records import PLAN, Documents
from clusterwright.errors import InputError
from clusterwright.plan.document import loads

_BILL = "bill_of_materials.csv"


def read_folder(root: Path) -> Documents:
    """Return the documents in a folder that `build` or `onprem` wrote, or in the part `onprem/` of one.

    Raises:
        InputError: no such folder, no plan in it, or no documents on premises.
    """
    above = root.absolute().parent
    if not (root / PLAN).is_file() and (root / _BILL).is_file() and (above / PLAN).is_file():
        # `build` writes one plan for all targets, beside their folders.
        root = above
    if not (root / PLAN).is_file():
        raise InputError(
            f"{root} has no {PLAN}, which the files would be held against",
            help="name a folder that `clusterwright build` or `clusterwright onprem` wrote",
        )
    try:
        plan = loads((root / PLAN).read_text(encoding="utf-8"), file=str(root / PLAN))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{root / PLAN} cannot be read: {error}", help="write the folder again") from None
    site = root if (root / _BILL).is_file() else root / "onprem"
    option = plan.option("onprem")
    if option is None or option.design.facility is None or not (site / _BILL).is_file():
        raise InputError(
            f"{root} has no documents of a cluster on premises",
            help="add targets.onprem to the blueprint; `clusterwright preflight` checks projects of clouds",
        )
    inventory = replace(option.design.facility.inventory, host_prefix=plan.cluster.host_prefix)
    return Documents(
        root=root,
        site=site,
        plan=plan,
        option=option,
        design=replace(option.design.facility, inventory=inventory),
    )
