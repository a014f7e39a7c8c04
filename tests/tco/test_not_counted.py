"""What is left out is said."""

from clusterwright.tco.not_counted import not_counted


def test_each_has_a_reason() -> None:
    """Every cost that is left out says for whom and why; egress and taxes are among them."""
    listed = not_counted()
    assert all(left_out.why and left_out.applies_to in {"rented", "owned", "all"} for left_out in listed)
    assert {"Egress and data transfer", "Taxes, duty and freight"} <= {left_out.item for left_out in listed}
