"""The costs of owning are data: what the table may say, and what becomes of it."""

from pathlib import Path

import pytest

from clusterwright.errors import MissingFactError
from clusterwright.tco.owner_costs import owner_costs

HEAD = "category,item,capex_or_opex,fixed_or_variable,paid,driver,multiplier,parameters\n"
GOOD = "staff,Staff,opex,fixed,year,gpus,1,staff_fte_per_gpu staff_usd_per_fte_year\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("year", "decade", "'decade'"),
        ("gpus", "cpus", "'cpus'"),
        ("opex", "cost", "'cost'"),
        ("fixed", "often", "'often'"),
        (",1,", ",many,", "many"),
        ("staff_fte_per_gpu staff_usd_per_fte_year", "", "names no"),
    ],
)
def test_bad_row_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A row that says something else than the columns allow is refused with its number."""
    path = tmp_path / "owner_costs.csv"
    path.write_text(HEAD + GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MissingFactError, match=message):
        owner_costs(path)


def test_good_row(tmp_path: Path) -> None:
    """A row becomes a term with its parameters in order."""
    path = tmp_path / "owner_costs.csv"
    path.write_text(HEAD + GOOD, encoding="utf-8")
    (term,) = owner_costs(path)
    assert (term.number, term.multiplier, term.parameters) == (0, 1.0, ("staff_fte_per_gpu", "staff_usd_per_fte_year"))
