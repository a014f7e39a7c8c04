"""Checks the interface pattern against the counts that the vendor documents."""

import pytest

from gpu_cluster.interfaces import FabricFacts, fabric_problems, interface_slots


@pytest.mark.parametrize(
    ("cards", "fabric", "on_card_zero", "per_card", "total"),
    [
        pytest.param(4, 4, True, 15, 5, id="p4d.24xlarge"),
        pytest.param(32, 32, True, 2, 33, id="p5.48xlarge"),
        pytest.param(1, 1, True, 4, 2, id="p5.4xlarge"),
        pytest.param(16, 16, True, 4, 17, id="p5en.48xlarge"),
        pytest.param(8, 8, True, 4, 9, id="p6-b200.48xlarge"),
        pytest.param(17, 16, False, 4, 17, id="p6-b300.48xlarge"),
        pytest.param(16, 16, True, 2, 17, id="trn2.48xlarge"),
        pytest.param(4, 4, True, 10, 5, id="g6e.48xlarge"),
        pytest.param(1, 0, False, 2, 1, id="no fabric"),
    ],
)
def test_interface_counts(cards: int, fabric: int, on_card_zero: bool, per_card: int, total: int) -> None:  # noqa: FBT001
    """ENA once, EFA as often as the type offers it, and no card carries more interfaces than it has room for."""
    facts = FabricFacts(
        network_cards=cards,
        fabric_interfaces=fabric,
        card_zero_has_fabric=on_card_zero,
        max_interfaces_per_card=per_card,
    )
    assert fabric_problems(facts) == []
    slots = interface_slots(facts)
    assert len(slots) == total
    assert slots[0].interface_type == "interface"
    assert [slot.interface_type for slot in slots[1:]] == ["efa-only"] * fabric
    places = [(slot.network_card, slot.device) for slot in slots]
    assert len(set(places)) == total
    assert all(device < per_card for _, device in places)
    assert all(card < cards for card, _ in places)


def test_contradiction_without_fabric() -> None:
    """A type without EFA cannot have EFA on card 0."""
    facts = FabricFacts(network_cards=1, fabric_interfaces=0, card_zero_has_fabric=True, max_interfaces_per_card=2)
    assert fabric_problems(facts) == ["cardZeroHasFabric is true but fabricInterfaces is 0"]
