"""The tables of docs/evidence/stacks.md say what the tests' data say."""

import os

import pytest

from .documented import PAGE, TABLES, table_in, with_table
from .test_mutations import STRIDE, share_table


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_current(name: str) -> None:
    """Resources of each layer, and listed mistakes; with `CLUSTERWRIGHT_WRITE_GOLDEN=1` the page is written."""
    table = TABLES[name]()
    if os.environ.get("CLUSTERWRIGHT_WRITE_GOLDEN") == "1":
        PAGE.write_text(with_table(PAGE.read_text(), name, table))
    assert table_in(PAGE.read_text(), name) == table


@pytest.mark.skipif(STRIDE != 1, reason="the table is that of all mistakes; set CLUSTERWRIGHT_FULL_MATRIX=1")
def test_the_table_of_mistakes_made_by_rule_is_current() -> None:
    """How many of each kind were made in all stacks, and who noticed them."""
    table = share_table()
    if os.environ.get("CLUSTERWRIGHT_WRITE_GOLDEN") == "1":
        PAGE.write_text(with_table(PAGE.read_text(), "mistakes by rule", table))
    assert table_in(PAGE.read_text(), "mistakes by rule") == table
